package standby_test

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/internal/testaddr"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/standby"
)

// A late standby stays an hour behind, by a clock that a test sets forward.
type late struct {
	*standby.Standby
	t     *testing.T
	dir   string
	delay time.Duration
	disk  int64
	ahead atomic.Int64
}

func newLate(t *testing.T, p *node) *late {
	l := &late{t: t, dir: filepath.Join(t.TempDir(), "late"), delay: time.Hour}
	l.open(p.addr)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func (l *late) clock() time.Time { return time.Now().Add(time.Duration(l.ahead.Load())) }

func (l *late) open(primary string) {
	l.t.Helper()
	s, err := standby.Open(l.t.Context(), l.dir, standby.Options{
		Primary: primary, Name: "late", Delay: l.delay, DelayBytes: l.disk, Retry: time.Millisecond,
		Database: query.Options{Memory: 16 << 20, Clock: l.clock, Logger: slog.New(slog.NewTextHandler(l.t.Output(), nil))},
	})
	must(l.t, err)
	l.Standby = s
}

func (l *late) reopen(primary string) {
	l.t.Helper()
	must(l.t, l.Close())
	l.open(primary)
}

// awaitReceived waits until a late standby has all of the log of a primary on its disk.
func (l *late) awaitReceived(p *node) {
	l.t.Helper()
	await(l.t, "the late standby has not received the log", func() bool {
		all := describe(l.t, p).GetReplicas()
		return len(all) == 1 && all[0].GetSynced() == position(l.t, p.primary)
	})
}

// promoteAt promotes a late standby, and serves it.
func (l *late) promoteAt(at time.Time) (*node, *standby.Promotion) {
	l.t.Helper()
	n := &node{t: l.t, dir: l.dir, addr: testaddr.New(l.t)}
	p, err := l.PromoteAt(l.t.Context(), at, n.addr, query.DurabilitySync)
	must(l.t, err)
	n.take(p)
	must(l.t, l.Close())
	l.t.Cleanup(n.close)
	return n, p
}

// moments writes three rows, and says when the second one was there and the third one not.
func writeThree(t *testing.T, p *node) (between time.Time) {
	t.Helper()
	must(t, try(t, p.db, "one"))
	must(t, try(t, p.db, "two"))
	time.Sleep(2 * time.Millisecond) // times are microseconds of a clock
	between = time.Now()
	time.Sleep(2 * time.Millisecond)
	must(t, try(t, p.db, "three"))
	return between
}

func (l *late) rows(db *query.DB) string {
	l.t.Helper()
	var there []string
	for _, row := range []string{"zero", "one", "two", "three", "four", "loaded0"} {
		if has(l.t, db, row) {
			there = append(there, row)
		}
	}
	return strings.Join(there, " ")
}

func TestALateStandbyIsPromotedToAMoment(t *testing.T) {
	t.Parallel()
	p := newPrimary(t, 0)
	declare(t, p.db, table("a", "f"))
	must(t, try(t, p.db, "zero"))
	copied := time.Now()
	l := newLate(t, p)
	l.awaitReceived(p)
	between := writeThree(t, p)
	l.awaitReceived(p)
	r := describe(t, p).GetReplicas()[0]
	if r.GetDelayMicros() != time.Hour.Microseconds() || !r.GetObserver() || r.GetApplied() >= r.GetSynced() || r.GetLagMicros() > time.Minute.Microseconds() {
		t.Errorf("the primary has it as %v", r)
	}
	if got := l.rows(l.DB()); got != "zero" {
		t.Errorf("before the delay it shows %q", got)
	}
	l.reopen(p.addr)
	p.close() // the primary is gone, and the standby was restarted
	for _, c := range []struct {
		at   time.Time
		want string
	}{
		{time.Now().Add(time.Hour), "is in the future"},
		{copied.Add(-time.Hour), "the earliest moment that the standby holds is"},
	} {
		if _, err := l.PromoteAt(t.Context(), c.at, "127.0.0.1:1", query.DurabilitySync); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("to %v: %v; want %q", c.at, err, c.want)
		}
	}
	if got := l.rows(l.DB()); got != "zero" {
		t.Errorf("after refused promotions it shows %q", got)
	}
	n, promoted := l.promoteAt(between)
	if got := l.rows(n.db); got != "zero one two" {
		t.Errorf("as of the moment there are %q", got)
	}
	if promoted.Moment.After(between) || promoted.Moment.Before(copied) {
		t.Errorf("the last change is of %v, and the moment was %v", promoted.Moment, between)
	}
	if left, err := filepath.Glob(filepath.Join(l.dir, "delayed.left", "*.spool")); err != nil || len(left) == 0 {
		t.Errorf("what was left out is not there: %v", err)
	}
	must(t, try(t, n.db, "four"))
}

