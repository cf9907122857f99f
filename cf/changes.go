package cf

import (
	"context"
	"errors"
	"time"
)

// A store logs what it commits, and can be asked to keep that log and to read it
// out again. What is read are the commits whose batches have notes.

// ErrTrimmed: the log of commits does not go back to a position, or never had it.
var ErrTrimmed = errors.New("the log of changes does not have this position")

// A ChangeLog is the part of a [Store] that reads commits out again, in the order
// in which they took effect.
type ChangeLog interface {
	// KeepChanges keeps the log of all commits that are made from now on, and
	// of those it has that were made at since or later, over reopening the
	// store; older ones may go. The zero time keeps nothing any more. What is
	// kept is read with Changes.
	KeepChanges(since time.Time) error
	// KeepsChanges reports whether the log is kept.
	KeepsChanges() bool
	// Changes reads the commits behind a position, of those whose batches had
	// notes. A position that the log does not reach back to, or that has not
	// been reached, is ErrTrimmed. It must be closed.
	Changes(after Position) (Changes, error)
	// ChangeStarts are positions all over the log, ascending, to begin with:
	// the first is before the first commit that there is, the last is that of
	// the newest.
	ChangeStarts() ([]Position, error)
}

// Changes is a reading of the log of commits. It belongs to one goroutine.
type Changes interface {
	// Next is the next commit, nil when there is none yet: a later call looks
	// again. It does not wait. The commit is the caller's for good. The error
	// is ErrTrimmed when the log has been trimmed under the reading, which
	// holds nothing of it.
	Next(ctx context.Context) (*Commit, error)
	// Position is the one behind which Next goes on: Changes there would give
	// the same.
	Position() Position
	Close()
}

// A Commit is a batch as it was committed.
type Commit struct {
	// Before is the position of what came before it, At its own: Write
	// returned this one or a later one.
	Before, At Position
	// Ops are the batch's, notes among them, in their order. Those of families
	// that have been dropped since are left out.
	Ops []LoggedOp
}

// A LoggedOp is one change of a commit, or a note.
type LoggedOp struct {
	Kind       OpKind
	Family     string
	Key, Value []byte // as in a [Batch]; a note is a Value
}

// Note adds a note, which changes nothing: it goes into the log with the batch,
// between the changes where it was added. A batch of notes alone is not logged.
func (b *Batch) Note(note []byte) {
	b.notes++
	b.add(OpNote, "", span{}, b.mark(append(b.arena, note...)))
}

// Notes is how many notes the batch has.
func (b *Batch) Notes() int { return b.notes }
