package queue_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/queue"
)

// The pitfalls of queues on a key-value store: each test is named for one.

func TestAnItemIsDoneOnce(t *testing.T) {
	f := begin(t)
	id := f.enqueue("acme", queue.Item{Payload: []byte("hello")})
	job := f.one("acme")
	if string(job.Payload()) != "hello" || job.Attempt() != 1 || job.ID() != id {
		t.Errorf("got job %v with %q, attempt %d", job.ID(), job.Payload(), job.Attempt())
	}
	if again := f.take("acme", 10, time.Minute); len(again) != 0 {
		t.Errorf("it is taken twice")
	}
	must(t, f.complete(job))
	wantErr(t, f.complete(job), queue.ErrLeaseLost)
}

func TestAWorkerWhoseLeaseExpiredDoesNotEndTheNextLease(t *testing.T) {
	f := begin(t)
	f.enqueue("acme", queue.Item{})
	late := f.one("acme")
	f.pass(time.Hour)
	next := f.one("acme")
	wantErr(t, f.complete(late), queue.ErrLeaseLost)
	wantErr(t, late.Extend(ctx, time.Hour), queue.ErrLeaseLost)
	f.do(func(tx *query.Tx) error {
		wantErr(t, late.Return(ctx, tx, 0, nil), queue.ErrLeaseLost)
		wantErr(t, late.Release(ctx, tx), queue.ErrLeaseLost)
		wantErr(t, late.Bury(ctx, tx, nil), queue.ErrLeaseLost)
		return nil
	})
	if next.Token() <= late.Token() || next.Attempt() != 2 {
		t.Errorf("the tokens are %d and %d, the attempt is %d", late.Token(), next.Token(), next.Attempt())
	}
	must(t, f.complete(next))
}

// The lease of a worker that died is taken over once, by one of those that try.
func TestTheItemOfADeadWorkerIsTakenAgainOnce(t *testing.T) {
	f := begin(t)
	f.enqueue("acme", queue.Item{})
	f.one("acme")
	if jobs := f.take("acme", 10, time.Minute); len(jobs) != 0 {
		t.Error("it is taken before its lease has expired")
	}
	f.pass(time.Minute)
	taken := make(chan int, 8)
	for range cap(taken) {
		go func() { taken <- len(f.take("acme", 10, time.Minute)) }()
	}
	sum := 0
	for range cap(taken) {
		sum += <-taken
	}
	if sum != 1 {
		t.Errorf("%d workers have it", sum)
	}
}

// A zone's rows are removed when it is empty for a while. An item that is enqueued at
// the same time is found, whichever commits first.
func TestAnEnqueueMeetsTheRemovalOfItsZone(t *testing.T) {
	for _, first := range []string{"enqueue", "removal"} {
		f := begin(t)
		f.enqueue("acme", queue.Item{})
		must(t, f.complete(f.one("acme")))
		for range 2 { // notes that the zone is empty
			f.pass(time.Minute)
			if len(zonesOf(f)) != 1 {
				t.Fatal("the zone is gone too early")
			}
			if first == "enqueue" {
				f.take("acme", 1, time.Minute)
			}
		}
		begun, other := false, func() { f.take("acme", 1, time.Minute); f.pass(time.Minute); f.take("acme", 1, time.Minute) }
		f.do(func(tx *query.Tx) error {
			_, err := f.q.Enqueue(ctx, tx, "acme", queue.Item{Type: "mail"})
			if !begun {
				begun = true
				other()
			}
			return err
		})
		if due, err := f.q.Due(ctx); err != nil || len(due) != 1 {
			t.Errorf("after the %s, %v are due (%v)", first, due, err)
		}
		f.one("acme")
	}
}

// An enqueue that commits while a visit looks at the empty zone.
func TestARemovalMeetsAnEnqueueInItsZone(t *testing.T) {
	f := begin(t)
	f.enqueue("acme", queue.Item{})
	must(t, f.complete(f.one("acme")))
	for range 2 {
		f.pass(time.Minute)
		f.take("acme", 1, time.Minute)
	}
	f.pass(time.Minute)
	begun, got := false, 0
	f.do(func(tx *query.Tx) error {
		jobs, err := f.q.Dequeue(ctx, tx, "acme", 1, time.Minute)
		got = len(jobs)
		if !begun {
			begun = true
			f.enqueue("acme", queue.Item{})
		}
		return err
	})
	due, err := f.q.Due(ctx)
	must(t, err)
	if got == 0 && len(due) == 0 {
		t.Error("nobody will find the item")
	}
}

