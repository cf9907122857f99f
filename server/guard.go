package server

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
	"google.golang.org/protobuf/proto"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/server/internal/access"
	"github.com/smolwc/smolwc/server/internal/account"
	"github.com/smolwc/smolwc/server/internal/calls"
	"github.com/smolwc/smolwc/server/internal/catalog"
	"github.com/smolwc/smolwc/server/internal/codec"
)

// A guard runs before every handler: it limits the calls, and checks their tokens.
type guard struct {
	s         *Server
	calls     atomic.Int64
	followers atomic.Int64 // the ones from standbys
}

// A visit is a call admitted by the guard. leave ends it.
type visit struct {
	guard  *guard
	conn   *account.Conn      // counts the call; nil: not counted
	call   *calls.Call        // is listed; nil: it is not listed
	cancel context.CancelFunc // of a call that is not listed
}

func (v *visit) leave() {
	if v.call != nil {
		v.guard.s.calls.End(v.call)
	}
	if v.cancel != nil {
		v.cancel()
	}
	if v.conn != nil {
		v.conn.EndCall()
	}
	v.guard.calls.Add(-1)
}

// standbyCalls is before the names of the calls of standbys.
var standbyCalls = "/" + smolwcpb.Standbys_ServiceDesc.ServiceName + "/"

// enter counts a call as under way, bounds its time, and lists it if it is to be listed.
// The caller leaves in the end, unless there is an error.
func (g *guard) enter(ctx context.Context, method string, listed bool) (context.Context, visit, error) {
	if g.s.refuses.Load() && !strings.HasPrefix(method, standbyCalls) {
		return ctx, visit{}, status.Error(codes.Unavailable, "the server stops")
	}
	v := visit{guard: g}
	n := g.calls.Add(1)
	if !access.Free(method) {
		conn := account.ConnOf(ctx)
		if limit := g.s.limits.Calls; n > int64(limit) && !conn.Idle() {
			v.leave()
			return nil, v, status.Errorf(codes.Unavailable, "the server has %d calls under way and takes no more; try again", limit)
		}
		if !conn.BeginCall() {
			v.leave()
			return nil, v, status.Error(codes.Unavailable, "the server has no room for another call; try again when others have ended")
		}
		v.conn = conn
	}
	latest := time.Now().Add(g.s.limits.Deadline)
	if access.Unbounded(method) {
		latest = time.Time{} // it may take as long as its client waits
	}
	switch c := calls.Of(ctx); {
	case c != nil && listed && !access.Free(method):
		v.call = c
		ctx = g.s.calls.Begin(ctx, c, latest)
	case latest.IsZero():
		ctx, v.cancel = context.WithCancel(ctx)
	default:
		ctx, v.cancel = context.WithDeadline(ctx, latest)
	}
	if end := v.cancel; end != nil {
		forget := context.AfterFunc(g.s.cut, end)
		v.cancel = func() { forget(); end() }
	}
	return ctx, v, nil
}

// tap checks calls by their headers, before the server takes any bytes of their
// requests. gRPC answers calls of unknown methods.
func (g *guard) tap(ctx context.Context, info *tap.Info) (context.Context, error) {
	if !access.Known(info.FullMethodName) {
		return ctx, nil
	}
	token, err := g.s.access.Identify(ctx, info.FullMethodName)
	if err != nil {
		watcher{g.s}.turnedAway(ctx, info.FullMethodName, token, err)
		return ctx, err
	}
	return access.WithToken(ctx, token), nil
}

// token returns the token of an accepted call, nil for a call without a token. The
// token may have been revoked while the request arrived.
func (g *guard) token(ctx context.Context, method string) (*access.Token, error) {
	if !access.Known(method) {
		return nil, status.Errorf(codes.PermissionDenied, "there is no right to call %s", method)
	}
	token := access.TokenOf(ctx)
	if c := calls.Of(ctx); c != nil && token != nil {
		c.Token.Store(token)
	}
	return token, g.s.access.Check(token)
}

func (g *guard) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	ctx, v, err := g.enter(ctx, info.FullMethod, true)
	if err != nil {
		return nil, err
	}
	defer v.leave()
	token, err := g.token(ctx, info.FullMethod)
	if err != nil {
		return nil, err
	}
	if err := g.authorize(ctx, token, info.FullMethod, req); err != nil {
		return nil, err
	}
	if g.s.catalog.DB.Plumbing().Shared() && strings.HasPrefix(info.FullMethod, "/google.bigtable.admin.") {
		if err := g.s.admin.Reload(ctx); err != nil {
			return nil, err
		}
	}
	resp, err := g.answer(ctx, req, info, handler)
	return resp, catalog.Status(ctx, err)
}

