package catalog

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/plumbing"
	"github.com/smolwc/smolwc/server/internal/calls"
	"github.com/smolwc/smolwc/sql"
	"github.com/smolwc/smolwc/views"
)

// codeOf maps the kinds of errors onto codes. Clients retry after Unavailable and
// Aborted, so only a conflict is Aborted.
var codeOf = map[query.Kind]codes.Code{
	query.KindInternal:           codes.Internal,
	query.KindNotFound:           codes.NotFound,
	query.KindAlreadyExists:      codes.AlreadyExists,
	query.KindInvalidArgument:    codes.InvalidArgument,
	query.KindFailedPrecondition: codes.FailedPrecondition,
	query.KindConflict:           codes.Aborted,
	query.KindCorruption:         codes.DataLoss,
	query.KindBusy:               codes.FailedPrecondition,
	query.KindUnavailable:        codes.ResourceExhausted, // mostly: the disk is full
	query.KindUnknownOutcome:     codes.Unknown,
	query.KindResourceExhausted:  codes.InvalidArgument, // a documented limit
	query.KindCanceled:           codes.Canceled,
}

// OfViews turns an error of package views into a status: without the operation, which the
// client knows.
func OfViews(ctx context.Context, err error) error {
	if why, ok := errors.AsType[*views.Refusal](err); ok && query.KindOf(err) != query.KindCanceled {
		return status.Error(codeOf[query.KindOf(err)], why.Error())
	}
	if fault, ok := errors.AsType[*sql.Error](err); ok {
		return wire.Invalid("%s", fault)
	}
	return Status(ctx, err)
}

// Status turns an error of the database into a status. A status, nil and the error for
// [Catalog.Under] stay unchanged.
func Status(ctx context.Context, err error) error {
	if err == nil || errors.Is(err, plumbing.ErrSchemaChanged) {
		return err
	}
	if own, ok := errors.AsType[interface {
		error
		GRPCStatus() *status.Status
	}](err); ok {
		return own
	}
	if ctxErr := ctx.Err(); ctxErr != nil {
		if cancelled := calls.Of(ctx).Cancelled(); cancelled != nil {
			return cancelled
		}
		return status.FromContextError(ctxErr).Err()
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return status.FromContextError(err).Err()
	}
	return status.Error(codeOf[query.KindOf(err)], err.Error())
}