func TestAZoneThatWasEmptyForLongHasNoRows(t *testing.T) {
	f := begin(t)
	f.enqueue("acme", queue.Item{})
	must(t, f.complete(f.one("acme")))
	for n := 0; len(zonesOf(f)) > 0; n++ {
		if n > 4 {
			t.Fatalf("zones %v are left", zonesOf(f))
		}
		f.pass(time.Minute)
		f.take("acme", 1, time.Minute)
	}
	if due, err := f.q.Due(ctx); err != nil || len(due) > 0 {
		t.Errorf("%v are due (%v)", due, err)
	}
}

// zonesOf are the rows of zones.
func zonesOf(f *fixture) []queue.Raw {
	var rows map[string][]queue.Raw
	f.do(func(tx *query.Tx) (err error) {
		rows, err = f.q.Raws(ctx, tx)
		return err
	})
	return rows["zone"]
}

func TestTheClockIsSetBack(t *testing.T) {
	f := begin(t)
	f.enqueue("acme", queue.Item{})
	f.pass(2 * time.Second)
	f.enqueue("acme", queue.Item{}) // keeps the time
	f.pass(-time.Hour)
	f.enqueue("acme", queue.Item{})
	if n := f.stats("acme").Ready; n != 3 {
		t.Errorf("%d items are visible, want 3", n)
	}
	jobs := f.take("acme", 1, time.Minute)
	f.pass(time.Minute) // passes although the clock is behind
	if err := f.complete(jobs[0]); err != nil {
		t.Error(err)
	}
	held := f.take("acme", 1, time.Minute)
	f.pass(2 * time.Minute)
	if again := f.take("acme", 2, time.Minute); len(again) != 2 || again[0].ID() != held[0].ID() {
		t.Errorf("got %d jobs; the expired one comes first", len(again))
	}
}

func TestTheClockIsSetBackOverARestart(t *testing.T) {
	f := begin(t)
	f.enqueue("acme", queue.Item{})
	f.pass(2 * time.Second)
	f.enqueue("acme", queue.Item{})
	f.take("acme", 1, time.Minute)
	f.pass(-time.Hour)
	f.q = f.another()
	f.enqueue("acme", queue.Item{})
	if jobs := f.take("acme", 10, time.Minute); len(jobs) != 2 {
		t.Errorf("%d items are visible after the restart, want 2", len(jobs))
	}
	f.pass(2 * time.Minute)
	if jobs := f.take("acme", 10, time.Minute); len(jobs) != 3 {
		t.Errorf("%d leases have expired after the restart, want 3", len(jobs))
	}
}

// A clock that was wrong for a while, and is right again, does not stand still.
func TestTheClockIsSetForwardAndBack(t *testing.T) {
	f := begin(t)
	f.enqueue("acme", queue.Item{Delay: time.Minute})
	f.pass(24 * time.Hour)
	must(t, f.complete(f.one("acme")))
	f.pass(-24 * time.Hour)
	f.enqueue("acme", queue.Item{Delay: time.Minute})
	if jobs := f.take("acme", 1, time.Minute); len(jobs) != 0 {
		t.Error("the delay does not count")
	}
	f.pass(time.Minute)
	f.one("acme")
	f.pass(time.Minute)
	f.one("acme")
}

