package query_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// A fakeClock stands still until it is moved.
type fakeClock struct {
	mu  sync.Mutex
	now cells.Timestamp
}

func (c *fakeClock) time() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now.Time()
}

func (c *fakeClock) set(now cells.Timestamp) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = now
}

// versionsOf are the timestamps of a column that are visible, and how many
// versions the store holds.
func versionsOf(t *testing.T, db *query.DB, family string) (visible string, stored int) {
	t.Helper()
	for row, err := range db.Table("t").ReadRows(ctx, read.Family(family)) {
		if err != nil {
			t.Fatal(err)
		}
		for c := range row.Cells() {
			visible += fmt.Sprint(c.Timestamp, " ")
		}
	}
	versions, _ := storedVersions(t, db, "t/"+family)
	for _, n := range versions {
		stored += n
	}
	return strings.TrimSpace(visible), stored
}

// wantVersions looks for the visible versions of a family, and for the number of stored ones;
// several numbers are possible when compactions may have dropped some.
func wantVersions(t *testing.T, db *query.DB, family, visible string, stored ...int) {
	t.Helper()
	if v, n := versionsOf(t, db, family); v != visible || !slices.Contains(stored, n) {
		t.Errorf("%s: visible %s, %d stored; want %s, %d", family, v, n, visible, stored)
	}
}

func setVersions(t *testing.T, db *query.DB, family string, timestamps ...cells.Timestamp) {
	t.Helper()
	m := write.NewMutation()
	for _, ts := range timestamps {
		m.SetAt(family, "q", ts, cells.I64(1))
	}
	if err := db.Table("t").Apply(ctx, "r", m); err != nil {
		t.Fatal(err)
	}
}

func TestARelaxedRuleBringsNothingBack(t *testing.T) {
	clock := &fakeClock{now: 100}
	age := func(n int) *schema.Rule { return schema.MaxAge(time.Duration(n) * time.Microsecond) }
	for _, c := range []struct {
		name     string
		old, new *schema.Rule
		visible  string
		stored   int
	}{
		{"more versions", schema.MaxVersions(2), schema.MaxVersions(4), "90 80", 2},
		{"no rule", schema.MaxVersions(3), nil, "90 80 70", 3},
		{"longer", age(25), age(50), "90 80", 2},
		{"versions instead of age", age(25), schema.MaxVersions(9), "90 80", 2},
		{"age instead of versions", schema.MaxVersions(2), age(1), "", 2},
		{"one of two", schema.Any(schema.MaxVersions(2), age(15)), age(15), "90", 1},
		{"the same, fewer versions", schema.MaxVersions(3), schema.MaxVersions(2), "90 80", 5},
		{"the same, shorter", age(50), age(15), "90", 5},
		{"the same, written differently", schema.MaxVersions(2), schema.Any(schema.MaxVersions(2), schema.MaxVersions(3)), "90 80", 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			db := mustOpen(t, t.TempDir(), query.Options{Clock: clock.time, GCInterval: -1, Schema: declare(schema.Family{Name: "f", GC: c.old})})
			setVersions(t, db, "f", 90, 80, 70, 60, 50)
			if err := db.SetFamily(ctx, "t", schema.Family{Name: "f", GC: c.new}); err != nil {
				t.Fatal(err)
			}
			wantVersions(t, db, "f", c.visible, c.stored)
		})
	}
}

// Cells that a relaxed rule keeps are safe from compactions that could drop them under
// the old rule.
func TestARelaxedRuleKeepsWhatIsWrittenUnderIt(t *testing.T) {
	clock := &fakeClock{now: 1000}
	db := mustOpen(t, t.TempDir(), query.Options{Clock: clock.time, GCInterval: -1,
		Schema: declare(schema.Family{Name: "f", GC: schema.MaxAge(10 * time.Microsecond)}, schema.Family{Name: "g", GC: schema.MaxAge(10 * time.Microsecond)})})
	if err := db.Table("t").Compact(ctx); err != nil {
		t.Fatal(err)
	}
	for family, rule := range map[string]*schema.Rule{"f": nil, "g": schema.MaxAge(500 * time.Microsecond)} {
		if err := db.SetFamily(ctx, "t", schema.Family{Name: family, GC: rule}); err != nil {
			t.Fatal(err)
		}
		setVersions(t, db, family, 995, 600, 500)
		if err := db.Table("t").Compact(ctx); err != nil {
			t.Fatal(err)
		}
		wantVersions(t, db, family, "995 600 500", 3)
	}
}

