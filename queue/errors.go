package queue

import (
	"errors"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/rowmap"
)

// The errors of this package, for errors.Is. [query.KindOf] gives the kind of an error.
var (
	// ErrDuplicate is of kind AlreadyExists: there is an item with the unique key.
	ErrDuplicate = errors.New("an item with this unique key exists")
	// ErrLeaseLost is of kind FailedPrecondition: the lease of a job expired and the
	// item was taken again, or the item was completed, returned or cancelled.
	ErrLeaseLost = errors.New("the lease is lost")
	// ErrNotFound is of kind NotFound, and matches [query.ErrNotFound] too: there is no
	// such item, zone or schedule.
	ErrNotFound = errors.New("not in the queue")
	// ErrCanceled is the cause of the end of a job's context when the item was
	// cancelled.
	ErrCanceled = errors.New("the item was cancelled")
)

var kinds = rowmap.Kinds{
	ErrDuplicate: query.KindAlreadyExists, ErrLeaseLost: query.KindFailedPrecondition,
	ErrNotFound: query.KindNotFound, ErrCanceled: query.KindCanceled,
}

var errNil = rowmap.Fault(query.KindInvalidArgument, "the queue is nil or has no database; New gives a queue")

// fail is the error of a call of the package about a name, which may be empty.
func fail(op, name string, err error) error {
	if name == "" {
		return kinds.Fail(op, err)
	}
	return kinds.Fail(op, err, name)
}
