package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/rowmap"
)

// A Handler does the work of an item. If it returns nil, the item is done. After an
// error the item is taken again, later: see [WorkerOptions.Backoff], [Permanent] and
// [RetryAfter]. A panic counts as an error.
//
// The context ends when the lease is lost, when the item is cancelled, when the job's
// time is over, and when the worker stops for good; [context.Cause] tells which. A
// handler should return then. The lease is extended while the handler runs.
//
// An item can be handled more than once: a handler can have done its work and die
// before the item is completed. Effects that are rows of the same database happen
// exactly once if the handler makes them in a transaction with [Job.Complete]; then the
// worker does nothing more.
type Handler func(ctx context.Context, job *Job) error

// Handlers are the handlers of types of items. An item of another type fails, and
// becomes a dead letter at last.
type Handlers map[string]Handler

// WorkerOptions are the options of [Queue.Work]. The zero WorkerOptions are valid.
type WorkerOptions struct {
	// Workers is how many jobs run at the same time; 0 is 16 for each processor.
	Workers int
	// PerVisit is how many items of a zone are taken before others have their turn; 0 is
	// 10. If all other zones are empty, all free workers get items.
	PerVisit int
	// Visits is how many zones are visited at the same time; 0 is 4.
	Visits int
	// Lease is how long an item is hidden unless its lease is extended; 0 is 30 s. It
	// is extended after each third of it. An item whose process died is taken again
	// after at most this time.
	Lease time.Duration
	// Poll is how often the worker looks for items of other processes, and for those
	// that became visible; 0 is 100 ms. Items that this process enqueues are taken at
	// once.
	Poll time.Duration
	// Timeout is how long a job may run before its context ends; 0 is no limit.
	Timeout time.Duration
	// StopTimeout is how long jobs go on after the context of Work ends, before their
	// contexts end too; 0 is 10 s.
	StopTimeout time.Duration
	// Backoff is the delay after the attempt that failed, counted from 1; nil is
	// [Backoff].
	Backoff func(attempt int) time.Duration
	// Middleware wraps each handler; the first is the outermost.
	Middleware []func(Handler) Handler
	// Logger gets errors; nil discards them.
	Logger *slog.Logger
}

// Backoff is 1 s after the first attempt and doubles with each, up to a minute; a fifth
// of it is random.
func Backoff(attempt int) time.Duration {
	d := min(time.Second<<min(max(attempt, 1)-1, 6), time.Minute)
	return d - d/10 + rand.N(d/5)
}

// Permanent marks an error after which the item is not tried again: it becomes a dead
// letter.
func Permanent(err error) error { return &verdict{err: err, permanent: true} }

// RetryAfter marks an error after which the item is taken again after the delay.
func RetryAfter(delay time.Duration, err error) error {
	return &verdict{err: err, delay: max(delay, 0)}
}

type verdict struct {
	err       error
	permanent bool
	delay     time.Duration
}

func (v *verdict) Error() string {
	if v.err == nil {
		return "failed"
	}
	return v.err.Error()
}

func (v *verdict) Unwrap() error { return v.err }

// ErrStopped is the cause of the end of a job's context when its worker stops.
var ErrStopped = errors.New("the worker stops")