// A failure between the removal and the new rule loses no visible cell, and the old
// rule stays in force.
func TestARelaxedRuleRemovesBeforeItIsWritten(t *testing.T) {
	dir := t.TempDir()
	db := mustOpen(t, dir, query.Options{GCInterval: -1, Schema: declare(schema.Family{Name: "f", GC: schema.MaxVersions(2)})})
	setVersions(t, db, "f", 50, 40, 30, 20)
	store := db.Store()
	db.CatalogBreaks()
	if err := db.SetFamily(ctx, "t", schema.Family{Name: "f"}); !errors.Is(err, query.ErrBroken) {
		t.Fatalf("error %v", err)
	}
	if err := store.Close(); err != nil { // as a crash would
		t.Fatal(err)
	}
	db = mustOpen(t, dir, query.Options{GCInterval: -1})
	wantVersions(t, db, "f", "50 40", 2)
	setVersions(t, db, "f", 10)
	wantVersions(t, db, "f", "50 40", 3)
}

func TestGCReportsWhatGoes(t *testing.T) {
	clock := &fakeClock{now: 1000}
	db := mustOpen(t, t.TempDir(), query.Options{Clock: clock.time, GCInterval: -1, Schema: declare(
		schema.Family{Name: "all"},
		schema.Family{Name: "both", GC: schema.Any(schema.MaxVersions(2), schema.MaxAge(100*time.Microsecond))},
		schema.Family{Name: "young", GC: schema.MaxAge(100 * time.Microsecond)})})
	for _, f := range []string{"all", "both", "young"} {
		setVersions(t, db, f, 990, 980, 970, 960, 900, 899, 0)
	}
	const size = 1 + 1 + 8 + 9 // row, qualifier, timestamp, value
	want := []query.GCFamily{
		{Family: "all"},
		{Family: "both", Scanned: 7, Surplus: 3, SurplusBytes: 3 * size, Expired: 2, ExpiredBytes: 2 * size},
		{Family: "young", Scanned: 7, Expired: 2, ExpiredBytes: 2 * size},
	}
	check := func(o query.GCOptions) {
		t.Helper()
		r, err := db.GC(ctx, "t", o)
		if fmt.Sprint(r.Families) != fmt.Sprint(want) || err != nil || r.DryRun != o.DryRun || r.Table != "t" {
			t.Errorf("%+v: got %+v, %v, want %+v", o, r, err, want)
		}
	}
	check(query.GCOptions{DryRun: true, Compact: true})
	wantVersions(t, db, "both", "990 980", 7)
	check(query.GCOptions{})
	wantVersions(t, db, "both", "990 980", 4) // the expired ones are left to compactions
	wantVersions(t, db, "young", "990 980 970 960 900", 7)
	want[1].Scanned, want[1].Surplus, want[1].SurplusBytes = 4, 0, 0
	check(query.GCOptions{Compact: true})
	wantVersions(t, db, "both", "990 980", 2)
	wantVersions(t, db, "young", "990 980 970 960 900", 5)
	wantVersions(t, db, "all", "990 980 970 960 900 899 0", 7)

	_, err := db.GC(ctx, "T", query.GCOptions{})
	wantError(t, err, query.KindNotFound, `unknown table "T"`, `did you mean "t"?`)
	done, cancel := context.WithCancel(ctx)
	cancel()
	_, err = db.GC(done, "t", query.GCOptions{})
	wantError(t, err, query.KindCanceled)
}

