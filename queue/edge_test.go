package queue_test

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/queue"
)

func TestALeaseIsExtendedWhileItsJobIsCompleted(t *testing.T) {
	f := begin(t)
	f.enqueue("acme", queue.Item{})
	job, runs := f.one("acme"), 0
	f.pass(time.Second)
	f.do(func(tx *query.Tx) error {
		if _, err := tx.ReadRow(ctx, "orders", "x"); err != nil {
			return err
		}
		if runs++; runs == 1 {
			must(t, job.Extend(ctx, time.Hour)) // after this transaction began
		}
		return job.Complete(ctx, tx, nil)
	})
	if runs != 2 {
		t.Errorf("the transaction ran %d times", runs)
	}
}

// The rows of the lease of a holder that is gone could be those of a later one: same
// attempt, same expiry.
func TestTokensTellLeasesApart(t *testing.T) {
	f := begin(t)
	id := f.enqueue("acme", queue.Item{MaxAttempts: 1})
	first := f.take("acme", 1, time.Hour)[0]
	f.do(func(tx *query.Tx) error { return first.Bury(ctx, tx, nil) })
	f.do(func(tx *query.Tx) error { return f.q.Replay(ctx, tx, "acme", id) })
	f.pass(time.Minute)
	second := f.take("acme", 1, time.Hour-time.Minute)[0]
	if !first.Expires().Equal(second.Expires()) || first.Attempt() != second.Attempt() {
		t.Fatal("the leases are not alike")
	}
	wantErr(t, f.complete(first), queue.ErrLeaseLost)
	f.do(func(tx *query.Tx) error { return second.Release(ctx, tx) })
	third := f.one("acme")
	if !(first.Token() < second.Token() && second.Token() < third.Token()) {
		t.Errorf("the tokens are %d, %d and %d", first.Token(), second.Token(), third.Token())
	}
}

func TestAReleasedItemIsAsBefore(t *testing.T) {
	f := begin(t)
	id := f.enqueue("acme", queue.Item{})
	job := f.one("acme")
	f.do(func(tx *query.Tx) error { return job.Return(ctx, tx, 0, errors.New("broken")) })
	f.pass(time.Second)
	f.enqueue("acme", queue.Item{})
	before := f.get("acme", id)
	job = f.take("acme", 1, time.Minute)[0]
	f.pass(time.Second)
	f.do(func(tx *query.Tx) error { return job.Release(ctx, tx) })
	if after := f.get("acme", id); after.Attempts != before.Attempts || after.Err != "broken" {
		t.Errorf("it has %d attempts and the error %q", after.Attempts, after.Err)
	}
	if next := f.take("acme", 1, time.Minute)[0]; next.ID() != id {
		t.Error("it has lost its place")
	}
}

func TestACancelledItemPassesItsKeyOn(t *testing.T) {
	for _, how := range []string{"cancel", "drain"} {
		f := begin(t)
		a, b, c := f.enqueue("acme", queue.Item{Key: "k"}), f.enqueue("acme", queue.Item{Key: "k"}), f.enqueue("acme", queue.Item{Key: "k"})
		job := f.one("acme")
		if job.ID() != a || f.get("acme", b).State != queue.Blocked || f.get("acme", c).State != queue.Blocked {
			t.Fatal("two of three wait for the key of the first")
		}
		must(t, f.complete(job)) // has b wait for a worker
		f.do(func(tx *query.Tx) error {
			if how == "cancel" {
				return f.q.Cancel(ctx, tx, "acme", b)
			}
			_, err := f.q.Drain(ctx, tx, "acme")
			return err
		})
		audit(t, f.db, f.q)
		if how == "cancel" && f.one("acme").ID() != c {
			t.Error("the last one waits for ever")
		}
	}
}

func TestMoreItemsOfAKeyRunWhenItsLimitIsRaised(t *testing.T) {
	f := begin(t)
	for range 4 {
		f.enqueue("acme", queue.Item{Key: "k"})
	}
	f.one("acme")
	f.do(func(tx *query.Tx) error { return f.q.Configure(ctx, tx, "acme", queue.ZoneConfig{PerKey: 3}) })
	if jobs := f.take("acme", 10, time.Minute); len(jobs) != 2 {
		t.Errorf("%d more are taken, want 2", len(jobs))
	}
}

