package catalog

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/query"
)

// codeOf maps the kinds of errors onto codes. Clients try again after
// Unavailable and Aborted, so that only a conflict is one of these.
var codeOf = map[query.Kind]codes.Code{
	query.KindInternal:           codes.Internal,
	query.KindNotFound:           codes.NotFound,
	query.KindAlreadyExists:      codes.AlreadyExists,
	query.KindInvalidArgument:    codes.InvalidArgument,
	query.KindFailedPrecondition: codes.FailedPrecondition,
	query.KindConflict:           codes.Aborted,
	query.KindCorruption:         codes.DataLoss,
	query.KindBusy:               codes.FailedPrecondition,
	query.KindUnavailable:        codes.ResourceExhausted, // no space, above all
	query.KindUnknownOutcome:     codes.Unknown,
	query.KindResourceExhausted:  codes.InvalidArgument, // a documented limit
	query.KindCanceled:           codes.Canceled,
}

// Status makes a status of an error of the database. A status stays as it is, and nil
// stays nil.
func Status(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if own, ok := errors.AsType[interface {
		error
		GRPCStatus() *status.Status
	}](err); ok {
		return own
	}
	if ctxErr := ctx.Err(); ctxErr != nil {
		return status.FromContextError(ctxErr).Err()
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return status.FromContextError(err).Err()
	}
	return status.Error(codeOf[query.KindOf(err)], err.Error())
}