func TestGCOfAReadOnlyDatabaseOnlyCounts(t *testing.T) {
	dir := t.TempDir()
	db := mustOpen(t, dir, query.Options{Schema: declare(schema.Family{Name: "f", GC: schema.MaxVersions(1)})})
	setVersions(t, db, "f", 3, 2, 1)
	db.Close()
	db = mustOpen(t, dir, query.Options{ReadOnly: true})
	if r, err := db.GC(ctx, "t", query.GCOptions{DryRun: true}); err != nil || r.Cells() != 2 {
		t.Errorf("%+v, %v", r, err)
	}
	_, err := db.GC(ctx, "t", query.GCOptions{})
	wantError(t, err, query.KindFailedPrecondition, "read-only")
}

func TestLongTailsGoWithARange(t *testing.T) {
	db := mustOpen(t, t.TempDir(), query.Options{GCInterval: -1, Schema: declare(schema.Family{Name: "f", GC: schema.MaxVersions(3)})})
	var timestamps []cells.Timestamp
	for ts := range cells.Timestamp(20_000) {
		timestamps = append(timestamps, ts)
	}
	setVersions(t, db, "f", timestamps...)
	if r, err := db.GC(ctx, "t", query.GCOptions{}); err != nil || r.Cells() != 19_997 {
		t.Fatalf("%+v, %v", r, err)
	}
	wantVersions(t, db, "f", "19999 19998 19997", 3)
	setVersions(t, db, "f", 7) // backfill
	wantVersions(t, db, "f", "19999 19998 19997", 4)
}

// The rule also holds for timestamps at both ends of their range, and for the longest
// age.
func TestRetentionAtTheEndsOfTime(t *testing.T) {
	const last = cells.MaxTimestamp
	clock := &fakeClock{now: 0}
	db := mustOpen(t, t.TempDir(), query.Options{Clock: clock.time, GCInterval: -1, Schema: declare(
		schema.Family{Name: "short", GC: schema.MaxAge(time.Microsecond)},
		schema.Family{Name: "long", GC: schema.MaxAge(math.MaxInt64 / 1000 * 1000)},
		schema.Family{Name: "mixed", GC: schema.All(schema.MaxVersions(1), schema.MaxAge(math.MaxInt64/1000*1000))})})
	const longest = cells.Timestamp(math.MaxInt64 / 1000)
	families := []string{"short", "long", "mixed"}
	for _, f := range families {
		setVersions(t, db, f, last, last-1, longest, 1, 0)
	}
	all := fmt.Sprint(last, " ", last-1, " ", longest, " ", "1 0")
	check := func(family, visible string) {
		t.Helper()
		if v, _ := versionsOf(t, db, family); v != visible {
			t.Errorf("at %d, %s: %s, want %s", clock.now, family, v, visible)
		}
		if _, err := db.GC(ctx, "t", query.GCOptions{Compact: true}); err != nil {
			t.Fatal(err)
		}
		wantVersions(t, db, family, visible, len(strings.Fields(visible)))
	}
	for _, now := range []cells.Timestamp{0, 1} {
		clock.set(now)
		for _, f := range families {
			check(f, all)
		}
	}
	clock.set(2)
	check("short", fmt.Sprint(last, " ", last-1, " ", longest, " 1"))
	check("long", all)
	clock.set(longest + 1)
	check("long", fmt.Sprint(last, " ", last-1, " ", longest, " 1"))
	check("mixed", fmt.Sprint(last, " ", last-1, " ", longest, " 1"))
	clock.set(last)
	check("short", fmt.Sprint(last, " ", last-1))
	check("long", fmt.Sprint(last, " ", last-1))
	// The clock stops at its end, which is before the last timestamps.
	const end = cells.Timestamp(1<<62 - 1)
	if now := db.Now(); now != end {
		t.Errorf("the clock says %d, want %d", now, end)
	}
	for range 2 {
		if err := db.Table("t").Apply(ctx, "new", mutate(set("short", "q", cells.I64(1)))); err != nil {
			wantError(t, err, query.KindFailedPrecondition, "the database's clock has reached its last timestamp", end.String())
			return
		}
	}
	t.Error("the clock gives one timestamp twice")
}

