// Package calls knows the calls of a server: those under way, which it can cancel, and the
// slowest that have ended.
package calls

import (
	"cmp"
	"context"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/api/activity"
	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/server/internal/access"
	"github.com/smolwc/smolwc/server/internal/account"
)

// A Call is one call, for the log, the metrics, the limits, and the list of calls.
type Call struct {
	Method string        // service/Method
	Conn   *account.Conn // nil when it is not known
	Peer   net.Addr
	Began  time.Time
	Header metadata.MD                  // of the request, for wire.Header; nil: it is not known
	Table  atomic.Pointer[string]       // as the database names it; nil: the request names it
	Token  atomic.Pointer[access.Token] // nil without one
	// Request is the call's request. It is not changed.
	Request atomic.Value

	Arrived bool       // its request arrived
	Held    int64      // bytes of it
	Refused error      // why it was not decoded
	Span    trace.Span // nil without
	In, Out atomic.Int64

	id                   uint64 // 0: it is not listed
	rows, cells, written atomic.Int64
	cancelled            atomic.Pointer[string] // who did; nil: nobody

	// Both are part of the call, so that they need no memory of their own.
	named   named   // of With
	running Context // of Begin; it ends at the latest time of the call
}

// A named context carries a call.
type named struct {
	context.Context
	call *Call
}

type callKey struct{}

// Value implements [context.Context].
func (n *named) Value(key any) any {
	switch key.(type) {
	case callKey:
		return n.call
	case account.RequestKey:
		return n.call.Held
	case wire.HeadersKey:
		if n.call.Header != nil {
			return n.call.Header
		}
	}
	return n.Context.Value(key)
}

// With returns the context of a call. It is called once.
func (c *Call) With(ctx context.Context) context.Context {
	c.named = named{ctx, c}
	return &c.named
}

// Of returns the call of a context, nil for a context without a call. The methods of a nil
// call do nothing.
func Of(ctx context.Context) *Call {
	c, _ := ctx.Value(callKey{}).(*Call)
	return c
}

// Read counts rows and cells read by the call.
func (c *Call) Read(rows, cells int64) {
	if c != nil {
		c.rows.Add(rows)
		c.cells.Add(cells)
	}
}

// Wrote counts rows written by the call.
func (c *Call) Wrote(rows int) {
	if c != nil {
		c.written.Add(int64(rows))
	}
}

// Counted returns how many rows and cells the call read, and how many rows it wrote.
func (c *Call) Counted() (rows, cells, written int64) {
	return c.rows.Load(), c.cells.Load(), c.written.Load()
}

// Cancelled returns the status of a call that somebody cancelled, nil for any other call.
func (c *Call) Cancelled() error {
	if c == nil {
		return nil
	}
	if by := c.cancelled.Load(); by != nil {
		return status.Errorf(codes.Canceled, "the call was cancelled by %s", *by)
	}
	return nil
}

// A Registry is the calls of a server. It is safe for concurrent use.
type Registry struct {
	// Describe says in words which rows a request is about.
	Describe func(request any) string
	// TableOf is the table of a request, as the database names it; "" without a table or
	// with several.
	TableOf func(request any) string

	last    atomic.Uint64 // id
	stopped atomic.Bool   // see CancelAll
	watch   atomic.Bool   // a timer waits for the latest times of calls
	shards  [shards]shard // of the calls under way, by id
	slow    slowest
}

// shards is how many parts the calls under way are in, so that calls seldom wait for each
// other.
const shards = 16

type shard struct {
	mu    sync.Mutex
	calls map[uint64]*Call
}

// Begin lists a call, and returns its context, which ends with the parent, when somebody
// cancels the call, or at the latest time. The zero time is no end. A call begins once.
func (r *Registry) Begin(ctx context.Context, c *Call, latest time.Time) context.Context {
	c.id, c.running.Context, c.running.latest = r.last.Add(1), ctx, latest
	s := &r.shards[c.id%shards]
	s.mu.Lock()
	if s.calls == nil {
		s.calls = map[uint64]*Call{}
	}
	s.calls[c.id] = c
	s.mu.Unlock()
	if r.stopped.Load() {
		c.running.end(context.Canceled)
	}
	if !latest.IsZero() && !r.watch.Load() {
		r.watchUntil(latest)
	}
	return &c.running
}

// mostWatch is the longest wait of the timer, which keeps the registry in memory.
const mostWatch = time.Minute

