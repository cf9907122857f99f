package queue_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/queue"
)

// patient is Update that goes on after MaxTxAttempts.
func patient(db *query.DB, fn func(tx *query.Tx) error) error {
	for {
		if err := db.Update(ctx, fn); query.KindOf(err) != query.KindConflict {
			return err
		}
	}
}

// Everything at once: each item is done once, cancelled or dead, and none is left.
func TestEveryItemIsAccountedFor(t *testing.T) {
	const goroutines, each = 6, 60
	db := open(t)
	q := queue.New(db, queue.Options{})
	q.SetTidyAfter(3)
	a := &account{ends: map[queue.ID]string{}}
	end := work(t, q, queue.Handlers{"mail": a.handle}, queue.WorkerOptions{
		Workers: 8, PerVisit: 3, Poll: 5 * time.Millisecond, Backoff: func(int) time.Duration { return time.Millisecond },
	})
	var all sync.WaitGroup
	for g := range goroutines {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(g)))
			for range each {
				must(t, a.enqueue(db, q, rng))
				switch rng.IntN(20) {
				case 0:
					must(t, a.drain(db, q, zone(rng)))
				case 1, 2, 3:
					must(t, a.cancel(db, q, rng))
				case 4:
					c := queue.ZoneConfig{PerKey: rng.IntN(3), Limit: rng.IntN(4), Weight: rng.IntN(3), Paused: rng.IntN(3) == 0}
					must(t, patient(db, func(tx *query.Tx) error { return q.Configure(ctx, tx, zone(rng), c) }))
				}
			}
		})
	}
	all.Wait()
	for n := range zones {
		must(t, patient(db, func(tx *query.Tx) error { return q.Configure(ctx, tx, fmt.Sprint(n), queue.ZoneConfig{}) }))
	}
	waitFor(t, func() bool { return a.ended(t, db, q) == goroutines*each })
	end()
	audit(t, db, q)
	if stats, err := q.Stats(ctx, ""); err != nil || countAll(stats) != a.dead {
		t.Errorf("left are %v (%v), want %d dead letters", stats, err, a.dead)
	}
}

func countAll(all []queue.Stats) (n int) {
	for _, s := range all {
		n += s.Ready + s.Delayed + s.Blocked + s.Leased + s.Expired + s.Dead
	}
	return n
}

const zones = 5

func zone(rng *rand.Rand) string { return fmt.Sprint(rng.IntN(zones)) }

// An account says how each item ended.
type account struct {
	mu    sync.Mutex
	all   []placed
	ends  map[queue.ID]string
	twice []queue.ID
	dead  int
}

type placed struct {
	zone string
	id   queue.ID
}

func (a *account) end(id queue.ID, how string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ends[id] != "" {
		a.twice = append(a.twice, id)
	}
	a.ends[id] = how
}

func (a *account) enqueue(db *query.DB, q *queue.Queue, rng *rand.Rand) error {
	i := queue.Item{Type: "mail", MaxAttempts: 2, Priority: rng.IntN(3), Delay: time.Duration(rng.IntN(3)) * time.Millisecond}
	if rng.IntN(2) == 0 {
		i.Key = fmt.Sprint(rng.IntN(3))
	}
	i.Payload = []byte([]string{"", "", "", "fail once", "fail"}[rng.IntN(5)])
	p := placed{zone: zone(rng)}
	err := patient(db, func(tx *query.Tx) (err error) {
		p.id, err = q.Enqueue(ctx, tx, p.zone, i)
		return err
	})
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all = append(a.all, p)
	return err
}

// handle ends a job in its own transaction, so that the account knows.
func (a *account) handle(ctx context.Context, j *queue.Job) error {
	if how := string(j.Payload()); how == "fail" || how == "fail once" && j.Attempt() == 1 {
		return errors.New(how)
	}
	err := patient(j.DB(), func(tx *query.Tx) error { return j.Complete(ctx, tx, nil) })
	if err == nil {
		a.end(j.ID(), "done")
	}
	return err
}

func (a *account) cancel(db *query.DB, q *queue.Queue, rng *rand.Rand) error {
	a.mu.Lock()
	p := a.all[rng.IntN(len(a.all))]
	a.mu.Unlock()
	err := patient(db, func(tx *query.Tx) error { return q.Cancel(ctx, tx, p.zone, p.id) })
	switch {
	case err == nil:
		a.end(p.id, "cancelled")
	case errors.Is(err, queue.ErrNotFound):
		return nil
	}
	return err
}

