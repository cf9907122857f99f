package bigtable

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query"
)

const op = "copy"

func newError(kind query.Kind, table, format string, args ...any) error {
	return &query.Error{Op: op, Table: table, Kind: kind, Err: fmt.Errorf(format, args...)}
}

// refused is the error of a copy that cannot be made of this source, or into this target.
func refused(table, format string, args ...any) error {
	return newError(query.KindFailedPrecondition, table, format, args...)
}

// invalid is the error of options that are wrong.
func invalid(format string, args ...any) error {
	return newError(query.KindInvalidArgument, "", format, args...)
}

// kinds are the kinds of the codes with which a source refuses a call; other codes mean
// that it cannot be read now.
var kinds = map[codes.Code]query.Kind{
	codes.NotFound:           query.KindNotFound,
	codes.InvalidArgument:    query.KindInvalidArgument,
	codes.FailedPrecondition: query.KindFailedPrecondition,
	codes.OutOfRange:         query.KindFailedPrecondition,
	codes.Unimplemented:      query.KindFailedPrecondition,
	codes.Unauthenticated:    query.KindFailedPrecondition,
	codes.PermissionDenied:   query.KindFailedPrecondition,
	codes.DataLoss:           query.KindCorruption,
}

// sourceError is an error of a call to the source. The end of the caller's context is
// itself.
func sourceError(ctx context.Context, place string, google bool, table string, err error) error {
	if _, ok := errors.AsType[*query.Error](err); ok || err == nil {
		return err
	}
	if ctx.Err() != nil {
		return canceled(ctx, table)
	}
	code := status.Code(err)
	kind, ok := kinds[code]
	if !ok {
		kind = query.KindUnavailable
	}
	hint := ""
	switch {
	case code == codes.OutOfRange:
		hint = "; copy into a new database"
	case !google && code == codes.Unauthenticated:
		hint = "; smolwc copy sends the token in $SMOLWC_TOKEN"
	case !google:
	case code == codes.Unauthenticated:
		hint = "; the credentials are those of gcloud auth application-default login, or of the file in $GOOGLE_APPLICATION_CREDENTIALS"
	case code == codes.PermissionDenied:
		hint = "; reading needs the role roles/bigtable.reader"
	}
	return newError(kind, table, "%s answers %s: %s%s", place, code, wire.StatusText(err), hint)
}

func canceled(ctx context.Context, table string) error {
	return &query.Error{Op: op, Table: table, Kind: query.KindCanceled, Err: ctx.Err()}
}

// written is the error of a write to the target; after the end of the caller's context
// its outcome does not matter, as the next copy writes the rows again.
func written(ctx context.Context, table string, err error) error {
	if errors.Is(err, cf.ErrUnknownOutcome) && ctx.Err() != nil {
		return canceled(ctx, table)
	}
	return err
}

// faultOf is the error of a row of an answer that cannot be copied.
func faultOf(table, row, format string, args ...any) error {
	return &query.Error{Op: op, Table: table, Row: row, Kind: query.KindFailedPrecondition, Err: fmt.Errorf(format, args...)}
}
