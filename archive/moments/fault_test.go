package moments_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/smolwc/smolwc/archive"
	"github.com/smolwc/smolwc/archive/moments"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query/write"
)

// set writes a row, and waits until it is in the archive.
func (s *source) set(key string) state {
	s.t.Helper()
	m := write.NewMutation()
	m.Set("meta", "n", cells.String(key))
	if err := s.db.Table("fleet").Apply(context.Background(), key, m); err != nil {
		s.t.Fatal(err)
	}
	st := s.state("a set of " + key)
	s.sent()
	return st
}

// segments are the paths of the segments, in order.
func (s *source) segments() []string {
	s.t.Helper()
	found, err := filepath.Glob(filepath.Join(s.target, "moments", "segments", "*"))
	if err != nil || len(found) == 0 {
		s.t.Fatal(found, err)
	}
	slices.Sort(found)
	return found
}

// newRows is a source with ten rows, each in a segment of its own, and its states.
func newRows(t *testing.T) (*source, []state) {
	s := newSource(t)
	s.sent()
	var states []state
	for i := range 10 {
		states = append(states, s.set(fmt.Sprintf("plane%02d", i)))
	}
	s.quiet()
	return s, states
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func content(t testing.TB, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	return text
}

// A segment that is missing, cut, flipped, doubled, swapped or foreign is an error, and never a shorter history: a later moment is
// refused, and an earlier one is what it was.
func TestADamagedChainIsAnError(t *testing.T) {
	t.Parallel()
	other, _ := newRows(t)
	foreign := other.segments()
	for _, c := range []struct {
		what  string
		fault func(t *testing.T, at []string)
	}{
		{"missing", func(t *testing.T, at []string) { must(t, os.Remove(at[len(at)-4])) }},
		{"cut", func(t *testing.T, at []string) {
			must(t, os.Truncate(at[len(at)-4], int64(len(content(t, at[len(at)-4]))-5)))
		}},
		{"empty", func(t *testing.T, at []string) { must(t, os.Truncate(at[len(at)-4], 0)) }},
		{"flipped", func(t *testing.T, at []string) {
			text := content(t, at[len(at)-4])
			text[len(text)/2] ^= 4
			must(t, os.WriteFile(at[len(at)-4], text, 0o600))
		}},
		{"doubled", func(t *testing.T, at []string) {
			must(t, os.WriteFile(at[len(at)-4], content(t, at[len(at)-5]), 0o600))
		}},
		{"swapped", func(t *testing.T, at []string) {
			a, b := content(t, at[len(at)-5]), content(t, at[len(at)-4])
			must(t, os.WriteFile(at[len(at)-5], b, 0o600))
			must(t, os.WriteFile(at[len(at)-4], a, 0o600))
		}},
		{"foreign", func(t *testing.T, at []string) {
			must(t, os.WriteFile(at[len(at)-4], content(t, foreign[len(foreign)-4]), 0o600))
		}},
		{"half uploaded", func(t *testing.T, at []string) {
			must(t, os.WriteFile(at[len(at)-4], content(t, at[len(at)-4])[:300], 0o600))
		}},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			s, states := newRows(t)
			a := s.archive()
			if r, err := moments.Verify(t.Context(), a, moments.VerifyOptions{}); err != nil || len(r.Damage) > 0 {
				t.Fatalf("before: %+v, %v", r, err)
			}
			c.fault(t, s.segments())
			r, err := moments.Verify(t.Context(), a, moments.VerifyOptions{})
			if !errors.Is(err, archive.ErrDamaged) || len(r.Damage) == 0 {
				t.Errorf("verify: %+v, %v", r, err)
			}
			early := 0
			for i, want := range states {
				dir := filepath.Join(t.TempDir(), "db")
				_, err := moments.Restore(t.Context(), a, moments.Moment{Time: want.at}, dir, moments.RestoreOptions{})
				if err == nil {
					got, _ := restored(t, a, moments.Moment{Time: want.at}, want.at)
					if got != want.content {
						t.Errorf("row %d: restored is\n%s\nwant\n%s", i, got, want.content)
					}
					early++
				}
				if err == nil && i == len(states)-1 {
					t.Error("the last row was restored over the fault")
				}
			}
			if early == 0 {
				t.Error("no moment before the fault was restored")
			}
		})
	}
}