func (o WorkerOptions) defaults() (WorkerOptions, error) {
	for what, n := range map[string]int64{
		"Workers": int64(o.Workers), "PerVisit": int64(o.PerVisit), "Visits": int64(o.Visits), "Lease": int64(o.Lease),
		"Poll": int64(o.Poll), "Timeout": int64(o.Timeout), "StopTimeout": int64(o.StopTimeout),
	} {
		if n < 0 {
			return o, rowmap.Fault(query.KindInvalidArgument, "%s is negative", what)
		}
	}
	o.Workers = cmp.Or(o.Workers, 16*runtime.GOMAXPROCS(0))
	o.PerVisit = min(cmp.Or(o.PerVisit, 10), MaxDequeue)
	o.Visits = cmp.Or(o.Visits, 4)
	o.Lease = cmp.Or(o.Lease, 30*time.Second)
	o.Poll = cmp.Or(o.Poll, 100*time.Millisecond)
	o.StopTimeout = cmp.Or(o.StopTimeout, 10*time.Second)
	if o.Backoff == nil {
		o.Backoff = Backoff
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o, nil
}

// Work takes items and runs their handlers until the context ends. Then it takes no
// more, waits for the jobs under way, and returns nil. It also keeps schedules, and
// removes results and unique keys whose time is over. Several calls, in any number of
// processes, share the work.
//
// An error of the queue ends it too: the table does not exist, or the database is
// closed or damaged. While the database cannot be written, for instance because its
// disk is full, Work tries again.
func (q *Queue) Work(ctx context.Context, handlers Handlers, o WorkerOptions) error {
	const op = "work"
	o, err := o.defaults()
	switch {
	case q == nil || q.db == nil:
		return errNil
	case ctx == nil:
		return fail(op, "", rowmap.Fault(query.KindInvalidArgument, "the context is nil"))
	case err != nil:
		return fail(op, "", err)
	}
	for kind, h := range handlers {
		if h == nil {
			return fail(op, "", rowmap.Fault(query.KindInvalidArgument, "the handler of type %q is nil", kind))
		}
	}
	for n, wrap := range o.Middleware {
		if wrap == nil {
			return fail(op, "", rowmap.Fault(query.KindInvalidArgument, "middleware %d is nil", n))
		}
	}
	w := &worker{
		q: q, o: o, handlers: handlers, free: o.Workers, hints: map[string]struct{}{},
		visited: map[string]bool{}, resting: map[string]bool{}, changed: make(chan struct{}, 1), ends: newEnds(q, o.Workers),
	}
	return fail(op, "", w.run(ctx))
}

// A worker is one call of Work.
type worker struct {
	q        *Queue
	o        WorkerOptions
	handlers Handlers
	jobs     sync.WaitGroup
	visits   sync.WaitGroup
	kill     context.Context // ends when jobs must
	ends     *ends

	hints map[string]struct{} // zones with items that were enqueued here; of scan

	mu      sync.Mutex
	free    int             // handlers that can still begin
	ending  int             // jobs whose handlers have returned
	visited map[string]bool // zones that are being visited
	resting map[string]bool // zones that are skipped after a fault
	turns   turns
	changed chan struct{} // holds a value when one of these changed
}

func (w *worker) run(ctx context.Context) error {
	kill, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(nil)
	w.kill = kill
	keeping, stop := context.WithCancel(ctx)
	defer stop()
	var helpers sync.WaitGroup
	defer helpers.Wait()
	defer w.ends.close()
	helpers.Go(func() { w.ends.run(context.WithoutCancel(ctx)) })
	helpers.Go(func() { w.keep(keeping) })
	err := w.scan(ctx)
	stop()
	w.visits.Wait()
	for zone := range w.hints {
		w.q.wake.send(zone) // to another worker
	}
	late := time.AfterFunc(w.o.StopTimeout, func() { end(ErrStopped) })
	defer late.Stop()
	w.jobs.Wait()
	return err
}

// scan visits zones until the context ends or the queue fails.
func (w *worker) scan(ctx context.Context) error {
	for ctx.Err() == nil {
		begin, wait := time.Now(), w.o.Poll
		if w.idle() {
			zones, next, err := w.q.due(ctx, w.rests)
			switch {
			case ctx.Err() != nil:
				return nil
			case err != nil && !passes(err):
				return err
			case err != nil:
				w.o.Logger.Warn("queue: looking for items", "err", err)
			}
			w.takeHints()
			w.visitSome(ctx, zones)
			wait = min(wait, max(next, time.Millisecond))
		}
		w.pause(ctx, wait, begin.Add(spacing))
	}
	return nil
}

// spacing is the least time from one search for due zones to the next, unless a worker
// becomes free. Items that are enqueued meanwhile are taken together.
const spacing = 500 * time.Microsecond

// passes reports whether an error may pass by itself.
func passes(err error) bool {
	switch query.KindOf(err) {
	case query.KindConflict, query.KindBusy, query.KindUnknownOutcome, query.KindResourceExhausted:
		return true
	case query.KindUnavailable:
		return !errors.Is(err, cf.ErrClosed)
	}
	return false
}

// idle reports whether another visit can begin.
func (w *worker) idle() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.hasRoom()
}

// hasRoom reports whether another visit can begin; mu is held. While jobs cannot be
// ended, for instance because the disk is full, no more are taken.
func (w *worker) hasRoom() bool {
	return w.free > 0 && w.ending <= w.o.Workers && len(w.visited) < w.o.Visits
}

// pause waits until there may be something to do. Items that were enqueued can wait
// until a time, so that more come.
func (w *worker) pause(ctx context.Context, most time.Duration, until time.Time) {
	timer := time.NewTimer(most)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-w.changed:
		case <-w.q.wake.wait():
			if !w.takeHints() {
				continue
			}
			w.pauseUntil(ctx, until)
		}
		return
	}
}

