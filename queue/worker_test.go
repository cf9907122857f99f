package queue_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/queue"
	"go.uber.org/goleak"
)

// quick are options for tests.
func quick() queue.WorkerOptions {
	return queue.WorkerOptions{Workers: 4, Poll: 5 * time.Millisecond, Backoff: func(int) time.Duration { return 0 }}
}

// runs runs one item to its end with a handler, and gives what is left of it.
func runs(t *testing.T, i queue.Item, h queue.Handler, o queue.WorkerOptions) queue.Info {
	t.Helper()
	db := open(t)
	q := queue.New(db, queue.Options{})
	f := &fixture{TB: t, db: db, q: q}
	i.KeepResult = time.Hour
	id := f.enqueue("acme", i)
	end := work(t, q, queue.Handlers{"mail": h}, o)
	waitFor(t, func() bool {
		s := f.get("acme", id).State
		return s == queue.Done || s == queue.Dead
	})
	end()
	audit(t, db, q)
	return f.get("acme", id)
}

// nothing hides from analysers that it is nil.
func nothing() any { return nil }

func TestHowJobsEnd(t *testing.T) {
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		handler  queue.Handler
		attempts int // allowed
		state    queue.State
		had      int // attempts
		err      string
	}{
		"nil":   {func(context.Context, *queue.Job) error { return nil }, 3, queue.Done, 1, ""},
		"error": {func(context.Context, *queue.Job) error { return broken }, 3, queue.Dead, 3, "broken"},
		"error, then nil": {func(_ context.Context, j *queue.Job) error {
			if j.Attempt() == 1 {
				return broken
			}
			return nil
		}, 3, queue.Done, 2, ""},
		"permanent":            {func(context.Context, *queue.Job) error { return fmt.Errorf("it is %w", queue.Permanent(broken)) }, 3, queue.Dead, 1, "it is broken"},
		"permanent without":    {func(context.Context, *queue.Job) error { return queue.Permanent(nil) }, 3, queue.Dead, 1, "failed"},
		"later":                {func(context.Context, *queue.Job) error { return queue.RetryAfter(-time.Hour, broken) }, 2, queue.Dead, 2, "broken"},
		"panic":                {func(context.Context, *queue.Job) error { panic("oh") }, 2, queue.Dead, 2, "panic: oh"},
		"panic of nil":         {func(context.Context, *queue.Job) error { panic(nothing()) }, 1, queue.Dead, 1, "panic: panic called with nil argument"},
		"a goroutine's end":    {func(context.Context, *queue.Job) error { runtime.Goexit(); return nil }, 2, queue.Dead, 2, "the handler ended its goroutine"},
		"a result":             {func(_ context.Context, j *queue.Job) error { j.SetResult([]byte("42")); return nil }, 1, queue.Done, 1, ""},
		"a result of 1 MiB":    {func(_ context.Context, j *queue.Job) error { j.SetResult(make([]byte, queue.MaxPayload)); return nil }, 1, queue.Done, 1, ""},
		"a result that's long": {func(_ context.Context, j *queue.Job) error { j.SetResult(make([]byte, queue.MaxPayload+1)); return nil }, 1, queue.Dead, 1, "the result has 1048577 bytes; the limit is 1048576"},
		"a long error":         {func(context.Context, *queue.Job) error { return errors.New(strings.Repeat("é", 5000)) }, 1, queue.Dead, 1, strings.Repeat("é", 2048)},
	} {
		t.Run(name, func(t *testing.T) {
			i := runs(t, queue.Item{MaxAttempts: c.attempts}, c.handler, quick())
			if i.State != c.state || i.Attempts != c.had || !strings.Contains(i.Err, c.err) {
				t.Errorf("it is %v after %d attempts: %.200q", i.State, i.Attempts, i.Err)
			}
		})
	}
}

