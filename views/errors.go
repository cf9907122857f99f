package views

import (
	"context"
	"errors"
	"fmt"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/sql"
)

// A Refusal is why a call failed, without the call itself: the cause of a [query.Error].
type Refusal struct{ err error }

func (r *Refusal) Error() string { return r.err.Error() }

// Unwrap gives the cause of the cause, if there is one.
func (r *Refusal) Unwrap() error { return errors.Unwrap(r.err) }

func refuse(kind query.Kind, format string, args ...any) error {
	return &query.Error{Op: "views", Kind: kind, Err: &Refusal{fmt.Errorf(format, args...)}}
}

// kindOfError is the kind of an error of the database, or of the context.
func kindOfError(err error) query.Kind {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return query.KindCanceled
	}
	return query.KindOf(err)
}

// named returns an error of an operation. A fault of a query is of the kind
// KindInvalidArgument.
func named(op string, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*query.Error](err); ok {
		if _, own := e.Err.(*Refusal); own {
			return &query.Error{Op: op, Kind: e.Kind, Err: e.Err}
		}
		return e
	}
	kind := kindOfError(err)
	if _, fault := errors.AsType[*sql.Error](err); fault {
		kind = query.KindInvalidArgument
	}
	return &query.Error{Op: op, Kind: kind, Err: err}
}

// NotFound is the error for a materialized view that does not exist.
func NotFound(full string) error {
	return refuse(query.KindNotFound, "materialized view %q not found", full)
}
