package query

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
)

// A Kind says what sort of failure an [Error] is, and so how a caller can react.
// The kinds map one to one onto gRPC codes.
type Kind int

// The kinds of errors.
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

var kindNames = [...]string{"internal", "not found", "already exists", "invalid argument", "failed precondition",
	"conflict", "corruption", "busy", "unavailable", "unknown outcome", "resource exhausted", "canceled"}

// String is the kind in words.
func (k Kind) String() string {
	if k >= 0 && int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "kind(" + strconv.Itoa(int(k)) + ")"
}

// An Error is what every function of this package returns when it fails.
type Error struct {
	Op    string // what was being done: "read rows"
	Table string // "" when no table is concerned
	Row   string // the row key, "" when no single row is concerned
	Kind  Kind
	Err   error // the cause; never nil
}

// Error is the operation, the table and row, and the cause.
func (e *Error) Error() string {
	if e == nil {
		return "<nil>"
	}
	var b strings.Builder
	b.WriteString(e.Op)
	if e.Table != "" {
		b.WriteString(" " + e.Table)
	}
	if e.Row != "" {
		b.WriteString(" " + strconv.Quote(shorten(e.Row)))
	}
	cause := e.Kind.String()
	if e.Err != nil {
		cause = e.Err.Error()
	}
	b.WriteString(": " + cause)
	return b.String()
}

// shorten keeps an error of a 4 KiB row key readable.
func shorten(key string) string {
	const most = 80
	if len(key) <= most {
		return key
	}
	return key[:most] + fmt.Sprintf("… (%d bytes)", len(key))
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error {
	if e == nil {
		return nil
	}
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

// ErrNoEngine matches, with errors.Is, the error of [Open], [OpenInMemory] and
// [OpenReadOnly] in a program that was built without cgo.
var ErrNoEngine = errors.New("this build has no local databases, which need RocksDB; one that has is built with CGO_ENABLED=1, a C and a C++ compiler, and librocksdb-dev")

// KindOf is the kind of an error of this package, [KindInternal] for any other.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok && e != nil {
		return e.Kind
	}
	return KindInternal
}

// fault is a cause with its kind, until the public function wraps it into an
// Error.
type fault struct {
	kind Kind
	err  error
}

func (f *fault) Error() string { return f.err.Error() }
func (f *fault) Unwrap() error { return f.err }

func faultf(kind Kind, format string, args ...any) error {
	return &fault{kind, fmt.Errorf(format, args...)}
}

// nilArgument is the error of a nil element in a list.
func nilArgument(what string, i int) error {
	return faultf(KindInvalidArgument, "%s %d is nil", what, i+1)
}

// given is an error when a required argument is missing.
func given(name string, there bool) error {
	if there {
		return nil
	}
	return faultf(KindInvalidArgument, "%s is nil", name)
}

// engineKinds maps the errors of the store below.
var engineKinds = []struct {
	err  error
	kind Kind
}{
	{context.Canceled, KindCanceled},
	{context.DeadlineExceeded, KindCanceled},
	{cf.ErrCorrupt, KindCorruption},
	{cells.ErrEncoding, KindCorruption},
	{cf.ErrBusy, KindBusy},
	{cf.ErrOpenHere, KindBusy},
	{cf.ErrNotExist, KindNotFound},
	{cf.ErrReadOnly, KindFailedPrecondition},
	{cf.ErrTooLarge, KindResourceExhausted},
	{cf.ErrConflict, KindConflict},
	{cf.ErrUnknownOutcome, KindUnknownOutcome},
	{cf.ErrUnavailable, KindUnavailable},
	{cf.ErrClosed, KindUnavailable},
}

func kindOf(err error) Kind {
	if f, ok := errors.AsType[*fault](err); ok {
		return f.kind
	}
	if _, ok := errors.AsType[*cf.StallError](err); ok {
		return KindUnavailable // though the context's end is what ended it
	}
	for _, k := range engineKinds {
		if errors.Is(err, k.err) {
			return k.kind
		}
	}
	return KindInternal
}

// fail wraps an error as that of a public function; nil stays nil and an Error
// stays itself.
func fail(op, table, row string, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	kind := kindOf(err)
	return &Error{Op: op, Table: table, Row: row, Kind: kind, Err: err}
}