// drain does not say which items went: those that are there before and not after, and
// ended in no other way.
func (a *account) drain(db *query.DB, q *queue.Queue, zone string) error {
	var ids []queue.ID
	err := patient(db, func(tx *query.Tx) error {
		ids = nil
		all, err := q.Waiting(ctx, tx, zone)
		if err != nil {
			return err
		}
		n, err := q.Drain(ctx, tx, zone)
		if err == nil && n != len(all) {
			return fmt.Errorf("drained %d of %d items", n, len(all))
		}
		ids = all
		return err
	})
	for _, id := range ids {
		a.end(id, "drained")
	}
	return err
}

// ended is how many items have ended.
func (a *account) ended(t *testing.T, db *query.DB, q *queue.Queue) int {
	dead := 0
	must(t, db.Update(ctx, func(tx *query.Tx) error {
		dead = 0
		for n := range zones {
			for _, err := range q.Dead(ctx, tx, fmt.Sprint(n)) {
				if err != nil {
					return err
				}
				dead++
			}
		}
		return nil
	}))
	a.mu.Lock()
	defer a.mu.Unlock()
	a.dead = dead
	if len(a.twice) > 0 {
		t.Fatalf("%d items ended twice, for instance %v", len(a.twice), a.twice[0])
	}
	return dead + len(a.ends)
}

// work runs a worker until the function that it returns is called, or the test ends.
func work(t *testing.T, q *queue.Queue, h queue.Handlers, o queue.WorkerOptions) (end func()) {
	t.Helper()
	running, stop := context.WithCancel(ctx)
	done := make(chan error)
	go func() { done <- q.Work(running, h, o); close(done) }()
	var once sync.Once
	end = func() {
		once.Do(func() {
			stop()
			must(t, <-done)
		})
	}
	t.Cleanup(end)
	return end
}

// waitFor waits until a condition holds. A test that waits for ever is ended by its
// timeout.
func waitFor(t *testing.T, holds func() bool) {
	t.Helper()
	for !holds() {
		if t.Failed() {
			t.FailNow()
		}
		time.Sleep(time.Millisecond)
	}
}

// Items that are enqueued while their zone, which was empty for long, is removed.
func TestEnqueuesRaceTheRemovalOfTheirZone(t *testing.T) {
	f := begin(t)
	const rounds = 60
	var stop atomic.Bool
	var all sync.WaitGroup
	all.Go(func() {
		for !stop.Load() {
			f.pass(31 * time.Second) // so each visit of an empty zone counts
			must(t, patient(f.db, func(tx *query.Tx) error {
				_, err := f.q.Dequeue(ctx, tx, "acme", 1, time.Hour)
				return err
			}))
		}
	})
	for range rounds {
		id := f.enqueue("acme", queue.Item{})
		waitFor(t, func() bool { return f.get("acme", id).State == queue.Leased })
		must(t, patient(f.db, func(tx *query.Tx) error { return f.q.Cancel(ctx, tx, "acme", id) }))
		if rand.N(2) == 0 {
			waitFor(t, func() bool { return len(zonesOf(f)) == 0 })
		}
	}
	stop.Store(true)
	all.Wait()
}

// A leaseInput is a call about one item.
type leaseInput struct {
	kind  string
	token int64
	until int64 // dequeue, extend: when the lease expires; pass: the new time
}

type leaseState struct {
	now, token, expires int64
	leased, done        bool
}

// leases is what calls about one item may do, one after another. The clock only goes
// forward, so a call sees the time at its beginning or a later one.
var leases = porcupine.Model{
	Init: func() any { return leaseState{} },
	Step: func(state, input, output any) (bool, any) {
		s, in, ok := state.(leaseState), input.(leaseInput), output.(int64)
		switch in.kind {
		case "pass":
			s.now = in.until
			return true, s
		case "dequeue":
			free := !s.done && (!s.leased || s.expires <= s.now)
			if ok == 0 {
				return !free, s
			}
			valid := !s.done && (!s.leased || s.expires <= s.now) && ok == s.token+1
			s.token, s.leased, s.expires = ok, true, in.until
			return valid, s
		case "extend":
			holds := s.leased && !s.done && s.token == in.token && s.expires > s.now
			if ok == 0 {
				return !holds, s
			}
			s.expires = max(s.expires, in.until)
			return holds, s
		}
		holds := s.leased && !s.done && s.token == in.token
		if ok == 0 {
			return !holds, s
		}
		s.leased, s.done = false, in.kind == "complete"
		return holds, s
	},
}

