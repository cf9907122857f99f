package server

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/internal/excerpt"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/server/internal/access"
	"github.com/smolwc/smolwc/server/internal/account"
	"github.com/smolwc/smolwc/server/internal/calls"
)

// A watcher sees every call from its beginning to its end, also calls that reach
// no handler. It implements stats.Handler.
type watcher struct{ s *Server }

func (w watcher) TagRPC(ctx context.Context, info *stats.RPCTagInfo) context.Context {
	c := w.newCall(ctx, info.FullMethodName)
	c.Conn = account.ConnOf(ctx)
	c.Conn.Speaks()
	return c.With(w.s.beginSpan(ctx, c, headers{ctx}))
}

func (w watcher) newCall(ctx context.Context, method string) *calls.Call {
	c := &calls.Call{Method: strings.TrimPrefix(method, "/")}
	if !access.Known(method) {
		c.Method = "unknown" // a client can make up any name
	}
	if p, ok := peer.FromContext(ctx); ok {
		c.Peer = p.Addr
	}
	return c
}

// turnedAway counts and logs a call that ends with its headers.
func (w watcher) turnedAway(ctx context.Context, method string, token *access.Token, err error) {
	c := w.newCall(ctx, method)
	if token != nil {
		c.Token.Store(token)
	}
	w.s.metrics.begin(c.Method)
	w.s.metrics.end(c, otherOperation, status.Code(err), 0)
	w.s.logCall(ctx, c, err, status.Code(err), 0)
}

// HandleRPC notes the events of a call.
func (w watcher) HandleRPC(ctx context.Context, e stats.RPCStats) {
	c := calls.Of(ctx)
	switch e := e.(type) {
	case *stats.InHeader:
		c.Header = e.Header
	case *stats.Begin:
		c.Began = e.BeginTime
		w.s.metrics.begin(c.Method)
		c.Conn.Awaits()
	case *stats.InPayload:
		c.In.Add(int64(e.WireLength))
		if !c.Arrived {
			d := w.s.codec.Take(e.Payload)
			c.Arrived, c.Held, c.Refused = true, int64(e.Length)+d.Bytes, d.Err
			c.Conn.Arrived(int64(e.WireLength), c.Held)
			w.s.conns.Unreserve(d.Reserved)
		}
	case *stats.OutPayload:
		c.Out.Add(int64(e.WireLength))
	case *stats.End:
		c.Conn.Ended(c.Arrived, c.Held)
		w.s.conns.EndedWith(c.Held)
		took := e.EndTime.Sub(e.BeginTime)
		code := status.Code(e.Error)
		w.s.metrics.end(c, operationOf(c.Request.Load()), code, took)
		w.s.endSpan(c, e.Error, code)
		w.s.logCall(ctx, c, e.Error, code, took)
		if c.Method != changeStream {
			w.s.calls.Ended(c, code, took)
		}
	}
}

// changeStream is the method of the streams that last as long as their clients want.
const changeStream = "google.bigtable.v2.Bigtable/ReadChangeStream"

// TagConn finds the connection among those that the listener accepted. A connection of
// another listener, such as the console's, is a guest.
func (w watcher) TagConn(ctx context.Context, info *stats.ConnTagInfo) context.Context {
	c := w.s.conns.Find(info.RemoteAddr)
	if c == nil {
		c = w.s.conns.Guest()
	}
	return c.With(ctx)
}

// HandleConn notes the end of a guest. The listener knows when its own connections end.
func (watcher) HandleConn(ctx context.Context, e stats.ConnStats) {
	if _, ended := e.(*stats.ConnEnd); ended {
		account.ConnOf(ctx).Leave()
	}
}

// logCall logs a finished call. A call that failed by a fault of the server is a warning;
// the others are logged at the level of info.
func (s *Server) logCall(ctx context.Context, c *calls.Call, err error, code codes.Code, took time.Duration) {
	level := slog.LevelInfo
	switch code {
	case codes.Internal, codes.Unknown, codes.DataLoss:
		level = slog.LevelWarn
	}
	if !s.logger.Enabled(ctx, level) {
		return
	}
	attrs := make([]slog.Attr, 0, 9)
	attrs = append(attrs, slog.String("method", c.Method), slog.String("code", code.String()), slog.Duration("duration", took),
		slog.Int64("received", c.In.Load()), slog.Int64("sent", c.Out.Load()))
	if c.Peer != nil {
		attrs = append(attrs, slog.String("peer", c.Peer.String()))
	}
	if t := s.calls.Table(c); t != "" {
		attrs = append(attrs, slog.String("table", t))
	}
	if t := c.Token.Load(); t != nil {
		attrs = append(attrs, slog.String("token", t.Name))
	}
	if text := s.logged(err, code); text != "" {
		attrs = append(attrs, slog.String("error", text))
	}
	s.logger.LogAttrs(ctx, level, "call", attrs...)
}

// aboutData are the codes of errors that are about a client's request or stored data.
// Their texts can have row keys and values anywhere. In others these are quoted.
var aboutData = map[codes.Code]bool{codes.InvalidArgument: true, codes.FailedPrecondition: true, codes.OutOfRange: true, codes.Aborted: true}

// logged is the text of an error in the log.
func (s *Server) logged(err error, code codes.Code) string {
	switch {
	case err == nil, !s.logData && aboutData[code]:
		return ""
	case s.logData:
		return status.Convert(err).Message()
	}
	return excerpt.WithoutQuoted(status.Convert(err).Message())
}

// WithoutData is for [slog.HandlerOptions].ReplaceAttr: in the errors of databases and of
// calls, "…" stands for quoted text, such as row keys and values. Errors of connections
// stay as they are.
func WithoutData(_ []string, a slog.Attr) slog.Attr {
	err, ok := a.Value.Any().(error)
	if !ok {
		return a
	}
	said, call := status.FromError(err)
	if strings.HasPrefix(said.Message(), "connection error: ") { // gRPC quotes the network's error
		return a
	}
	if _, database := errors.AsType[*query.Error](err); !call && !database {
		return a
	}
	return slog.String(a.Key, excerpt.WithoutQuoted(err.Error()))
}