func (w *worker) pauseUntil(ctx context.Context, until time.Time) {
	select {
	case <-ctx.Done():
	case <-time.After(time.Until(until)):
	case <-w.changed:
	}
}

// takeHints notes the zones that were named, and reports whether one of all hints can be
// visited.
func (w *worker) takeHints() (any bool) {
	for zone := range w.q.wake.take() {
		w.hints[zone] = struct{}{}
	}
	for zone := range w.hints {
		if w.isFree(zone) {
			return true
		}
	}
	return false
}

// visitSome begins visits of zones, in their turns. Zones that were hinted at and
// visited are no longer hinted at. A zone that is the only one can have all workers.
func (w *worker) visitSome(ctx context.Context, zones []string) {
	for zone := range w.hints {
		if !w.rests(zone) && !slices.Contains(zones, zone) {
			zones = append(zones, zone)
		}
	}
	most := w.o.PerVisit
	if len(zones) == 1 {
		most = max(most, w.o.Workers)
	}
	// Zones with the same turn come in a random order, so that workers of several
	// processes seldom meet.
	rand.Shuffle(len(zones), func(i, j int) { zones[i], zones[j] = zones[j], zones[i] })
	for len(zones) > 0 {
		zone, n := w.begin(zones, min(most, MaxDequeue))
		if n == 0 {
			return
		}
		delete(w.hints, zone)
		w.visits.Go(func() { w.visit(ctx, zone, n) })
	}
}

// rests reports whether a zone is skipped after a fault.
func (w *worker) rests(zone string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.resting[zone]
}

// isFree reports whether a zone is neither visited nor left alone.
func (w *worker) isFree(zone string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.visited[zone] && !w.resting[zone]
}

// begin begins the visit of the zone whose turn it is, with at most most of the free
// workers. It is of 0 workers if no visit can begin, or if that zone is being visited:
// the others wait until that visit ends.
func (w *worker) begin(zones []string, most int) (zone string, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	zone = slices.MinFunc(zones, func(a, b string) int { return cmp.Compare(w.turns.of(a), w.turns.of(b)) })
	if !w.hasRoom() || w.visited[zone] {
		return zone, 0
	}
	n = min(most, w.free)
	w.free -= n
	w.visited[zone] = true
	w.turns.begin(zone, n)
	return zone, n
}

// visit takes items of a zone, at most n, and runs them.
func (w *worker) visit(ctx context.Context, zone string, n int) {
	weight, jobs := 1, []*Job(nil)
	err := w.q.update(ctx, func(tx *query.Tx) error {
		jobs = nil
		at, err := w.q.work(ctx, tx)
		if err != nil {
			return err
		}
		z, err := at.zone(zone)
		if err != nil {
			return err
		}
		weight = z.weight()
		jobs, err = at.visit(zone, n, micros(w.o.Lease))
		return err
	})
	if err != nil {
		jobs = nil
		if ctx.Err() == nil {
			w.o.Logger.Warn("queue: taking items", "zone", zone, "err", err)
		}
		w.q.wake.send(zone) // the new items are still there
	}
	w.visitEnded(zone, weight, n, len(jobs), w.rest(err))
	for _, j := range jobs {
		w.jobs.Go(func() { w.handle(j) })
	}
}

// rest is how long a zone is left alone after a visit, so that one that fails does not
// hold up others.
func (w *worker) rest(err error) time.Duration {
	switch {
	case err == nil:
		return 0
	case passes(err):
		return w.o.Poll
	}
	return 10 * time.Second
}

// visitEnded ends a visit that was to take n items.
func (w *worker) visitEnded(zone string, weight, n, took int, rest time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.turns.end(zone, took, weight)
	w.free += n - took
	delete(w.visited, zone)
	if rest > 0 {
		w.resting[zone] = true
		time.AfterFunc(rest, func() { w.rested(zone) })
	}
	w.signal()
}

func (w *worker) rested(zone string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.resting, zone)
	w.signal()
}

