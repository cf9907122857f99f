// Package fault makes errors with a kind, which package query turns into its own
// error type at its API.
package fault

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
)

// A Kind says what sort of failure an error is, and so how a caller can react.
// The kinds map one to one onto gRPC codes.
type Kind int

// The kinds of errors, which package query describes.
const (
	Internal Kind = iota
	NotFound
	AlreadyExists
	InvalidArgument
	FailedPrecondition
	Conflict
	Corruption
	Busy
	Unavailable
	UnknownOutcome
	ResourceExhausted
	Canceled
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

// A fault is a cause with its kind.
type fault struct {
	kind Kind
	err  error
}

func (f *fault) Error() string { return f.err.Error() }
func (f *fault) Unwrap() error { return f.err }

// Errorf is an error with a kind and a text, as of fmt.Errorf.
func Errorf(kind Kind, format string, args ...any) error {
	return &fault{kind, fmt.Errorf(format, args...)}
}

// Of is err with a kind.
func Of(kind Kind, err error) error { return &fault{kind, err} }

// Nil is the error of a nil element in a list; i counts from 0.
func Nil(what string, i int) error {
	return Errorf(InvalidArgument, "%s %d is nil", what, i+1)
}

// Given is an error when a required argument is missing.
func Given(name string, there bool) error {
	if there {
		return nil
	}
	return Errorf(InvalidArgument, "%s is nil", name)
}

// engineKinds maps the errors of the store below.
var engineKinds = []struct {
	err  error
	kind Kind
}{
	{context.Canceled, Canceled},
	{context.DeadlineExceeded, Canceled},
	{cf.ErrCorrupt, Corruption},
	{cells.ErrEncoding, Corruption},
	{cf.ErrBusy, Busy},
	{cf.ErrOpenHere, Busy},
	{cf.ErrNotExist, NotFound},
	{cf.ErrReadOnly, FailedPrecondition},
	{cf.ErrTooLarge, ResourceExhausted},
	{cf.ErrConflict, Conflict},
	{cf.ErrCatalogChanged, Conflict},
	{cf.ErrUnknownOutcome, UnknownOutcome},
	{cf.ErrUnavailable, Unavailable},
	{cf.ErrClosed, Unavailable},
}

// Named is the kind that an error of this package was made with.
func Named(err error) (kind Kind, ok bool) {
	f, ok := errors.AsType[*fault](err)
	if !ok {
		return Internal, false
	}
	return f.kind, true
}

// KindOf is the kind of an error of this package or of the store, [Internal] for any
// other.
func KindOf(err error) Kind {
	if kind, ok := Named(err); ok {
		return kind
	}
	if _, ok := errors.AsType[*cf.StallError](err); ok {
		return Unavailable // although the end of the context caused it
	}
	for _, k := range engineKinds {
		if errors.Is(err, k.err) {
			return k.kind
		}
	}
	return Internal
}