func TestAJobEndsByTheHandlersOwnTransaction(t *testing.T) {
	for how, want := range map[string]queue.State{"complete": queue.Done, "bury": queue.Dead} {
		i := runs(t, queue.Item{}, func(ctx context.Context, j *queue.Job) error {
			return patient(j.DB(), func(tx *query.Tx) error {
				if how == "bury" {
					return j.Bury(ctx, tx, nil)
				}
				return j.Complete(ctx, tx, nil)
			})
		}, quick())
		if i.State != want || i.Attempts != 1 {
			t.Errorf("%s: it is %v after %d attempts", how, i.State, i.Attempts)
		}
	}
}

func TestAnItemWithoutAHandler(t *testing.T) {
	i := runs(t, queue.Item{Type: "unknown", MaxAttempts: 2}, func(context.Context, *queue.Job) error { return nil }, quick())
	if i.State != queue.Dead || !strings.Contains(i.Err, `"unknown"`) {
		t.Errorf("it is %v: %q", i.State, i.Err)
	}
}

func TestMiddlewareRunsInOrder(t *testing.T) {
	var calls []string
	named := func(name string) func(queue.Handler) queue.Handler {
		return func(next queue.Handler) queue.Handler {
			return func(ctx context.Context, j *queue.Job) error {
				calls = append(calls, name)
				defer func() { calls = append(calls, "/"+name) }()
				return next(ctx, j)
			}
		}
	}
	o := quick()
	o.Middleware = []func(queue.Handler) queue.Handler{named("outer"), named("inner")}
	runs(t, queue.Item{}, func(context.Context, *queue.Job) error { return nil }, o)
	if want := []string{"outer", "inner", "/inner", "/outer"}; !slices.Equal(calls, want) {
		t.Errorf("called %q, want %q", calls, want)
	}
	o.Middleware = []func(queue.Handler) queue.Handler{func(queue.Handler) queue.Handler { panic("no") }}
	if i := runs(t, queue.Item{MaxAttempts: 1}, func(context.Context, *queue.Job) error { return nil }, o); i.State != queue.Dead {
		t.Errorf("after a panic of middleware it is %v", i.State)
	}
}

// cause gives the cause of the end of a handler's context.
func cause(into chan<- error) queue.Handler {
	return func(ctx context.Context, j *queue.Job) error {
		<-ctx.Done()
		into <- context.Cause(ctx)
		return ctx.Err()
	}
}

func TestAJobsTimeIsOver(t *testing.T) {
	why, o := make(chan error, 1), quick()
	o.Timeout = time.Millisecond
	if i := runs(t, queue.Item{MaxAttempts: 1}, cause(why), o); i.State != queue.Dead || !strings.Contains((<-why).Error(), "the job has run for 1ms") {
		t.Errorf("it is %v", i.State)
	}
}

// A handler runs for longer than its lease, which is extended meanwhile.
func TestALeaseIsExtendedWhileItsHandlerRuns(t *testing.T) {
	f, o := begin(t), quick()
	o.Lease = 30 * time.Millisecond
	id := f.enqueue("acme", queue.Item{MaxAttempts: 1, KeepResult: time.Hour})
	work(t, f.q, queue.Handlers{"mail": func(ctx context.Context, j *queue.Job) error {
		for range 4 {
			before := j.Expires()
			f.pass(o.Lease / 2)
			waitFor(t, func() bool { return j.Expires().After(before) })
		}
		return ctx.Err()
	}}, o)
	waitFor(t, func() bool { return f.get("acme", id).State == queue.Done })
}

func TestALostLeaseEndsTheContext(t *testing.T) {
	f := begin(t)
	f.enqueue("acme", queue.Item{})
	why, begun, o := make(chan error, 1), make(chan struct{}), quick()
	o.Lease = 30 * time.Millisecond
	end := work(t, f.q, queue.Handlers{"mail": func(ctx context.Context, j *queue.Job) error {
		close(begun)
		return cause(why)(ctx, j)
	}}, o)
	<-begun
	f.do(func(tx *query.Tx) error { return f.q.Configure(ctx, tx, "acme", queue.ZoneConfig{Paused: true}) })
	f.pass(time.Minute) // nobody takes it, but it has expired
	wantErr(t, <-why, queue.ErrLeaseLost)
	end()
}

