package server

import (
	"context"
	"runtime/debug"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/server/internal/catalog"
)

// A panic in a call is a fault of smolwc. That call fails; the others continue.

func (s *Server) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (resp any, err error) {
	defer s.recovered(info.FullMethod, &err)
	resp, err = s.guard.unary(ctx, req, info, handler)
	return resp, catalog.Status(ctx, err)
}

func (s *Server) stream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) (err error) {
	defer s.recovered(info.FullMethod, &err)
	return catalog.Status(stream.Context(), s.guard.stream(srv, stream, info, handler))
}

func (s *Server) recovered(method string, err *error) {
	if p := recover(); p != nil {
		s.logger.Error("a call panicked", "method", method, "panic", p, "stack", string(debug.Stack()))
		*err = status.Errorf(codes.Internal, "%s panicked: %v", method, p)
	}
}