// Clients take one item, extend, return and complete it, while the clock goes on. Their
// history is one of leases that exclude each other.
func TestLeasesAreLinearizable(t *testing.T) {
	const rounds, clients, calls = 6, 4, 12
	for range rounds {
		f := begin(t)
		f.enqueue("acme", queue.Item{MaxAttempts: 1000})
		h := &leaseHistory{fixture: f}
		var all sync.WaitGroup
		for c := range clients {
			all.Go(func() { h.client(c, calls) })
		}
		all.Wait()
		if !porcupine.CheckOperations(leases, h.ops) {
			t.Fatalf("no order explains %+v", h.ops)
		}
	}
}

// A leaseHistory is what clients were told. Time passes while no call is under way: a
// call has one time.
type leaseHistory struct {
	*fixture
	time sync.RWMutex
	mu   sync.Mutex
	ops  []porcupine.Operation
	tick atomic.Int64
}

func (h *leaseHistory) record(client int, in *leaseInput, call func() int64) {
	begin := h.tick.Add(1)
	out := call()
	end := h.tick.Add(1)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, porcupine.Operation{ClientId: client, Input: *in, Call: begin, Output: out, Return: end})
}

func (h *leaseHistory) client(c, calls int) {
	rng := rand.New(rand.NewPCG(uint64(c), rand.Uint64()))
	var job *queue.Job
	for range calls {
		switch how := rng.IntN(6); {
		case how == 0:
			h.advance(c)
		case job == nil || how == 1:
			if j := h.dequeue(c); j != nil {
				job = j
			}
		case how <= 3:
			h.extend(c, job)
		case how == 4:
			h.end(c, "return", job)
		case rng.IntN(4) == 0:
			h.end(c, "complete", job)
		}
	}
}

func (h *leaseHistory) advance(c int) {
	h.time.Lock()
	defer h.time.Unlock()
	in := &leaseInput{kind: "pass"}
	h.record(c, in, func() int64 {
		h.pass(time.Second)
		in.until = h.q.Now()
		return 1
	})
}

func (h *leaseHistory) dequeue(c int) (job *queue.Job) {
	h.time.RLock()
	defer h.time.RUnlock()
	in := &leaseInput{kind: "dequeue"}
	h.record(c, in, func() int64 {
		var jobs []*queue.Job
		must(h, patient(h.db, func(tx *query.Tx) (err error) {
			jobs, err = h.q.Dequeue(ctx, tx, "acme", 1, 2*time.Second)
			return err
		}))
		if len(jobs) == 0 {
			return 0
		}
		job = jobs[0]
		in.until = job.Expires().UnixMicro()
		return job.Token()
	})
	return job
}

func (h *leaseHistory) extend(c int, j *queue.Job) {
	h.time.RLock()
	defer h.time.RUnlock()
	in := &leaseInput{kind: "extend", token: j.Token()}
	h.record(c, in, func() int64 {
		for {
			err := j.Extend(ctx, 2*time.Second)
			switch {
			case err == nil:
				in.until = j.Expires().UnixMicro()
				return 1
			case errors.Is(err, queue.ErrLeaseLost):
				return 0
			case query.KindOf(err) != query.KindConflict:
				h.Error(err)
				return 0
			}
		}
	})
}

func (h *leaseHistory) end(c int, how string, j *queue.Job) {
	h.time.RLock()
	defer h.time.RUnlock()
	h.record(c, &leaseInput{kind: how, token: j.Token()}, func() int64 {
		err := patient(h.db, func(tx *query.Tx) error {
			if how == "complete" {
				return j.Complete(ctx, tx, nil)
			}
			return j.Return(ctx, tx, 0, nil)
		})
		if err != nil && !errors.Is(err, queue.ErrLeaseLost) {
			h.Error(err)
		}
		if err != nil {
			return 0
		}
		return 1
	})
}
