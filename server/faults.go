package server

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// invalid is the fault of a request.
func invalid(format string, args ...any) error {
	return status.Errorf(codes.InvalidArgument, format, args...)
}

// statusText is an error's message without its code.
func statusText(err error) string { return status.Convert(err).Message() }