func (w *worker) signal() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// handle runs one job to its end.
func (w *worker) handle(j *Job) {
	ctx, cancel := context.WithCancelCause(w.kill)
	defer cancel(nil)
	if w.o.Timeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, w.o.Timeout, fmt.Errorf("the job has run for %v", w.o.Timeout))
		defer stop()
	}
	w.q.running.add(j, cancel)
	defer w.q.running.remove(j)
	extending, stop := context.WithCancel(w.kill)
	var extender sync.WaitGroup
	extender.Go(func() { w.extend(extending, j, cancel) })
	begin, err := time.Now(), errGone
	defer func() { // also if the handler ends the goroutine
		w.q.counters.ran(j, time.Since(begin))
		w.handled()
		w.finish(ctx, j, err)
		w.ended()
		stop()
		extender.Wait()
	}()
	err = w.call(ctx, j)
}

// handled says that a handler returned: another one can run while its job ends.
func (w *worker) handled() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ending++
	if w.free++; w.free == 1 {
		w.signal()
	}
}

// ended says that a job ended.
func (w *worker) ended() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ending--; w.ending == w.o.Workers {
		w.signal()
	}
}

var errGone = errors.New("the handler ended its goroutine")

// call runs the handler of a job. A panic is an error.
func (w *worker) call(ctx context.Context, j *Job) (err error) {
	h := w.handlers[j.Type()]
	if h == nil {
		return fmt.Errorf("there is no handler for the type %q", j.Type())
	}
	defer func() {
		if p := recover(); p != nil {
			stack := make([]byte, 16<<10)
			stack = stack[:runtime.Stack(stack, false)]
			err = fmt.Errorf("panic: %v", p)
			w.o.Logger.Error("queue: handler panicked", "zone", j.Zone(), "type", j.Type(), "id", j.ID(), "panic", p, "stack", string(stack))
		}
	}()
	for _, wrap := range slices.Backward(w.o.Middleware) {
		h = wrap(h)
	}
	if err := h(ctx, j); err != nil {
		return err
	}
	return checkResult(j.givenResult())
}

// extend extends the lease of a job until the context ends. It ends the job when the
// lease is lost.
func (w *worker) extend(ctx context.Context, j *Job, cancel context.CancelCauseFunc) {
	tick := time.NewTicker(max(w.o.Lease/3, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := j.Extend(ctx, w.o.Lease)
		switch {
		case errors.Is(err, ErrLeaseLost):
			cancel(ErrLeaseLost)
			return
		case err != nil && ctx.Err() == nil:
			w.o.Logger.Warn("queue: extending a lease", "zone", j.Zone(), "id", j.ID(), "err", err)
		}
	}
}

// finish ends a job by its handler's error.
func (w *worker) finish(ctx context.Context, j *Job, cause error) {
	if j.ended.Load() {
		w.q.counters.count(j, "done")
		return
	}
	outcome, end := w.outcome(ctx, j, cause)
	log := w.o.Logger.With("zone", j.Zone(), "type", j.Type(), "id", j.ID())
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		err := w.ends.do(end)
		switch {
		case err == nil:
			w.q.counters.count(j, outcome)
			return
		case errors.Is(err, ErrLeaseLost):
			w.q.counters.count(j, "lost")
			log.Warn("queue: a job ended without its lease", "err", cause)
			return
		case !passes(err) || w.kill.Err() != nil:
			log.Error("queue: ending a job; the item is taken again when its lease has expired", "err", err)
			return
		}
		log.Warn("queue: ending a job", "err", err)
		select {
		case <-time.After(pause):
		case <-w.kill.Done():
		}
	}
}

// outcome is how a job ends, and the name of that in the metrics.
func (w *worker) outcome(ctx context.Context, j *Job, cause error) (string, func(context.Context, *query.Tx) error) {
	if cause == nil {
		return "done", func(ctx context.Context, tx *query.Tx) error { return j.Complete(ctx, tx, j.givenResult()) }
	}
	if context.Cause(ctx) == ErrStopped {
		return "stopped", j.Release
	}
	w.o.Logger.Info("queue: a job failed", "zone", j.Zone(), "type", j.Type(), "id", j.ID(), "attempt", j.Attempt(), "err", cause)
	delay := w.o.Backoff(j.Attempt())
	if v, ok := errors.AsType[*verdict](cause); ok {
		if v.permanent {
			return "dead", func(ctx context.Context, tx *query.Tx) error { return j.Bury(ctx, tx, cause) }
		}
		delay = v.delay
	}
	outcome := "retried"
	if j.lastAttempt() {
		outcome = "dead"
	}
	return outcome, func(ctx context.Context, tx *query.Tx) error { return j.Return(ctx, tx, max(delay, 0), cause) }
}