// Merging changes no moment, and pruning none after the time that is asked for.
func TestMergedAndPrunedMoments(t *testing.T) {
	t.Parallel()
	s := newSource(t)
	s.sent()
	var states []state
	for day := range 4 {
		for i := range 6 {
			states = append(states, s.set(fmt.Sprintf("plane%d-%d", day, i)))
			s.clock.micros.Add(int64(time.Hour / time.Microsecond))
		}
		load(t, s.db, "fleet", "meta", map[string]int64{fmt.Sprint("load", day): int64(day + 1)})
		states = append(states, s.state("a load"))
		s.sent()
		s.quiet()
		s.clock.micros.Add(int64(18 * time.Hour / time.Microsecond))
		s.o.BaseEvery = time.Hour // a new base each day
		s.send()
		await(t, "a base", func() (string, bool) {
			r, err := moments.Look(t.Context(), s.archive())
			return fmt.Sprint(r, err), err == nil && r.Bases >= day+2
		})
	}
	s.quiet()
	before := len(s.segments())
	now := s.clock.now().Add(48 * time.Hour)
	n, err := moments.Merge(t.Context(), s.archive(), now)
	after := len(s.segments())
	if err != nil || after > 6 { // the sender has merged some
		t.Fatalf("%d of %d segments were merged, %d are left: %v", n, before, after, err)
	}
	if n, err := moments.Merge(t.Context(), s.archive(), now); err != nil || n != 0 {
		t.Errorf("%d segments were merged again: %v", n, err)
	}
	s.compare([]state{states[0], states[6], states[13], states[20], states[27]})
	for i := 8; i < len(states); i += 9 {
		from := states[i].at
		p, err := moments.Prune(t.Context(), s.archive(), from)
		if err != nil || p.Earliest.After(from) {
			t.Fatalf("prune from %v: %+v, %v", from, p, err)
		}
		_, err = s.archive().Prune(t.Context(), 1) // of backups
		must(t, err)
		r, err := moments.Verify(t.Context(), s.archive(), moments.VerifyOptions{Sample: 1})
		if err != nil || !r.Earliest.Equal(p.Earliest) {
			t.Fatalf("after the prune from %v: %+v, %+v, %v", from, r, p, err)
		}
		s.compare([]state{states[i], states[i+1], states[len(states)-1]})
	}
	if n := len(s.segments()); n >= after {
		t.Errorf("%d segments are left of %d", n, after)
	}
	loads, err := filepath.Glob(filepath.Join(s.target, "moments", "loads", "*", "*"))
	if err != nil || len(loads) > 4 { // two files a load
		t.Errorf("the files of %d loads are left: %v %v of %v", len(loads), err, loads, s.segments())
	}
	if backups, err := s.archive().List(t.Context()); err != nil || len(backups) >= 5 {
		t.Errorf("%d backups are left: %v", len(backups), err)
	}
}

// The log was trimmed while the archive was away: the sender records a gap and makes a backup, and the moments before and
// after it are restored. No moment in the gap is.
func TestAGapIsRecorded(t *testing.T) {
	t.Parallel()
	s, states := newRows(t)
	m := write.NewMutation()
	m.Set("meta", "lost", cells.I64(1))
	must(t, s.db.Table("fleet").Apply(t.Context(), "plane99", m))
	lost := s.clock.now()
	must(t, s.store.Ship("", 0)) // as if the log was trimmed
	s.close()
	s.open()
	s.clock.micros.Add(int64(time.Hour / time.Microsecond))
	s.send()
	s.sent()
	later := s.set("plane50")
	s.quiet()
	r, err := moments.Look(t.Context(), s.archive())
	if err != nil || len(r.Gaps) != 1 || !strings.Contains(r.Gaps[0].Reason, "history") || len(r.Damage) > 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	s.compare([]state{states[0], states[9], later})
	_, err = moments.Restore(t.Context(), s.archive(), moments.Moment{Time: lost}, filepath.Join(t.TempDir(), "db"), moments.RestoreOptions{})
	if !errors.Is(err, moments.ErrNoMoment) || !strings.Contains(err.Error(), "in a gap") {
		t.Errorf("the lost moment: %v", err)
	}
}

// While the clock is set back, moments follow each other all the same.
func TestAClockThatStepsBack(t *testing.T) {
	t.Parallel()
	s := newSource(t)
	s.sent()
	first := s.set("plane1")
	s.clock.micros.Add(-int64(time.Hour / time.Microsecond))
	var positions []state
	for i := range 3 {
		positions = append(positions, s.set(fmt.Sprint("back", i)))
	}
	s.clock.micros.Add(int64(2 * time.Hour / time.Microsecond))
	last := s.set("plane2")
	s.quiet()
	a := s.archive()
	s.compare([]state{first, last})
	for _, want := range positions {
		if got, _ := restored(t, a, moments.Moment{Position: want.position}, want.at); got != want.content {
			t.Errorf("position %d of %s is:\n%s\nwant:\n%s", want.position, want.what, got, want.content)
		}
	}
}

// setAnyway sets a row, and does not wait.
func (s *source) setAnyway(key string) {
	s.t.Helper()
	m := write.NewMutation()
	m.Set("meta", "n", cells.String(key))
	if err := s.db.Table("fleet").Apply(context.Background(), key, m); err != nil {
		s.t.Fatal(err)
	}
}