func TestLazyRetentionShowsSurplusUntilItIsCollected(t *testing.T) {
	clock := &fakeClock{now: 100}
	s := declare(schema.Family{Name: "f", GC: schema.Any(schema.MaxVersions(2), schema.MaxAge(50*time.Microsecond))})
	s.Tables[0].Retention = schema.Lazy
	dir := t.TempDir()
	db := mustOpen(t, dir, query.Options{Clock: clock.time, GCInterval: -1, Schema: s})
	setVersions(t, db, "f", 90, 80, 70, 60, 40) // the last one is expired, and goes at any time
	wantVersions(t, db, "f", "90 80 70 60", 4, 5)
	db.Close()
	db = mustOpen(t, dir, query.Options{Clock: clock.time, GCInterval: -1})
	if got, _ := db.Schema().Table("t"); got.Retention != schema.Lazy {
		t.Errorf("the table is %v after reopening", got.Retention)
	}
	wantVersions(t, db, "f", "90 80 70 60", 4, 5)

	t.Run("a delete shows no more", func(t *testing.T) {
		if err := db.Table("t").Apply(ctx, "r", mutate(func(m *write.Mutation) { m.DeleteCell("f", "q", 90) })); err != nil {
			t.Fatal(err)
		}
		wantVersions(t, db, "f", "80 70 60", 3, 4)
	})
	t.Run("gc leaves the newest", func(t *testing.T) {
		if _, err := db.GC(ctx, "t", query.GCOptions{Compact: true}); err != nil {
			t.Fatal(err)
		}
		wantVersions(t, db, "f", "80 70", 2)
	})
	change := func(from, to schema.Enforcement) {
		t.Helper()
		err := db.ApplyPlan(ctx, schema.Plan{Changes: []schema.Change{{Kind: schema.SetEnforcement, Table: "t", OldRetention: from, NewRetention: to}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Run("exact hides at once, lazy brings nothing back", func(t *testing.T) {
		setVersions(t, db, "f", 95, 85)
		wantVersions(t, db, "f", "95 85 80 70", 4)
		change(schema.Lazy, schema.Exact)
		wantVersions(t, db, "f", "95 85", 4)
		change(schema.Exact, schema.Lazy)
		wantVersions(t, db, "f", "95 85", 2)
	})
}

// syncBuffer is a log that several goroutines write.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func TestSurplusIsCollectedInTheBackground(t *testing.T) {
	before := goleak.IgnoreCurrent()
	var log syncBuffer
	db, err := query.Open(t.TempDir(), query.Options{Durability: query.DurabilityAsync, GCInterval: time.Millisecond, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Schema: declare(schema.Family{Name: "f", GC: schema.MaxVersions(2)}, schema.Family{Name: "all"})})
	if err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(5 * time.Minute)
	for round := cells.Timestamp(0); round < 5; round++ {
		setVersions(t, db, "f", round*10+4, round*10+3, round*10+2, round*10+1)
		for {
			v, n := versionsOf(t, db, "f")
			if want := fmt.Sprint(round*10+4, " ", round*10+3); v != want {
				t.Fatalf("visible %s, want %s", v, want)
			}
			if n == 2 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%d versions are stored still\n%s", n, &log)
			}
			time.Sleep(time.Millisecond)
		}
	}
	began := time.Now()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("Close took %v", took)
	}
	if !strings.Contains(log.String(), "collected what retention had dropped") || strings.Contains(log.String(), "level=WARN") {
		t.Errorf("log:\n%s", &log)
	}
	goleak.VerifyNone(t, before)
}

// With concurrent writes, changes of rules and collections, no cell is lost that the
// strictest rule keeps.
func TestCollectionsAmongWrites(t *testing.T) {
	const keep, rounds = 3, 300
	db := mustOpen(t, t.TempDir(), query.Options{GCInterval: time.Millisecond, Schema: declare(schema.Family{Name: "f", GC: schema.MaxVersions(keep)})})
	table := db.Table("t")
	stop := make(chan struct{})
	var background, writers sync.WaitGroup
	for range 2 {
		background.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := db.GC(ctx, "t", query.GCOptions{}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	background.Go(func() {
		for n := keep; ; n = keep + (n+1)%3 {
			select {
			case <-stop:
				return
			case <-time.After(3 * time.Millisecond):
			}
			if err := db.SetFamily(ctx, "t", schema.Family{Name: "f", GC: schema.MaxVersions(n)}); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for w := range 4 {
		writers.Go(func() {
			row := fmt.Sprint("row", w)
			for i := range cells.Timestamp(rounds) {
				// The column is emptied and filled with older versions than it had.
				m := write.NewMutation()
				m.DeleteCellsInColumn("f", "q")
				if err := table.Apply(ctx, row, m); err != nil {
					t.Error(err)
					return
				}
				m = write.NewMutation()
				for k := range cells.Timestamp(keep) {
					m.SetAt("f", "q", 1000-i*3+k, cells.I64(int64(k)))
				}
				if err := table.Apply(ctx, row, m); err != nil {
					t.Error(err)
					return
				}
				r, err := table.ReadRow(ctx, row)
				if err != nil {
					t.Errorf("round %d of %s: %v", i, row, err)
					return
				}
				var got []cells.Timestamp
				for c := range r.Cells() {
					got = append(got, c.Timestamp)
				}
				if len(got) != keep || got[0] != 1000-i*3+keep-1 {
					t.Errorf("round %d of %s: versions %v", i, row, got)
					return
				}
			}
		})
	}
	writers.Wait()
	close(stop)
	background.Wait()
}

// A delete that was made for the old rule does not know what the new one hides.
func TestATransactionDoesNotCommitUnderAnotherRule(t *testing.T) {
	db := mustOpen(t, t.TempDir(), query.Options{GCInterval: -1, Schema: declare(schema.Family{Name: "f"})})
	setVersions(t, db, "f", 50, 40, 30)
	attempts := 0
	err := db.Update(ctx, func(tx *query.Tx) error {
		if err := tx.Apply(ctx, "t", "r", mutate(func(m *write.Mutation) { m.DeleteCell("f", "q", 50) })); err != nil {
			return err
		}
		if attempts++; attempts > 1 {
			return nil
		}
		return db.SetFamily(ctx, "t", schema.Family{Name: "f", GC: schema.MaxVersions(2)})
	})
	if err != nil || attempts != 2 {
		t.Errorf("%d attempts, %v", attempts, err)
	}
	wantVersions(t, db, "f", "40", 1)
}

// The snapshot of a transaction has the cells that the old rule hid.
func TestATransactionDoesNotReadUnderAnotherRule(t *testing.T) {
	db := mustOpen(t, t.TempDir(), query.Options{GCInterval: -1, Schema: declare(schema.Family{Name: "f", GC: schema.MaxVersions(1)})})
	setVersions(t, db, "f", 50, 40, 30)
	attempts, cellsSeen := 0, 0
	err := db.Update(ctx, func(tx *query.Tx) error {
		if attempts++; attempts == 1 {
			if err := db.SetFamily(ctx, "t", schema.Family{Name: "f"}); err != nil {
				return err
			}
		}
		row, err := tx.ReadRow(ctx, "t", "r")
		if err != nil {
			return err
		}
		for range row.Cells() {
			cellsSeen++
		}
		return nil
	})
	if err != nil || attempts != 2 || cellsSeen != 1 {
		t.Errorf("%d attempts, %d cells, %v", attempts, cellsSeen, err)
	}
}

// A read of one row looks at the time where a limit depends on it, and only there.
func TestAnOldCellIsHiddenFromReadRow(t *testing.T) {
	db, err := query.Open(t.TempDir(), query.Options{GCInterval: -1, Schema: declare(
		schema.Family{Name: "aged", GC: schema.MaxAge(time.Hour)}, schema.Family{Name: "kept"})})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	m := write.NewMutation()
	m.SetAt("aged", "q", 1, cells.String("old"))
	m.Set("aged", "r", cells.String("new"))
	m.SetAt("kept", "q", 1, cells.String("old"))
	if err := db.Table("t").Apply(ctx, "r", m); err != nil {
		t.Fatal(err)
	}
	for family, want := range map[string]int{"aged": 1, "kept": 1} {
		row, err := db.Table("t").ReadRow(ctx, "r", read.Family(family))
		if err != nil || row.Len() != want {
			t.Errorf("%s: %v, %v", family, row, err)
		}
	}
}
