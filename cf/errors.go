package cf

import (
	"errors"
	"fmt"
)

// The kinds of failure that an engine reports; an error wraps one of them.
var (
	// ErrBusy: the database is open in another process.
	ErrBusy = errors.New("in use by another process")
	// ErrOpenHere: the database is already open in this process, perhaps under another
	// spelling of its path.
	ErrOpenHere = errors.New("open in this process already")
	// ErrCorrupt: bytes on disk are not those that were written.
	ErrCorrupt = errors.New("data is corrupt")
	// ErrNotExist: there is no database, or no such family.
	ErrNotExist = errors.New("does not exist")
	// ErrReadOnly: the store was opened for reading.
	ErrReadOnly = errors.New("the database is opened read-only")
	// ErrTooLarge: a batch or an item is beyond the engine's [Limits].
	ErrTooLarge = errors.New("too large")
	// ErrUnavailable: the engine cannot do it now; the disk is full or access is
	// denied, for example.
	ErrUnavailable = errors.New("unavailable")
	// ErrUnknownOutcome: a commit may or may not have taken effect.
	ErrUnknownOutcome = errors.New("unknown outcome")
	// ErrNotAcknowledged: a commit took effect in this store, and no standby
	// acknowledged it. It matches ErrUnknownOutcome: a server without the commit may be
	// promoted.
	ErrNotAcknowledged = fmt.Errorf("%w", ErrUnknownOutcome)
	// ErrConflict: another commit changed rows that a transaction read.
	ErrConflict = errors.New("conflict with another commit")
	// ErrClosed: the store is closed.
	ErrClosed = errors.New("closed")
)

// A StallError is the error of a write whose context ended while the store took no
// writes, because flushes or compactions had fallen behind. Nothing was written. It
// matches [ErrUnavailable] and the context's error.
type StallError struct {
	State StallState
	// Family is the family that is furthest behind. Files are its files at level 0,
	// Memtables its write buffers that wait to be flushed, and Pending the bytes that
	// compactions have yet to rewrite.
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

// A CorruptCell is a key or value of a family that cannot be decoded. It matches
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