func TestCancelEndsTheContext(t *testing.T) {
	f := begin(t)
	why, begun := make(chan error, 1), make(chan struct{})
	id := f.enqueue("acme", queue.Item{})
	work(t, f.q, queue.Handlers{"mail": func(ctx context.Context, j *queue.Job) error {
		close(begun)
		return cause(why)(ctx, j)
	}}, quick())
	<-begun
	f.do(func(tx *query.Tx) error { return f.q.Cancel(ctx, tx, "acme", id) })
	wantErr(t, <-why, queue.ErrCanceled)
}

func TestWorkStopsGracefully(t *testing.T) {
	f := begin(t)
	id := f.enqueue("acme", queue.Item{KeepResult: time.Hour})
	begun, stop := make(chan struct{}), make(chan struct{})
	running, cancel := context.WithCancel(ctx)
	done := make(chan error)
	go func() {
		done <- f.q.Work(running, queue.Handlers{"mail": func(ctx context.Context, j *queue.Job) error {
			close(begun)
			<-stop
			return ctx.Err()
		}}, quick())
	}()
	<-begun
	cancel()
	next := f.enqueue("acme", queue.Item{})
	close(stop)
	must(t, <-done)
	if a, b := f.get("acme", id).State, f.get("acme", next).State; a != queue.Done || b != queue.Ready {
		t.Errorf("the job is %v, the next item %v", a, b)
	}
}

func TestAStopThatLastsReleasesJobs(t *testing.T) {
	f := begin(t)
	id := f.enqueue("acme", queue.Item{})
	why, begun, o := make(chan error, 1), make(chan struct{}), quick()
	o.StopTimeout = time.Millisecond
	end := work(t, f.q, queue.Handlers{"mail": func(ctx context.Context, j *queue.Job) error {
		close(begun)
		return cause(why)(ctx, j)
	}}, o)
	<-begun
	end()
	wantErr(t, <-why, queue.ErrStopped)
	if i := f.get("acme", id); i.State != queue.Ready || i.Attempts != 0 {
		t.Errorf("it is %v after %d attempts", i.State, i.Attempts)
	}
}

// A worker that stops hands on the zones that it knows of: their pointers are not due yet.
func TestAWorkerThatStopsHandsOnWhatItKnows(t *testing.T) {
	f, o := begin(t), quick()
	o.Workers = 2
	begun, stop := make(chan struct{}, o.Workers), make(chan struct{})
	end := work(t, f.q, queue.Handlers{
		"mail": func(context.Context, *queue.Job) error { return nil },
		"long": func(context.Context, *queue.Job) error { begun <- struct{}{}; <-stop; return nil },
	}, o)
	f.enqueue("acme", queue.Item{})
	waitFor(t, func() bool { return f.stats("acme") == queue.Stats{} }) // acme is visited again in 100 ms of a clock that stands
	for range o.Workers {
		f.enqueue("zoo", queue.Item{Type: "long"})
		<-begun
	}
	f.enqueue("acme", queue.Item{})
	waitFor(t, func() bool { return f.q.Hints() == 0 })
	stopped := make(chan struct{})
	go func() { end(); close(stopped) }()
	close(stop)
	<-stopped
	work(t, f.q, queue.Handlers{"mail": func(context.Context, *queue.Job) error { return nil }}, o)
	waitFor(t, func() bool { return f.stats("acme") == queue.Stats{} })
}