// Without a moment nothing that was received is lost.
func TestALateStandbyLosesNothing(t *testing.T) {
	t.Parallel()
	p := newPrimary(t, 0)
	declare(t, p.db, table("a", "f", "g"))
	must(t, try(t, p.db, "zero"))
	l := newLate(t, p)
	writeThree(t, p)
	load(t, p.db, "a", 0, 100, "loaded")
	must(t, try(t, p.db, "four"))
	l.awaitReceived(p)
	want, err := contents(p.db)
	must(t, err)
	p.close()
	l.reopen(p.addr)
	n, _ := l.promoteAt(time.Time{})
	got, err := contents(n.db)
	must(t, err)
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("it has %v\nwant %v", got, want)
	}
	if _, err := os.Stat(filepath.Join(l.dir, "delayed")); !os.IsNotExist(err) {
		t.Errorf("the spool is left: %v", err)
	}
}

// What is old enough is applied, also with another delay after a restart; a clock that is set back applies nothing, and breaks nothing.
func TestALateStandbyFollowsItsClock(t *testing.T) {
	t.Parallel()
	p := newPrimary(t, 0)
	declare(t, p.db, table("a", "f"))
	must(t, try(t, p.db, "zero"))
	l := newLate(t, p)
	writeThree(t, p)
	l.awaitReceived(p)
	l.ahead.Store(int64(-24 * time.Hour))
	must(t, try(t, p.db, "four"))
	l.awaitReceived(p)
	if got := l.rows(l.DB()); got != "zero" {
		t.Errorf("a day back it shows %q", got)
	}
	l.ahead.Store(int64(2 * time.Hour))
	awaitEqual(t, p.db, l.Standby)

	must(t, try(t, p.db, "five"))
	l.awaitReceived(p)
	l.ahead.Store(0)
	must(t, try(t, p.db, "six"))
	l.awaitReceived(p)
	l.delay = 0
	l.reopen(p.addr)
	awaitEqual(t, p.db, l.Standby)
	l.reopen(p.addr)
	awaitEqual(t, p.db, l.Standby)
	if _, err := os.Stat(filepath.Join(l.dir, "delayed")); !os.IsNotExist(err) {
		t.Errorf("without a delay the spool is left: %v", err)
	}
	await(t, "the primary takes it for a late standby", func() bool {
		r := describe(t, p).GetReplicas()
		return len(r) == 1 && !r[0].GetObserver() && r[0].GetDelayMicros() == 0
	})
	l.delay = time.Hour
	l.reopen(p.addr)
	must(t, try(t, p.db, "seven"))
	l.awaitReceived(p)
	if has(t, l.DB(), "seven") {
		t.Error("with a delay again it shows what is new")
	}
}

// Another standby is promoted without the last writes, which the late one has received and not applied: it leaves them out, and need
// not be rebuilt. It also knows promotions that it has only received.
func TestALateStandbyFollowsANewPrimary(t *testing.T) {
	t.Parallel()
	p := newPrimary(t, 0)
	declare(t, p.db, table("a", "f"))
	must(t, try(t, p.db, "zero"))
	dir := filepath.Join(t.TempDir(), "standby")
	s := follow(t, dir, p.addr)
	l := newLate(t, p)
	await(t, "the late standby is not there", func() bool { return len(describe(t, p).GetReplicas()) == 2 })
	awaitPosition(t, p, s)
	must(t, s.Close())
	must(t, try(t, p.db, "one"))
	l.awaitReceived(p)
	p.close()

	s = follow(t, dir, p.addr)
	n := promote(t, s, dir)
	must(t, try(t, n.db, "two"))
	must(t, l.Redirect(n.addr))
	l.awaitReceived(n)
	must(t, try(t, n.db, "three"))
	l.awaitReceived(n)
	l.reopen(n.addr)
	must(t, try(t, n.db, "four"))
	l.awaitReceived(n)
	if err := l.Err(); err != nil {
		t.Fatal(err)
	}
	if got := l.rows(l.DB()); got != "zero" {
		t.Errorf("before the delay it shows %q", got)
	}
	l.ahead.Store(int64(2 * time.Hour))
	awaitEqual(t, n.db, l.Standby)
	if got := l.rows(l.DB()); got != "zero two three four" {
		t.Errorf("it shows %q", got)
	}
}