func contextOf(t *testing.T) (context.Context, context.CancelFunc) {
	return context.WithCancel(t.Context())
}

// A sender merges segments while a restore reads them.
func TestARestoreDuringAMerge(t *testing.T) {
	s, states := newRows(t)
	merged := false
	moments.OnStep(func(name string) {
		if name == "restore: record" && !merged {
			merged = true
			n, err := moments.Merge(t.Context(), s.archive(), s.clock.now().Add(48*time.Hour))
			if err != nil || n < 10 {
				t.Errorf("%d segments were merged: %v", n, err)
			}
		}
	})
	defer moments.OnStep(func(string) {})
	s.compare(states[len(states)-1:])
	if !merged {
		t.Error("nothing was merged")
	}
}

// A clock that is set far ahead removes no moments.
func TestAClockThatIsSetAheadRemovesNothing(t *testing.T) {
	t.Parallel()
	s, states := newRows(t)
	s.clock.micros.Add(int64(365 * 24 * time.Hour / time.Microsecond))
	s.o.BaseEvery = time.Hour
	s.send()
	await(t, "a base", func() (string, bool) {
		r, err := moments.Look(t.Context(), s.archive())
		return fmt.Sprint(r, err), err == nil && r.Bases > 1
	})
	s.quiet()
	s.send() // prunes too
	s.set("later")
	s.quiet()
	s.compare(states[:1])
}

// A damaged segment does not keep others from being merged, and keeps all backups.
func TestADamagedSegmentIsMergedAround(t *testing.T) {
	t.Parallel()
	s, states := newRows(t)
	at := s.segments()
	text := content(t, at[len(at)-3])
	text[len(text)-40] ^= 1
	must(t, os.WriteFile(at[len(at)-3], text, 0o600))
	n, err := moments.Merge(t.Context(), s.archive(), s.clock.now().Add(48*time.Hour))
	if !errors.Is(err, archive.ErrDamaged) || n < 10 {
		t.Errorf("%d were merged: %v", n, err)
	}
	if _, err := moments.Prune(t.Context(), s.archive(), s.clock.now()); err != nil {
		t.Error(err)
	}
	if kept, err := s.archive().Bases(t.Context()); err != nil || len(kept) == 0 {
		t.Errorf("%v backups are kept: %v", kept, err)
	}
	s.compare(states[:1])
}

// A backup that begins between two looks of a prune stays kept: its sender is about to name it.
func TestABackupThatBeginsDuringAPruneIsKept(t *testing.T) {
	s, _ := newRows(t)
	a, begun := s.archive(), 0
	moments.OnStep(func(name string) {
		if name == "prune: bases listed" && begun == 0 {
			res, err := archive.Local{DB: s.db}.BackUp(t.Context(), s.target, archive.BackupOptions{Scheduled: true})
			must(t, err)
			must(t, a.Objects().KeepBase(t.Context(), res.ID))
			begun = res.ID
		}
	})
	defer moments.OnStep(func(string) {})
	_, err := moments.Prune(t.Context(), a, s.clock.now())
	must(t, err)
	if kept, err := a.Bases(t.Context()); err != nil || begun == 0 || !kept[begun] {
		t.Errorf("backup %d is not kept: %v, %v", begun, kept, err)
	}
}

// A segment that stays, since moments after a gap in it are needed, keeps the files of its loads before the gap.
func TestPruneKeepsTheLoadsOfASegmentThatStays(t *testing.T) {
	t.Parallel()
	s, _ := newRows(t)
	s.send()
	load(t, s.db, "fleet", "meta", map[string]int64{"load": 1})
	s.sent()
	s.quiet()
	must(t, s.store.Ship("", 0)) // as if the log was trimmed
	s.close()
	s.open()
	s.clock.micros.Add(int64(time.Hour / time.Microsecond))
	s.send()
	s.sent()
	later := s.set("later")
	s.quiet()
	_, err := moments.Merge(t.Context(), s.archive(), s.clock.now().Add(48*time.Hour))
	must(t, err)
	s.send()
	last := s.set("last") // in another segment
	s.quiet()
	would, err := moments.WouldPrune(t.Context(), s.archive(), later.at)
	must(t, err)
	did, err := moments.Prune(t.Context(), s.archive(), later.at)
	if err != nil || !reflect.DeepEqual(would, did) || len(did.Backups) == 0 {
		t.Errorf("a prune removed %+v and would remove %+v: %v", did, would, err)
	}
	if r, err := moments.Verify(t.Context(), s.archive(), moments.VerifyOptions{Sample: 1}); err != nil {
		t.Errorf("%+v, %v", r, err)
	}
	s.compare([]state{later, last})
}
