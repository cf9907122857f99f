package cf

import (
	"context"
	"errors"
	"time"
)

// A store logs its commits. It can keep that log, and read the commits whose batches
// have notes.

// ErrTrimmed: the log of commits does not reach back to a position, or never had it.
var ErrTrimmed = errors.New("the log of changes does not have this position")

// A ChangeLog is the part of a [Store] that reads commits, in the order in which they
// took effect.
type ChangeLog interface {
	// KeepChanges keeps the log of all commits from now on, also when the store is
	// opened again. Of the commits already in the log, it keeps those made at since or
	// later; it may remove older ones. With the zero time it no longer keeps the log.
	// Changes reads it.
	KeepChanges(since time.Time) error
	// KeepsChanges reports whether the log is kept.
	KeepsChanges() bool
	// Changes reads the commits after a position whose batches had notes. If the log
	// does not reach back to the position, or ends before it, the error is ErrTrimmed.
	// The caller closes the Changes.
	Changes(after Position) (Changes, error)
	// ChangeStarts are positions throughout the log, ascending, where Changes can
	// begin: the first is before the first commit of the log, the last is not before the
	// newest commit.
	ChangeStarts() ([]Position, error)
}

// Changes reads the log of commits. It belongs to one goroutine.
type Changes interface {
	// Next is the next commit, nil at the end of the log: a later call looks again. It
	// does not wait. The commit belongs to the caller. The error is ErrTrimmed when the
	// log was trimmed meanwhile: Changes does not hold the log.
	Next(ctx context.Context) (*Commit, error)
	// Position is the place after which Next continues: Changes with this position
	// would give the same commits.
	Position() Position
	Close()
}

// A Commit is a batch as it was committed.
type Commit struct {
	// Before is a position between this commit and the one before it, and At is its own.
	// They are the same in each reading. The write that made the commit returned At or a
	// later position.
	Before, At Position
	// Ops are the batch's operations and notes, in order. Operations on families that
	// have been dropped since are left out.
	Ops []LoggedOp
}

// A LoggedOp is one change of a commit, or a note.
type LoggedOp struct {
	Kind       OpKind
	Family     string
	Key, Value []byte // as in a [Batch]; a note is a Value
}

// Note adds a note. It changes nothing: it goes into the log with the batch, at its
// place among the changes. A batch with only notes is not logged.
func (b *Batch) Note(note []byte) {
	b.notes++
	b.add(OpNote, "", span{}, b.mark(append(b.arena, note...)))
}

// Notes is the number of notes in the batch.
func (b *Batch) Notes() int { return b.notes }
