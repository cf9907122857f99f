package client

import (
	"context"
	"strings"
	"sync"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/api/wire"
)

// A Session makes reads see earlier writes, also if the reads are made at a standby: each
// read of a [Client] with the session waits until the server holds the writes of
// clients with the session, for 10 s at most. Its zero value is ready. It is safe for
// concurrent use.
type Session struct {
	mu sync.Mutex
	at wire.Position
}

// Position is the position of the newest write, "" before the first one. A session of
// another process goes on with it.
func (s *Session) Position() string {
	if s == nil {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at.String()
}

// Follow makes later reads see the writes up to a position given by another session.
func (s *Session) Follow(text string) error {
	p, err := wire.ParsePosition(text)
	if err == nil && s == nil {
		err = wire.Invalid("the session is nil")
	}
	if err != nil {
		return clientError("follow", "", "", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.After(s.at) {
		s.at = p
	}
	return nil
}

// Forget makes later reads wait for no write. It is for a session whose writes were lost
// with a primary.
func (s *Session) Forget() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at = wire.Position{}
}

// heard takes the position that a server sent with an answer.
func (s *Session) heard(trailer metadata.MD) {
	for _, text := range trailer.Get(wire.PositionHeader) {
		_ = s.Follow(text) // a server that says something else knows no positions
	}
}

// headers are the headers of a call.
func (s *Session) headers(ctx context.Context, method string) context.Context {
	reads := strings.HasPrefix(method, "/"+bigtablepb.Bigtable_ServiceDesc.ServiceName+"/") || method == smolwcpb.Statements_RunStatement_FullMethodName
	if at := s.Position(); at != "" && reads {
		return metadata.AppendToOutgoingContext(ctx, wire.PositionHeader, at)
	}
	return ctx
}

func (s *Session) unary(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	var trailer metadata.MD
	err := invoke(s.headers(ctx, method), method, req, reply, cc, append(opts, grpc.Trailer(&trailer))...)
	s.heard(trailer)
	return err
}

func (s *Session) stream(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, stream grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	inner, err := stream(s.headers(ctx, method), desc, cc, method, opts...)
	if err != nil {
		return nil, err
	}
	return &sessionStream{inner, s}, nil
}

// A sessionStream hears the position at the end of a stream.
type sessionStream struct {
	grpc.ClientStream
	session *Session
}

// RecvMsg implements [grpc.ClientStream].
func (s *sessionStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if err != nil {
		s.session.heard(s.Trailer())
	}
	return err
}

// Async makes the writes with a context return without waiting for a standby, whatever the
// semi-sync mode of the server.
func Async(ctx context.Context) context.Context { return SemiSync(ctx, "off") }

// SemiSync makes the writes with a context wait for a standby as a mode says: off, degrade or
// strict, whatever the mode of the server. A nil context stays nil.
func SemiSync(ctx context.Context, mode string) context.Context {
	if ctx == nil {
		return nil
	}
	return metadata.AppendToOutgoingContext(ctx, wire.SemiSyncHeader, mode)
}