// watchUntil starts the timer, unless it waits already. All calls share one timer, since
// hardly any call needs it.
func (r *Registry) watchUntil(t time.Time) {
	if r.watch.CompareAndSwap(false, true) {
		r.wait(t)
	}
}

func (r *Registry) wait(until time.Time) {
	time.AfterFunc(min(time.Until(until), mostWatch), r.endLate)
}

// endLate ends the calls that reached their latest time, and waits for the next.
func (r *Registry) endLate() {
	if next := r.late(time.Now()); !next.IsZero() {
		r.wait(next)
		return
	}
	r.watch.Store(false)
	if next := r.late(time.Now()); !next.IsZero() { // of a call that just began
		r.watchUntil(next)
	}
}

// late ends the calls that reached their latest time, and returns the next such time,
// zero if there is no such call.
func (r *Registry) late(now time.Time) (next time.Time) {
	for i := range r.shards {
		s := &r.shards[i]
		s.mu.Lock()
		for _, c := range s.calls {
			switch latest := c.running.latest; {
			case latest.IsZero():
			case !latest.After(now):
				c.running.end(context.DeadlineExceeded)
			case next.IsZero() || latest.Before(next):
				next = latest
			}
		}
		s.mu.Unlock()
	}
	return next
}

// End takes a call off the list, and ends its context.
func (r *Registry) End(c *Call) {
	s := &r.shards[c.id%shards]
	s.mu.Lock()
	delete(s.calls, c.id)
	s.mu.Unlock()
	c.running.end(context.Canceled)
}

// Ended remembers a finished call if it was slow.
func (r *Registry) Ended(c *Call, code codes.Code, took time.Duration) {
	if c.id > 0 && r.slow.wants(c.Began, took) {
		r.slow.add(r.ended(c, code, took))
	}
}

// Forget forgets the calls that have ended.
func (r *Registry) Forget() { r.slow.forget() }

// Cancel ends a call under way that visible approves of. by says who does, such as
// token "loader".
func (r *Registry) Cancel(id uint64, by string, visible func(*access.Token) bool) error {
	s := &r.shards[id%shards]
	s.mu.Lock()
	c := s.calls[id]
	s.mu.Unlock()
	if c == nil || !visible(c.Token.Load()) {
		return status.Errorf(codes.NotFound, "no call under way has the id %d; it may have ended", id)
	}
	c.cancelled.CompareAndSwap(nil, &by)
	c.running.end(context.Canceled)
	return nil
}

// List is the calls that visible approves of.
func (r *Registry) List(now time.Time, visible func(*access.Token) bool) activity.Calls {
	var all activity.Calls
	for i := range r.shards {
		s := &r.shards[i]
		s.mu.Lock()
		for _, c := range s.calls {
			if visible(c.Token.Load()) {
				all.Running = append(all.Running, r.message(c, now.Sub(c.Began)))
			}
		}
		s.mu.Unlock()
	}
	slices.SortFunc(all.Running, func(a, b activity.Call) int { return cmp.Compare(a.ID, b.ID) })
	for _, e := range r.slow.list(now) {
		if visible(e.token) {
			all.Slow = append(all.Slow, e.Call)
		}
	}
	return all
}

// Table is the table of a call, as the database names it, "" without one.
func (r *Registry) Table(c *Call) string {
	if t := c.Table.Load(); t != nil {
		return *t
	}
	if request := c.Request.Load(); request != nil && r.TableOf != nil {
		return r.TableOf(request)
	}
	return ""
}

func (r *Registry) message(c *Call, took time.Duration) activity.Call {
	m := activity.Call{
		ID: c.id, Method: c.Method, Began: c.Began, Took: max(0, took),
		RowsRead: c.rows.Load(), CellsRead: c.cells.Load(), RowsWritten: c.written.Load(),
	}
	if request := c.Request.Load(); request != nil && r.Describe != nil {
		m.Rows = r.Describe(request)
	}
	m.Table = r.Table(c)
	if t := c.Token.Load(); t != nil {
		m.Token = t.Name
	}
	if c.Peer != nil {
		m.Peer = c.Peer.String()
	}
	return m
}

func (r *Registry) ended(c *Call, code codes.Code, took time.Duration) ended {
	m := r.message(c, took)
	m.Code, m.Table, m.Rows = code.String(), strings.Clone(m.Table), strings.Clone(m.Rows) // they may be parts of the request
	return ended{m, c.Token.Load()}
}
