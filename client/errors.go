package client

import (
	"context"
	"errors"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/internal/wire"
	"github.com/smolwc/smolwc/query"
)

// kindOf maps codes onto the kinds of errors.
var kindOf = map[codes.Code]query.Kind{
	codes.NotFound:           query.NotFound,
	codes.AlreadyExists:      query.AlreadyExists,
	codes.InvalidArgument:    query.InvalidArgument,
	codes.OutOfRange:         query.InvalidArgument,
	codes.Unimplemented:      query.FailedPrecondition,
	codes.FailedPrecondition: query.FailedPrecondition,
	codes.Unauthenticated:    query.FailedPrecondition,
	codes.PermissionDenied:   query.FailedPrecondition,
	codes.Aborted:            query.Conflict,
	codes.DataLoss:           query.Corruption,
	codes.ResourceExhausted:  query.ResourceExhausted,
	codes.Unavailable:        query.Unavailable,
	codes.Unknown:            query.UnknownOutcome,
	codes.Canceled:           query.Canceled,
	codes.DeadlineExceeded:   query.Canceled,
}

// clientError is what a call returned as an error of package query; nil stays
// nil.
func clientError(op, table, row string, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*query.Error](err); ok {
		return e
	}
	e := &query.Error{Op: op, Table: table, Row: row, Kind: kindOf[status.Code(err)], Err: errors.New("")}
	switch status.Code(err) {
	case codes.Canceled:
		e.Err = context.Canceled
	case codes.DeadlineExceeded:
		e.Err = context.DeadlineExceeded
	default: // the server's database may have said already what the call was about
		e.Err = errors.New(strings.TrimPrefix(wire.StatusText(err), e.Error()))
	}
	return e
}
