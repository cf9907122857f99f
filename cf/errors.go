package cf

import (
	"errors"
	"fmt"
)

// The kinds of failure that an engine reports; an error wraps one of them.
var (
	// ErrBusy: another process has the database open.
	ErrBusy = errors.New("in use by another process")
	// ErrOpenHere: this process has the database open, perhaps under another
	// spelling of its path.
	ErrOpenHere = errors.New("open in this process already")
	// ErrCorrupt: bytes on disk are not what was written.
	ErrCorrupt = errors.New("data is corrupt")
	// ErrNotExist: there is no database, or no such family.
	ErrNotExist = errors.New("does not exist")
	// ErrReadOnly: the store was opened for reading.
	ErrReadOnly = errors.New("opened read-only")
	// ErrTooLarge: a batch or an item is beyond the engine's [Limits].
	ErrTooLarge = errors.New("too large")
	// ErrUnavailable: the engine cannot do it now, for want of space or rights.
	ErrUnavailable = errors.New("unavailable")
	// ErrUnknownOutcome: a commit may or may not have taken effect.
	ErrUnknownOutcome = errors.New("unknown outcome")
	// ErrConflict: what a transaction read has been changed by another commit.
	ErrConflict = errors.New("conflict with another commit")
	// ErrClosed: the store has been closed.
	ErrClosed = errors.New("closed")
)

// A StallError is a write that was not made, because the store took none for as
// long as its context lived: flushes or compactions have fallen behind. Nothing
// was written. It matches [ErrUnavailable] and the context's error.
type StallError struct {
	State StallState
	// Family is the one that is furthest behind, with the files that its
	// compaction has to begin with, its memory that waits to become files,
	// and the bytes that compactions have yet to rewrite.
	Family           string
	Files, Memtables int64
	Pending          int64
	Err              error // of the context
}

func (e *StallError) Error() string {
	state := e.State
	if state == NotStalled { // just now
		state = Delayed
	}
	return fmt.Sprintf("%v: writes are %v: family %s has %d bytes of compactions pending, %d files at level 0 and %d memtables to flush; nothing was written: %v",
		ErrUnavailable, state, e.Family, e.Pending, e.Files, e.Memtables, e.Err)
}

// Unwrap gives both the kind and the cause.
func (e *StallError) Unwrap() []error { return []error{ErrUnavailable, e.Err} }

// A CorruptCell is a key or value in a family that does not decode. It matches
// [ErrCorrupt].
type CorruptCell struct {
	Family string
	Key    []byte // the physical key
	Err    error
}

func (e *CorruptCell) Error() string {
	return fmt.Sprintf("family %s, key %x: %v: %v", e.Family, e.Key, ErrCorrupt, e.Err)
}

// Unwrap gives both the kind and the cause.
func (e *CorruptCell) Unwrap() []error { return []error{ErrCorrupt, e.Err} }