// answer answers a call that may be made. It calls the other interceptors, since gRPC
// would make a function for each of them and each call.
func (g *guard) answer(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	if g.s.standbys != nil {
		return positions{g.s.standbys}.unary(ctx, req, info, handler)
	}
	return handler(ctx, req)
}

func (g *guard) stream(srv any, inner grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	// A stream in both directions waits for its client, and cannot be cancelled meanwhile.
	ctx, v, err := g.enter(inner.Context(), info.FullMethod, !info.IsClientStream)
	if err != nil {
		return err
	}
	defer v.leave()
	if strings.HasPrefix(info.FullMethod, standbyCalls) {
		g.followers.Add(1)
		defer g.followers.Add(-1)
	}
	token, err := g.token(ctx, info.FullMethod)
	if err != nil {
		return err
	}
	if info.FullMethod == grpc_health_v1.Health_Watch_FullMethodName {
		var cancel func()
		ctx, cancel = g.s.untilStopped(ctx)
		defer cancel()
	}
	s := &guardedStream{ServerStream: inner, guard: g, ctx: ctx, token: token, method: info.FullMethod}
	defer s.end()
	return catalog.Status(ctx, g.answerStream(srv, s, info, handler))
}

// answerStream is answer for a stream.
func (g *guard) answerStream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	if g.s.standbys != nil {
		return positions{g.s.standbys}.stream(srv, stream, info, handler)
	}
	return handler(srv, stream)
}

// lastWord is how long clients that watch the server's health have to receive the news
// that it stops.
const lastWord = 100 * time.Millisecond

// untilStopped is the context of a call that watches the server's health. Such a call
// lasts as long as its client, and would hold up a stopping server to the end of its
// grace period.
func (s *Server) untilStopped(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.closing, func() { time.AfterFunc(lastWord, cancel) })
	return ctx, func() { stop(); cancel() }
}

// authorize checks a token's rights to a request, and notes the request. Without a token
// everything is allowed.
func (g *guard) authorize(ctx context.Context, token *access.Token, method string, req any) error {
	c := calls.Of(ctx)
	if c != nil && c.Refused != nil {
		return c.Refused
	}
	if c != nil {
		c.Request.Store(req)
	}
	if token == nil {
		return nil
	}
	return access.Authorize(token, method, g.s.resources(req))
}

// A guardedStream checks rights when the request arrives, ends when its token is no
// longer valid, and waits only a limited time for a client that does not read.
type guardedStream struct {
	grpc.ServerStream
	guard  *guard
	ctx    context.Context
	token  *access.Token
	method string
	sent   int
	first  int64 // bytes of the first messages, which gRPC may have until the end
}

func (g *guardedStream) end() { account.ConnOf(g.ctx).Queue(-g.first) }

// Context implements grpc.ServerStream.
func (g *guardedStream) Context() context.Context { return g.ctx }

// RecvMsg implements grpc.ServerStream.
func (g *guardedStream) RecvMsg(m any) error {
	if err := g.ServerStream.RecvMsg(m); err != nil {
		return err
	}
	return g.guard.authorize(g.ctx, g.token, g.method, m)
}

// freeToSend is how many bytes of a stream gRPC queues before the next send blocks: 64
// KiB with the headers of messages.
const (
	freeToSend    = 64 << 10
	messageHeader = 5
)

// SendMsg implements grpc.ServerStream. Beyond the first few, a message is sent
// by another goroutine, so that the call can end, and release its memory, while
// gRPC waits for the client; the call's end makes gRPC give up.
func (g *guardedStream) SendMsg(m any) error {
	if err := g.guard.s.access.Check(g.token); err != nil {
		return err
	}
	n := messageSize(m)
	before := g.sent
	conn := account.ConnOf(g.ctx)
	if g.sent += messageHeader + n; before < freeToSend {
		conn.Queue(int64(n))
		g.first += int64(n)
		return g.ServerStream.SendMsg(m)
	}
	conn.Queue(int64(n))
	done := make(chan error, 1)
	go func() {
		defer conn.Queue(-int64(n))
		done <- g.ServerStream.SendMsg(m)
	}()
	late := time.NewTimer(g.guard.s.limits.SendTimeout)
	defer late.Stop()
	select {
	case err := <-done:
		return err
	case <-g.ctx.Done():
		return catalog.Status(g.ctx, g.ctx.Err())
	case <-late.C:
		conn.Stalled()
		return status.Errorf(codes.Unavailable, "the client has not read for %v; it may continue after the last row that it has", g.guard.s.limits.SendTimeout)
	}
}

func messageSize(m any) int {
	switch m := m.(type) {
	case *codec.Encoded:
		return m.Room()
	case proto.Message:
		return proto.Size(m)
	}
	return 0
}
