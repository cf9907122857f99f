package directory

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/smolwc/smolwc/internal/excerpt"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/rowmap"
)

// The errors of this package, for errors.Is. [query.KindOf] gives the kind of an error.
var (
	// ErrNotFound has the kind NotFound, and matches [query.ErrNotFound] too.
	ErrNotFound = errors.New("the directory does not exist")
	// ErrExists has the kind AlreadyExists.
	ErrExists = errors.New("the directory exists already")
	// ErrLayer has the kind FailedPrecondition: the directory was created with another
	// layer.
	ErrLayer = errors.New("the directory has another layer")
	// ErrStale has the kind FailedPrecondition: the directory that the call was made on
	// has been moved or removed since it was found.
	ErrStale = errors.New("the directory was moved or removed; open it again by its path")
	// ErrRoot has the kind InvalidArgument: the root cannot be opened, moved or
	// removed, and has no key space.
	ErrRoot = errors.New("the root directory always exists, and has no rows")
	// ErrPartition has the kind InvalidArgument: a partition has no rows itself, and a
	// directory cannot be moved into or out of one.
	ErrPartition = errors.New("a partition is a boundary")
	// ErrPrefixInUse has the kind FailedPrecondition: a directory has the prefix, or a
	// prefix that begins with it or that it begins with; or a row key begins with it.
	ErrPrefixInUse = errors.New("the prefix is in use")
	// ErrVersion has the kind FailedPrecondition: a newer directory layer has written
	// the directories.
	ErrVersion = errors.New("the directories have a newer version")
)

var kinds = rowmap.Kinds{
	ErrNotFound: query.KindNotFound, ErrExists: query.KindAlreadyExists, ErrLayer: query.KindFailedPrecondition,
	ErrStale: query.KindFailedPrecondition, ErrRoot: query.KindInvalidArgument, ErrPartition: query.KindInvalidArgument,
	ErrPrefixInUse: query.KindFailedPrecondition, ErrVersion: query.KindFailedPrecondition,
}

var errNil = rowmap.Fault(query.KindInvalidArgument, "the directory is nil; New gives the root")

// destination says that an error is about the new path of a move.
func destination(path []string, err error) error {
	return fmt.Errorf("to %s: %w", strconv.Quote(excerpt.Of(cmp.Or(strings.Join(path, "/"), "/"))), err)
}