// The dead letter of an expired lease brings the pointer of its zone forward while a
// visit puts it off.
func TestAVisitThatBuriesLeavesOnePointer(t *testing.T) {
	f := begin(t)
	f.do(func(tx *query.Tx) error { return f.q.Configure(ctx, tx, "acme", queue.ZoneConfig{Limit: 1}) })
	f.enqueue("acme", queue.Item{MaxAttempts: 1, Key: "k"})
	f.enqueue("acme", queue.Item{Delay: time.Hour})
	f.take("acme", 1, time.Minute)
	for _, d := range []time.Duration{59500 * time.Millisecond, 600 * time.Millisecond} { // the pointer is due after the lease
		f.pass(d)
		f.take("acme", 1, time.Minute)
		audit(t, f.db, f.q)
	}
	if s := f.stats("acme"); s.Dead != 1 {
		t.Errorf("there are %+v", s)
	}
}

func TestAVisitIsBounded(t *testing.T) {
	f := begin(t)
	const n = 40
	for range n {
		f.enqueue("acme", queue.Item{MaxAttempts: 1})
	}
	f.take("acme", n, time.Minute)
	f.pass(time.Minute)
	f.take("acme", 1, time.Minute)
	if s := f.stats("acme"); s.Dead == 0 || s.Dead > n/2 {
		t.Errorf("a visit for one item made %d dead letters", s.Dead)
	}
	if due, err := f.q.Due(ctx); err != nil || len(due) != 1 {
		t.Errorf("%v are due (%v); the visit has left work", due, err)
	}
}

func TestAVisitTakesABoundedNumberOfBytes(t *testing.T) {
	f := begin(t)
	const n, most = 50, 16 + 32 // MiB
	payload := bytes.Repeat([]byte("x"), queue.MaxPayload)
	for range n {
		f.enqueue("acme", queue.Item{Payload: payload})
	}
	for left := n; left > 0; {
		jobs := f.take("acme", queue.MaxDequeue, time.Hour)
		if len(jobs) == 0 || len(jobs) > most {
			t.Fatalf("a visit takes %d MiB", len(jobs))
		}
		left -= len(jobs)
	}
}

// Visible items of a lower priority are not taken while there may be some of a higher.
func TestPrioritiesHoldBehindManyBlockedItems(t *testing.T) {
	f := begin(t)
	for range 30 {
		f.enqueue("acme", queue.Item{Key: "k"})
	}
	first := f.enqueue("acme", queue.Item{})
	f.enqueue("acme", queue.Item{Priority: 1})
	for taken := 0; taken < 2; {
		for _, j := range f.take("acme", 1, time.Minute) {
			if taken++; taken == 2 && j.ID() != first {
				t.Error("an item of priority 1 is taken before one of priority 0")
			}
		}
	}
}

func TestEndsOfTime(t *testing.T) {
	f := begin(t)
	const forever = math.MaxInt64
	at := func(s int64) time.Time { return time.Unix(s, 0) }
	for _, past := range []queue.Item{{At: at(-1)}, {At: at(-1 << 55)}} {
		f.enqueue("past", past)
	}
	if jobs := f.take("past", 10, forever); len(jobs) != 2 {
		t.Errorf("%d of 2 items of the past are visible", len(jobs))
	}
	for _, future := range []queue.Item{{Delay: forever}, {At: time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC), Delay: forever}} {
		f.enqueue("future", future)
	}
	f.pass(200 * 365 * 24 * time.Hour)
	if jobs := f.take("future", 10, time.Minute); len(jobs) != 0 {
		t.Error("items of the far future are visible")
	}
	if jobs := f.take("past", 10, time.Minute); len(jobs) != 0 {
		t.Error("a lease for ever has expired")
	}
	err := f.db.Update(ctx, func(tx *query.Tx) error {
		_, err := f.q.Enqueue(ctx, tx, "future", queue.Item{Type: "mail", At: at(1 << 55)})
		return err
	})
	if query.KindOf(err) != query.KindInvalidArgument {
		t.Errorf("a time after the year 9999: %v", err)
	}
	s := nightly
	s.Item.Delay, s.Item.KeepResult = forever, forever
	must(t, f.schedule(s))
	if all := f.schedules(); len(all) != 1 || all[0].Item.Delay < forever-time.Microsecond {
		t.Errorf("the schedules are %+v", all)
	}
	f.enqueue("kept", queue.Item{Unique: "u", UniqueFor: forever, KeepResult: forever})
	must(t, f.complete(f.one("kept")))
	must(t, f.q.Keep(ctx))
	err = f.db.Update(ctx, func(tx *query.Tx) error {
		_, err := f.q.Enqueue(ctx, tx, "kept", queue.Item{Type: "mail", Unique: "u"})
		return err
	})
	wantErr(t, err, queue.ErrDuplicate)
}