// What waits takes no more than its part of the disk: then the oldest changes are applied early. Nothing is lost, and each moment
// since then can be had, also after a restart.
func TestTheDiskOfADelayIsBounded(t *testing.T) {
	t.Parallel()
	p := newPrimary(t, 0)
	declare(t, p.db, table("a", "f", "g"))
	must(t, try(t, p.db, "zero"))
	l := newLate(t, p)
	l.disk = 1 << 20
	l.reopen(p.addr)
	status := func() *smolwcpb.ListReplicasResponse {
		r, err := l.Service().ListReplicas(t.Context(), new(smolwcpb.ListReplicasRequest))
		must(t, err)
		onDisk := int64(0)
		must(t, filepath.WalkDir(filepath.Join(l.dir, "delayed"), func(path string, e os.DirEntry, err error) error {
			if info, failed := os.Stat(path); failed == nil && !info.IsDir() { // applied meanwhile
				onDisk += info.Size()
			}
			return nil
		}))
		if most := l.disk + l.disk/8; onDisk > most || r.GetDelayedBytes() > most {
			t.Errorf("%d bytes wait, it says %d, and the bound is %d", onDisk, r.GetDelayedBytes(), l.disk)
		}
		return r
	}
	value := strings.Repeat("v", 100<<10)
	for i := range 40 {
		set(t, p.db, "a", fmt.Sprintf("large%02d", i), "f", value)
		if i%5 == 0 {
			l.awaitReceived(p)
			status()
		}
	}
	l.awaitReceived(p)
	since := time.UnixMicro(status().GetDelayedSinceMicros())
	if !has(t, l.DB(), "zero") || !has(t, l.DB(), "large00") || has(t, l.DB(), "large39") {
		t.Error("the first of 4 MiB were not applied, or the last ones were")
	}
	l.reopen(p.addr)
	if at := time.UnixMicro(status().GetDelayedSinceMicros()); at.Before(since.Add(-time.Second)) {
		t.Errorf("after a restart the earliest moment is %v; it was %v", at, since)
	}
	load(t, p.db, "a", 0, 5000, strings.Repeat("w", 500)) // larger than the bound: all that was before it is applied
	load(t, p.db, "a", 0, 10, "w")
	must(t, try(t, p.db, "one"))
	l.awaitReceived(p)
	await(t, "the room is not taken back", func() bool { return status().GetDelayedBytes() <= l.disk })
	if _, err := l.PromoteAt(t.Context(), since.Add(-time.Hour), "127.0.0.1:1", query.DurabilitySync); err == nil || !strings.Contains(err.Error(), "the earliest moment that the standby holds is") {
		t.Errorf("to a moment that was given up: %v", err)
	}
	want, err := contents(p.db)
	must(t, err)
	p.close()
	n, _ := l.promoteAt(time.Time{})
	got, err := contents(n.db)
	must(t, err)
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Error("it has other rows than its primary")
	}
}

func TestADelayThatMakesNoSense(t *testing.T) {
	for _, o := range []standby.Options{{Delay: -1}, {Delay: time.Hour, VerifyEvery: time.Hour}} {
		o.Primary = "127.0.0.1:1"
		if _, err := standby.Open(t.Context(), filepath.Join(t.TempDir(), "late"), o); err == nil || !strings.Contains(err.Error(), "the delay of a standby is") {
			t.Errorf("%+v: %v", o, err)
		}
	}
	for _, o := range []standby.Options{{DelayBytes: -1}, {DelayBytes: 1 << 30}, {Delay: time.Hour, DelayBytes: 1000}} {
		o.Primary = "127.0.0.1:1"
		if _, err := standby.Open(t.Context(), filepath.Join(t.TempDir(), "late"), o); err == nil || !strings.Contains(err.Error(), "the disk space for a delay is") {
			t.Errorf("%+v: %v", o, err)
		}
	}
	p := newPrimary(t, 0)
	declare(t, p.db, table("a", "f"))
	s := follow(t, filepath.Join(t.TempDir(), "standby"), p.addr)
	if _, err := s.PromoteAt(t.Context(), time.Now(), "127.0.0.1:1", query.DurabilitySync); err == nil || !strings.Contains(err.Error(), "the standby has no delay") {
		t.Error(err)
	}
	must(t, try(t, p.db, "on"))
	awaitEqual(t, p.db, s)
}

// A promotion that was killed before it had put aside what it left out: when the server is a late standby again, that is not applied.
func TestWhatAPromotionLeftOutIsNeverApplied(t *testing.T) {
	t.Parallel()
	p := newPrimary(t, 0)
	declare(t, p.db, table("a", "f"))
	must(t, try(t, p.db, "zero"))
	l := newLate(t, p)
	l.awaitReceived(p)
	between := writeThree(t, p)
	l.awaitReceived(p)
	n, _ := l.promoteAt(between)
	dir := filepath.Join(t.TempDir(), "other")
	s := follow(t, dir, n.addr)
	awaitPosition(t, n, s)
	n.close()
	must(t, os.Rename(filepath.Join(l.dir, "delayed.left"), filepath.Join(l.dir, "delayed"))) // as if killed
	n2 := promote(t, s, dir)
	must(t, try(t, n2.db, "four"))
	l.open(n2.addr)
	l.awaitReceived(n2)
	l.ahead.Store(int64(2 * time.Hour))
	awaitEqual(t, n2.db, l.Standby)
	if got := l.rows(l.DB()); got != "zero one two four" {
		t.Errorf("it shows %q", got)
	}
	if _, err := os.Stat(filepath.Join(l.dir, "delayed.left")); err != nil {
		t.Error(err)
	}
}
