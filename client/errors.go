package client

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/query"
)

// kindOf maps codes onto the kinds of errors.
var kindOf = map[codes.Code]query.Kind{
	codes.NotFound:           query.KindNotFound,
	codes.AlreadyExists:      query.KindAlreadyExists,
	codes.InvalidArgument:    query.KindInvalidArgument,
	codes.OutOfRange:         query.KindInvalidArgument,
	codes.Unimplemented:      query.KindFailedPrecondition,
	codes.FailedPrecondition: query.KindFailedPrecondition,
	codes.Unauthenticated:    query.KindFailedPrecondition,
	codes.PermissionDenied:   query.KindFailedPrecondition,
	codes.Aborted:            query.KindConflict,
	codes.DataLoss:           query.KindCorruption,
	codes.ResourceExhausted:  query.KindResourceExhausted,
	codes.Unavailable:        query.KindUnavailable,
	codes.Unknown:            query.KindUnknownOutcome,
	codes.Canceled:           query.KindCanceled,
	codes.DeadlineExceeded:   query.KindCanceled,
}

// clientError turns an error of a call into an error of package query; nil stays
// nil.
func clientError(op, table, row string, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*query.Error](err); ok {
		return e
	}
	e := &query.Error{Op: op, Table: table, Row: row, Kind: kindOf[status.Code(err)], Err: errors.New("")}
	switch code := status.Code(err); {
	case code == codes.Canceled && status.Convert(err).Message() == context.Canceled.Error(): // not by the server
		e.Err = context.Canceled
	case code == codes.DeadlineExceeded:
		e.Err = context.DeadlineExceeded
	default: // the server's database may have named the operation already
		e.Err = errors.New(strings.TrimPrefix(wire.StatusText(err), e.Error()))
	}
	if _, why, ok := strings.Cut(e.Err.Error(), query.ErrChangesGone.Error()); ok && status.Code(err) == codes.OutOfRange {
		e.Kind, e.Err = query.KindFailedPrecondition, fmt.Errorf("%w%s", query.ErrChangesGone, why)
	}
	return e
}
