package route

import (
	"context"
	"crypto/tls"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // the codec of the health service
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/server/internal/account"
)

// Links are the connections to servers made for one client connection, one for each
// server that it uses. So a server's limits for a connection apply to one client, and a
// client that is cut off takes no other client along.
type links struct {
	*account.Conn
	config *tls.Config

	mu     sync.Mutex
	conns  map[string]*grpc.ClientConn
	closed bool
}

type linksKey struct{}

func linksOf(ctx context.Context) *links {
	l, _ := ctx.Value(linksKey{}).(*links)
	return l
}

// How long a server may be silent until it is asked, and until its calls end.
const pingTime = 20 * time.Second

// to is the connection to a server. It connects with the first call.
func (l *links) to(addr string) (*grpc.ClientConn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c := l.conns[addr]; c != nil {
		return c, nil
	}
	if l.closed {
		return nil, status.Error(codes.Canceled, "the client has gone")
	}
	c, err := dial(addr, l.config)
	if err != nil {
		return nil, err
	}
	l.conns[addr] = c
	return c, nil
}

// dial makes a connection to a server. It connects with the first call.
func dial(addr string, config *tls.Config) (*grpc.ClientConn, error) {
	creds := insecure.NewCredentials()
	if config != nil {
		creds = credentials.NewTLS(config)
	}
	return grpc.NewClient(addr,
		grpc.WithTransportCredentials(creds),
		grpc.WithDisableServiceConfig(),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(codec{}), grpc.MaxCallRecvMsgSize(wire.MaxRequest), grpc.MaxCallSendMsgSize(wire.MaxRequest)),
		grpc.WithStaticStreamWindowSize(streamWindow), grpc.WithStaticConnWindowSize(connWindow),
		grpc.WithConnectParams(grpc.ConnectParams{MinConnectTimeout: 5 * time.Second, Backoff: backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second}}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: pingTime, Timeout: pingTime}))
}

func (l *links) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for _, c := range l.conns {
		_ = c.Close() // its calls have ended
	}
}

// A watcher gives connections their links, and counts calls. It implements
// [stats.Handler].
type watcher struct{ r *Router }

// TagConn implements [stats.Handler].
func (w watcher) TagConn(ctx context.Context, info *stats.ConnTagInfo) context.Context {
	c := w.r.conns.Find(info.RemoteAddr)
	if c == nil { // it was closed already
		c = w.r.conns.Guest()
	}
	l := &links{Conn: c, config: w.r.o.TLS, conns: map[string]*grpc.ClientConn{}}
	return context.WithValue(c.With(ctx), linksKey{}, l)
}

// HandleConn implements [stats.Handler].
func (w watcher) HandleConn(ctx context.Context, e stats.ConnStats) {
	if _, ended := e.(*stats.ConnEnd); ended {
		l := linksOf(ctx)
		l.Leave()
		l.close()
	}
}

// A tally counts a call for the metrics.
type tally struct {
	began   time.Time
	method  string
	server  string // that answered last; "" if no server was asked
	arrived bool
	held    int64
}

type tallyKey struct{}

func tallyOf(ctx context.Context) *tally { return ctx.Value(tallyKey{}).(*tally) }

// TagRPC implements [stats.Handler].
func (w watcher) TagRPC(ctx context.Context, info *stats.RPCTagInfo) context.Context {
	linksOf(ctx).Speaks()
	name := "unknown" // a client can make up any name
	if m := w.r.methods[info.FullMethodName]; m != nil {
		name = m.name
	}
	return context.WithValue(ctx, tallyKey{}, &tally{method: name})
}

// HandleRPC implements [stats.Handler].
func (w watcher) HandleRPC(ctx context.Context, e stats.RPCStats) {
	t, l := tallyOf(ctx), linksOf(ctx)
	switch e := e.(type) {
	case *stats.Begin:
		t.began = e.BeginTime
		l.Awaits()
		w.r.metrics.inFlight.Inc()
	case *stats.InPayload:
		if !t.arrived {
			t.arrived, t.held = true, int64(e.Length)
			l.Arrived(int64(e.WireLength), t.held)
		}
	case *stats.End:
		l.Ended(t.arrived, t.held)
		w.r.conns.EndedWith(t.held)
		w.r.metrics.ended(t, status.Code(e.Error), e.EndTime.Sub(t.began))
		if e.Error != nil {
			w.r.o.Logger.Debug("call", "method", t.method, "server", t.server, "code", status.Code(e.Error))
		}
	}
}

// A frame is a message as it came.
type frame struct{ data mem.BufferSlice }

// A codec passes frames through. Other messages belong to the health service.
type codec struct{}

// Name implements [encoding.CodecV2].
func (codec) Name() string { return "proto" }

// Marshal implements [encoding.CodecV2]. The frame keeps its bytes.
func (codec) Marshal(v any) (mem.BufferSlice, error) {
	if f, ok := v.(*frame); ok {
		f.data.Ref()
		return f.data, nil
	}
	return encoding.GetCodecV2("proto").Marshal(v)
}

// Unmarshal implements [encoding.CodecV2].
func (codec) Unmarshal(data mem.BufferSlice, v any) error {
	if f, ok := v.(*frame); ok {
		data.Ref()
		f.data = data
		return nil
	}
	return encoding.GetCodecV2("proto").Unmarshal(data, v)
}
