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
	// ErrNotFound is of kind NotFound, and matches [query.ErrNotFound] too.
	ErrNotFound = errors.New("the directory does not exist")
	// ErrExists is of kind AlreadyExists.
	ErrExists = errors.New("the directory exists already")
	// ErrLayer is of kind FailedPrecondition: the directory was created with another
	// layer.
	ErrLayer = errors.New("the directory has another layer")
	// ErrStale is of kind FailedPrecondition: the directory that the call was made on
	// was moved or removed since it was found.
	ErrStale = errors.New("the directory was moved or removed; open it again by its path")
	// ErrRoot is of kind InvalidArgument: the root cannot be opened, moved or removed,
	// and is without a key space.
	ErrRoot = errors.New("the root directory always exists, and has no rows")
	// ErrPartition is of kind InvalidArgument: a partition itself holds no rows, and a
	// directory cannot be moved into or out of one.
	ErrPartition = errors.New("a partition is a boundary")
	// ErrPrefixInUse is of kind FailedPrecondition: the prefix is a directory's, begins
	// a directory's prefix or a row key, or begins with a directory's prefix.
	ErrPrefixInUse = errors.New("the prefix is in use")
	// ErrVersion is of kind FailedPrecondition: a newer directory layer wrote the
	// directories.
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
