package query

import (
	"errors"
	"strconv"
	"strings"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/internal/excerpt"
	"github.com/smolwc/smolwc/query/internal/fault"
)

// A Kind says what sort of failure an [Error] is, and so how a caller can react.
// The kinds map one to one onto gRPC codes.
type Kind int

// The kinds of errors, in the order of package fault.
const (
	KindInternal           Kind = iota // a fault of smolwc
	KindNotFound                       // no such table or family
	KindAlreadyExists                  // the table or family is there
	KindInvalidArgument                // the call is wrong and will be wrong again
	KindFailedPrecondition             // the database is not in the state that the call needs
	KindConflict                       // another update came between; try again
	KindCorruption                     // bytes on disk are not what was written
	KindBusy                           // the database is in use, by another process or by this one
	KindUnavailable                    // the engine cannot do it now: no space, no rights, closed
	KindUnknownOutcome                 // a commit may or may not have taken effect
	KindResourceExhausted              // a documented limit would be passed
	KindCanceled                       // the context was done
)

// String is the kind in words.
func (k Kind) String() string { return fault.Kind(k).String() }

// An Error is the error of every function of this package.
type Error struct {
	Op    string // what was being done: "read rows"
	Table string // "" when no table is concerned
	Row   string // the row key, "" when no single row is concerned
	Kind  Kind
	Err   error // the cause; never nil
}

// Error is the operation, the table and row, and the cause.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Op)
	if e.Table != "" {
		b.WriteString(" " + e.Table)
	}
	if e.Row != "" {
		b.WriteString(" " + strconv.Quote(excerpt.Of(e.Row)))
	}
	cause := e.Kind.String()
	if e.Err != nil {
		cause = e.Err.Error()
	}
	b.WriteString(": " + cause)
	return b.String()
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error {
	return e.Err
}

// Is makes every error of kind [KindNotFound] match [ErrNotFound].
func (e *Error) Is(target error) bool {
	return e != nil && target == ErrNotFound && e.Kind == KindNotFound
}

// ErrNotFound matches, with errors.Is, the error for a table or family that does not
// exist.
var ErrNotFound = errors.New("not found")

// ErrReadOnly matches, with errors.Is, the error of an operation that needs the
// database open for writing.
var ErrReadOnly = cf.ErrReadOnly

// ErrNoEngine matches, with errors.Is, the error of [Open] and [OpenReadOnly] for a
// database on RocksDB in a program that was built without it.
var ErrNoEngine = errors.New("the database is on RocksDB, which this build does not have; a build for Linux with CGO_ENABLED=1, a C and a C++ compiler and librocksdb-dev opens it, and its smolwc copy --engine pebble moves it")

// KindOf is the kind of an error of this package or of [write.From], [KindInternal] for any
// other.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok && e != nil {
		return e.Kind
	}
	kind, _ := fault.Named(err)
	return Kind(kind)
}

// fail wraps an error for a public function; nil stays nil and an Error stays itself.
func fail(op, table, row string, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Op: op, Table: table, Row: row, Kind: Kind(fault.KindOf(err)), Err: err}
}
