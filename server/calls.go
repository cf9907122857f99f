package server

import (
	"context"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/server/internal/access"
	"github.com/smolwc/smolwc/server/internal/account"
)

// A call is a call under way, for the log of calls, the metrics and the limits.
type call struct {
	method string        // service/Method
	conn   *account.Conn // nil when the listener is not the server's own
	peer   net.Addr
	table  atomic.Pointer[string] // as the database names it
	token  atomic.Pointer[string] // its name; nil without one
	does   atomic.Uint32          // the operation

	arrived  bool  // its request has
	held     int64 // bytes of it
	refused  error // why it was not decoded
	in, out  atomic.Int64
	messages atomic.Int64 // sent ones
}

type callKey struct{}

func callOf(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

// A watcher sees every call from its beginning to its end, also calls that reach
// no handler. It implements stats.Handler.
type watcher struct{ s *Server }

func (w watcher) TagRPC(ctx context.Context, info *stats.RPCTagInfo) context.Context {
	c := w.newCall(ctx, info.FullMethodName)
	c.conn = account.ConnOf(ctx)
	c.conn.Speaks()
	return context.WithValue(ctx, callKey{}, c)
}

func (w watcher) newCall(ctx context.Context, method string) *call {
	c := &call{method: strings.TrimPrefix(method, "/")}
	if !access.Known(method) {
		c.method = "unknown" // a client can make up any name
	}
	if p, ok := peer.FromContext(ctx); ok {
		c.peer = p.Addr
	}
	return c
}

// turnedAway counts and logs a call that ends with its headers.
func (w watcher) turnedAway(ctx context.Context, method string, token *access.Token, err error) {
	c := w.newCall(ctx, method)
	if token != nil {
		c.token.Store(&token.Name)
	}
	w.s.metrics.begin(c.method)
	w.s.metrics.end(c.method, otherOperation, status.Code(err), 0, 0, 0)
	w.s.logCall(ctx, c, err, status.Code(err), 0)
}

// HandleRPC notes the events of a call.
func (w watcher) HandleRPC(ctx context.Context, e stats.RPCStats) {
	c := callOf(ctx)
	switch e := e.(type) {
	case *stats.Begin:
		w.s.metrics.begin(c.method)
		c.conn.Awaits()
	case *stats.InPayload:
		c.in.Add(int64(e.WireLength))
		if !c.arrived {
			d := w.s.codec.Take(e.Payload)
			c.arrived, c.held, c.refused = true, int64(e.Length)+d.Bytes, d.Err
			c.conn.Arrived(int64(e.WireLength), c.held)
			w.s.conns.Unreserve(d.Reserved)
		}
	case *stats.OutPayload:
		c.out.Add(int64(e.WireLength))
		c.messages.Add(1)
	case *stats.End:
		c.conn.Ended(c.arrived, c.held)
		w.s.conns.EndedWith(c.held)
		took := e.EndTime.Sub(e.BeginTime)
		code := status.Code(e.Error)
		w.s.metrics.end(c.method, operation(c.does.Load()), code, took, c.in.Load(), c.out.Load())
		w.s.logCall(ctx, c, e.Error, code, took)
	}
}

// TagConn finds the connection among those that the listener accepted.
func (w watcher) TagConn(ctx context.Context, info *stats.ConnTagInfo) context.Context {
	if c := w.s.conns.Find(info.RemoteAddr); c != nil {
		return c.With(ctx)
	}
	return ctx
}

// HandleConn does nothing: the listener knows when connections end.
func (watcher) HandleConn(context.Context, stats.ConnStats) {}

// logCall writes the line of a call that has ended. A call that failed by a fault
// of the server is a warning; the others are logged at the level of info.
func (s *Server) logCall(ctx context.Context, c *call, err error, code codes.Code, took time.Duration) {
	level := slog.LevelInfo
	switch code {
	case codes.Internal, codes.Unknown, codes.DataLoss:
		level = slog.LevelWarn
	}
	if !s.logger.Enabled(ctx, level) {
		return
	}
	attrs := make([]slog.Attr, 0, 9)
	attrs = append(attrs, slog.String("method", c.method), slog.String("code", code.String()), slog.Duration("duration", took),
		slog.Int64("received", c.in.Load()), slog.Int64("sent", c.out.Load()))
	if c.peer != nil {
		attrs = append(attrs, slog.String("peer", c.peer.String()))
	}
	if t := c.table.Load(); t != nil {
		attrs = append(attrs, slog.String("table", *t))
	}
	if t := c.token.Load(); t != nil {
		attrs = append(attrs, slog.String("token", *t))
	}
	if err != nil {
		attrs = append(attrs, slog.String("error", status.Convert(err).Message()))
	}
	s.logger.LogAttrs(ctx, level, "call", attrs...)
}