// After a kill, the clock of a database is up to a second ahead of the wall clock. The
// clock of a queue returns to the wall's, and is never behind a time that it has given.
func TestTheClockReturnsToTheWallsAfterAKill(t *testing.T) {
	dirs, w := t.TempDir(), &watch{at: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	given, dir := int64(0), filepath.Join(dirs, "db0")
	for i := range 12 {
		db, err := query.Open(dir, query.Options{Clock: w.now, GCInterval: -1, Schema: withQueues})
		must(t, err)
		q := queue.New(db, queue.Options{})
		for range 3 {
			must(t, db.Update(ctx, func(tx *query.Tx) error {
				_, err := q.Enqueue(ctx, tx, "acme", queue.Item{Type: "mail"})
				return err
			}))
			if now := q.Now(); now < given {
				t.Fatalf("after kill %d the clock is at %d, and it was at %d", i, now, given)
			}
			w.pass(time.Duration(i%4) * 50 * time.Millisecond)
			given = q.Now()
		}
		if i%3 == 2 {
			w.pass(time.Second)
			if given = q.Now(); given != w.now().UnixMicro() {
				t.Fatalf("after kill %d and a second the clock is %v ahead of the wall's", i, time.Duration(given-w.now().UnixMicro())*time.Microsecond)
			}
			must(t, db.Update(ctx, func(tx *query.Tx) error { // a time that a write has
				_, err := q.Enqueue(ctx, tx, "acme", queue.Item{Type: "mail"})
				return err
			}))
		}
		dir = filepath.Join(dirs, fmt.Sprint("db", i+1))
		must(t, db.Checkpoint(ctx, dir)) // as a kill leaves the database
		must(t, db.Close())
	}
	w.pass(-time.Hour)
	for i := range 3 {
		db, err := query.Open(dir, query.Options{Clock: w.now, GCInterval: -1})
		must(t, err)
		q := queue.New(db, queue.Options{})
		for range 4 {
			must(t, db.Update(ctx, func(tx *query.Tx) error {
				_, err := q.Enqueue(ctx, tx, "acme", queue.Item{Type: "mail"})
				return err
			}))
			now := q.Now()
			if now < given || now > given+2*time.Second.Microseconds() {
				t.Fatalf("set back, after kill %d the clock is at %d, and it was at %d", i, now, given)
			}
			w.pass(700 * time.Millisecond)
			if given = q.Now(); given != now+700_000 {
				t.Fatalf("set back, %d passed in 700 ms", given-now)
			}
			must(t, db.Update(ctx, func(tx *query.Tx) error {
				_, err := q.Enqueue(ctx, tx, "acme", queue.Item{Type: "mail"})
				return err
			}))
		}
		dir = filepath.Join(dirs, fmt.Sprint("back", i))
		must(t, db.Checkpoint(ctx, dir))
		must(t, db.Close())
	}
}

func TestItemsOfOneMicrosecondAreDistinctAndInOrder(t *testing.T) {
	f := begin(t)
	const n = 50
	f.do(func(tx *query.Tx) error {
		for i := range n {
			if _, err := f.q.Enqueue(ctx, tx, "acme", queue.Item{Type: "mail", Payload: fmt.Append(nil, i)}); err != nil {
				return err
			}
		}
		return nil
	})
	jobs := f.take("acme", n+1, time.Minute)
	for i, j := range jobs {
		if string(j.Payload()) != fmt.Sprint(i) {
			t.Errorf("item %s is number %d", j.Payload(), i)
		}
	}
	if len(jobs) != n {
		t.Errorf("%d of %d are there", len(jobs), n)
	}
}

func TestAPoisonItemBecomesADeadLetterAndHoldsNobodyUp(t *testing.T) {
	f := begin(t)
	poison := f.enqueue("acme", queue.Item{Type: "poison", MaxAttempts: 3})
	f.enqueue("acme", queue.Item{})
	for attempt := 1; attempt <= 3; attempt++ {
		jobs := f.take("acme", 1, time.Minute)
		if len(jobs) != 1 || jobs[0].ID() != poison || jobs[0].Attempt() != attempt {
			t.Fatalf("attempt %d: got %v", attempt, jobs)
		}
		if attempt == 2 { // its process dies
			f.pass(time.Minute)
			continue
		}
		f.do(func(tx *query.Tx) error { return jobs[0].Return(ctx, tx, 0, fmt.Errorf("failure %d", attempt)) })
		if attempt == 1 {
			must(t, f.complete(f.one2("acme", poison)))
		}
	}
	if i := f.get("acme", poison); i.State != queue.Dead || i.Err != "failure 3" || i.Attempts != 3 {
		t.Errorf("the item is %v after %d attempts: %q", i.State, i.Attempts, i.Err)
	}
	if jobs := f.take("acme", 10, time.Minute); len(jobs) != 0 {
		t.Error("a dead letter is taken")
	}
}

// one2 takes two items and returns the second; the first is released.
func (f *fixture) one2(zone string, first queue.ID) *queue.Job {
	f.Helper()
	jobs := f.take(zone, 2, time.Minute)
	if len(jobs) != 2 {
		f.Fatalf("got %d jobs, want 2", len(jobs))
	}
	if jobs[0].ID() != first {
		jobs[0], jobs[1] = jobs[1], jobs[0]
	}
	f.do(func(tx *query.Tx) error { return jobs[0].Release(ctx, tx) })
	return jobs[1]
}

func TestTheLastAttemptOfADeadWorkerBecomesADeadLetter(t *testing.T) {
	f := begin(t)
	id := f.enqueue("acme", queue.Item{MaxAttempts: 1})
	f.one("acme")
	f.pass(time.Minute)
	if jobs := f.take("acme", 1, time.Minute); len(jobs) != 0 {
		t.Errorf("it is taken a second time")
	}
	if i := f.get("acme", id); i.State != queue.Dead || i.Err == "" {
		t.Errorf("the item is %v: %q", i.State, i.Err)
	}
}
