package queue_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/queue"
	"github.com/smolwc/smolwc/schema"
)

var ctx = context.Background()

var everything = read.Prefix("")

var withQueues = &schema.Schema{Tables: []schema.Table{
	{Name: "queues", Families: []schema.Family{{Name: "q"}}},
	{Name: "orders", Families: []schema.Family{{Name: "o"}}},
}}

func open(t testing.TB) *query.DB {
	t.Helper()
	db, err := query.Open(t.TempDir(), query.Options{Schema: withQueues})
	must(t, err)
	t.Cleanup(func() { db.Close() })
	return db
}

// A judge is a testing.TB or a rapid.T.
type judge interface {
	Helper()
	Errorf(format string, args ...any)
	Fatal(args ...any)
}

func must(t judge, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A watch is a wall clock that a test sets.
type watch struct {
	mu sync.Mutex
	at time.Time
}

func (w *watch) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.at
}

func (w *watch) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at = w.at.Add(d)
}

// A fixture is a queue in a database of its own, with a clock that the test sets. At the
// end its rows are audited.
type fixture struct {
	testing.TB
	*watch
	db *query.DB
	q  *queue.Queue
}

func begin(t testing.TB) *fixture {
	f := &fixture{t, &watch{at: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}, open(t), nil}
	f.q = f.another()
	t.Cleanup(func() {
		if !t.Failed() {
			audit(t, f.db, f.q)
		}
	})
	return f
}

// another is another Queue of the same rows and the same clock, as after a restart.
func (f *fixture) another() *queue.Queue {
	q := queue.New(f.db, queue.Options{})
	q.SetClock(f.now)
	return q
}

// do runs fn in a transaction.
func (f *fixture) do(fn func(tx *query.Tx) error) {
	f.Helper()
	must(f, f.db.Update(ctx, fn))
}

func (f *fixture) enqueue(zone string, i queue.Item) (id queue.ID) {
	f.Helper()
	if i.Type == "" {
		i.Type = "mail"
	}
	f.do(func(tx *query.Tx) (err error) {
		id, err = f.q.Enqueue(ctx, tx, zone, i)
		return err
	})
	return id
}

func (f *fixture) take(zone string, n int, lease time.Duration) (jobs []*queue.Job) {
	f.Helper()
	f.do(func(tx *query.Tx) (err error) {
		jobs, err = f.q.Dequeue(ctx, tx, zone, n, lease)
		return err
	})
	return jobs
}

// one takes the only visible item of a zone.
func (f *fixture) one(zone string) *queue.Job {
	f.Helper()
	jobs := f.take(zone, 10, time.Minute)
	if len(jobs) != 1 {
		f.Fatalf("dequeued %d jobs, want 1", len(jobs))
	}
	return jobs[0]
}

// complete completes a job, and gives the error.
func (f *fixture) complete(j *queue.Job) error {
	return f.db.Update(ctx, func(tx *query.Tx) error { return j.Complete(ctx, tx, nil) })
}

func (f *fixture) get(zone string, id queue.ID) (info queue.Info) {
	f.Helper()
	f.do(func(tx *query.Tx) (err error) {
		info, err = f.q.Get(ctx, tx, zone, id)
		return err
	})
	return info
}

func (f *fixture) stats(zone string) queue.Stats {
	f.Helper()
	all, err := f.q.Stats(ctx, zone)
	must(f, err)
	var sum queue.Stats
	for _, s := range all {
		sum.Ready, sum.Delayed, sum.Blocked = sum.Ready+s.Ready, sum.Delayed+s.Delayed, sum.Blocked+s.Blocked
		sum.Leased, sum.Expired, sum.Dead = sum.Leased+s.Leased, sum.Expired+s.Expired, sum.Dead+s.Dead
	}
	return sum
}

func wantErr(t judge, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("got the error %v, want %v", err, want)
	}
}

// rust damages a row.
func (f *fixture) rust(kind string, key ...any) {
	m := write.NewMutation()
	m.SetAt("q", "", 0, cells.Bytes([]byte("rust")))
	must(f, f.db.Table("queues").Apply(ctx, f.q.KeyOf(kind, key), m))
}