// A zone that cannot be read rests, and others are served. So do more of them than are
// looked at together.
func TestADamagedZoneHoldsNobodyUp(t *testing.T) {
	f := begin(t)
	const damaged = 130
	for n := range damaged {
		f.enqueue(fmt.Sprintf("damaged %d", n), queue.Item{})
	}
	f.pass(time.Second)
	for n := range damaged {
		f.rust("zone", fmt.Sprintf("damaged %d", n))
	}
	id := f.enqueue("sound", queue.Item{KeepResult: time.Hour})
	var log lines
	o := quick()
	o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	end := work(t, f.another(), queue.Handlers{"mail": func(context.Context, *queue.Job) error { return nil }}, o)
	waitFor(t, func() bool { return f.get("sound", id).State == queue.Done })
	end()
	must(t, f.db.Table("queues").DeleteRange(ctx, everything))
}

// lines counts the lines of a log.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, string(p))
	return len(p), nil
}

func TestWorkEndsWithTheQueuesErrors(t *testing.T) {
	db := open(t)
	none := queue.New(db, queue.Options{Table: "none"})
	if err := none.Work(ctx, nil, quick()); query.KindOf(err) != query.KindNotFound {
		t.Errorf("without a table: %v", err)
	}
	q, ended := queue.New(db, queue.Options{}), make(chan error)
	go func() { ended <- q.Work(ctx, nil, quick()) }()
	must(t, db.Close())
	if err := <-ended; query.KindOf(err) != query.KindUnavailable {
		t.Errorf("on a closed database: %v", err)
	}
}

func TestWorkRefusesWrongOptions(t *testing.T) {
	q := queue.New(open(t), queue.Options{})
	for _, o := range []queue.WorkerOptions{
		{Workers: -1}, {PerVisit: -1}, {Visits: -1}, {Lease: -1}, {Poll: -1}, {Timeout: -1}, {StopTimeout: -1},
		{Middleware: []func(queue.Handler) queue.Handler{nil}},
	} {
		if err := q.Work(ctx, nil, o); query.KindOf(err) != query.KindInvalidArgument {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if err := q.Work(ctx, queue.Handlers{"mail": nil}, queue.WorkerOptions{}); query.KindOf(err) != query.KindInvalidArgument {
		t.Errorf("a nil handler: %v", err)
	}
	for _, q := range []*queue.Queue{nil, new(queue.Queue), queue.New(nil, queue.Options{})} {
		if err := q.Work(ctx, nil, queue.WorkerOptions{}); query.KindOf(err) != query.KindInvalidArgument {
			t.Errorf("without a database: %v", err)
		}
		q.Collect(nil)
	}
}

func TestWorkLeavesNoGoroutines(t *testing.T) {
	f := begin(t)
	before := goleak.IgnoreCurrent()
	var ran atomic.Int64
	for range 20 {
		f.enqueue("acme", queue.Item{})
	}
	end := work(t, f.q, queue.Handlers{"mail": func(context.Context, *queue.Job) error { ran.Add(1); return nil }}, quick())
	waitFor(t, func() bool { return ran.Load() == 20 })
	end()
	goleak.VerifyNone(t, before, goleak.IgnoreTopFunction("github.com/smolwc/smolwc/cf/pebble.(*workers).begin.func1")) // a store keeps these until it is closed
}

func TestMetrics(t *testing.T) {
	f := begin(t)
	f.enqueue("acme", queue.Item{Delay: time.Hour})
	var ran atomic.Bool
	f.enqueue("acme", queue.Item{})
	work(t, f.q, queue.Handlers{"mail": func(context.Context, *queue.Job) error { ran.Store(true); return nil }}, quick())
	reg := prometheus.NewPedanticRegistry()
	must(t, reg.Register(f.q))
	waitFor(t, func() bool {
		all, err := reg.Gather()
		must(t, err)
		text := fmt.Sprint(all)
		return strings.Contains(text, `value:"done"`) && strings.Contains(text, "smolwc_queue_items") && strings.Contains(text, "smolwc_queue_job_seconds")
	})
	if !ran.Load() {
		t.Error("done without a run")
	}
}