// The longest names, of bytes that take two in a key, behind the longest prefix.
func TestTheLongestNames(t *testing.T) {
	f := begin(t)
	long := strings.Repeat("\x00", queue.MaxName)
	f.q = queue.New(f.db, queue.Options{Prefix: strings.Repeat("p", queue.MaxPrefix)})
	f.q.SetClock(f.now)
	i := queue.Item{Type: long, Key: long, Unique: long, UniqueFor: time.Hour, KeepResult: time.Hour}
	f.enqueue(long, i)
	i.Unique = "other"
	f.enqueue(long, i)
	must(t, f.complete(f.one(long)))
	f.pass(time.Minute)
	must(t, f.complete(f.one(long)))
	f.do(func(tx *query.Tx) error {
		return f.q.SetSchedule(ctx, tx, queue.Schedule{Name: long, Cron: "@hourly", Zone: long, Item: queue.Item{Type: long}})
	})
	f.pass(2 * time.Hour)
	must(t, f.q.Keep(ctx))
	must(t, f.complete(f.one(long)))
	audit(t, f.db, f.q)
	f.q = queue.New(f.db, queue.Options{Prefix: strings.Repeat("p", queue.MaxPrefix+1)})
	err := f.db.Update(ctx, func(tx *query.Tx) error {
		_, err := f.q.Enqueue(ctx, tx, "acme", queue.Item{Type: "mail"})
		return err
	})
	if query.KindOf(err) != query.KindInvalidArgument {
		t.Errorf("a longer prefix: %v", err)
	}
	f.q = f.another()
}

func TestNamesThatAreNotUTF8(t *testing.T) {
	f := begin(t)
	if _, err := f.q.Stats(ctx, "\xff"); query.KindOf(err) != query.KindInvalidArgument {
		t.Error(err)
	}
}

func TestDrainTakesTheNextOnesFirst(t *testing.T) {
	f := begin(t)
	f.do(func(tx *query.Tx) error {
		for range queue.MaxDrain {
			if _, err := f.q.Enqueue(ctx, tx, "acme", queue.Item{Type: "mail"}); err != nil {
				return err
			}
		}
		return nil
	})
	last := f.enqueue("acme", queue.Item{Priority: 15})
	f.enqueue("acme", queue.Item{Delay: time.Hour, Priority: 15})
	drain := func() (n int) {
		f.do(func(tx *query.Tx) (err error) {
			n, err = f.q.Drain(ctx, tx, "acme")
			return err
		})
		return n
	}
	if n := drain(); n != queue.MaxDrain {
		t.Errorf("drained %d items", n)
	}
	if jobs := f.take("acme", 2, time.Minute); len(jobs) != 1 || jobs[0].ID() != last {
		t.Errorf("%d jobs are left", len(jobs))
	}
	if n, m := drain(), drain(); n != 1 || m != 0 {
		t.Errorf("drained %d items, then %d", n, m)
	}
}

func TestLooksDependOnNothing(t *testing.T) {
	f := begin(t)
	id := f.enqueue("acme", queue.Item{})
	f.enqueue("dead", queue.Item{})
	job := f.one("dead")
	f.do(func(tx *query.Tx) error { return job.Bury(ctx, tx, nil) })
	runs := 0
	f.do(func(tx *query.Tx) error {
		if all, err := f.q.Peek(ctx, tx, "acme", 10); err != nil || len(all) != 1 {
			t.Errorf("Peek gives %d items (%v)", len(all), err)
		}
		for _, err := range f.q.Dead(ctx, tx, "dead") {
			must(t, err)
		}
		if runs++; runs == 1 {
			f.do(func(tx *query.Tx) error {
				return errors.Join(f.q.Cancel(ctx, tx, "acme", id), f.q.Replay(ctx, tx, "dead", job.ID()))
			})
		}
		return f.q.Configure(ctx, tx, "third", queue.ZoneConfig{Weight: 2})
	})
	if runs != 1 {
		t.Errorf("the transaction ran %d times", runs)
	}
}

func TestDeadLettersAreReplayedInTheLoop(t *testing.T) {
	f := begin(t)
	const n = 250
	f.do(func(tx *query.Tx) error {
		for range n {
			if _, err := f.q.Enqueue(ctx, tx, "acme", queue.Item{Type: "mail"}); err != nil {
				return err
			}
		}
		return nil
	})
	jobs := f.take("acme", n, time.Minute)
	f.do(func(tx *query.Tx) error {
		for _, j := range jobs {
			must(t, j.Bury(ctx, tx, nil))
		}
		return nil
	})
	replayed := 0
	f.do(func(tx *query.Tx) error {
		replayed = 0
		for i, err := range f.q.Dead(ctx, tx, "acme") {
			if err != nil {
				return err
			}
			if err := f.q.Replay(ctx, tx, "acme", i.ID); err != nil {
				return err
			}
			replayed++
		}
		return nil
	})
	if s := f.stats("acme"); replayed != n || s.Ready != n || s.Dead != 0 {
		t.Errorf("replayed %d: %+v", replayed, s)
	}
}
