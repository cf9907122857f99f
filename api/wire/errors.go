package wire

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Invalid is the error of a request that is wrong.
func Invalid(format string, args ...any) error {
	return status.Errorf(codes.InvalidArgument, format, args...)
}

// StatusText is an error's message without its code.
func StatusText(err error) string { return status.Convert(err).Message() }
