package isolation

import (
	"context"
	"fmt"

	"github.com/smolwc/smolwc/cf"
)

// A Txn is the part of a transaction that looks for conflicts: the rows that it read, and
// the changes that it will commit. Only one goroutine may use it.
type Txn struct {
	Reads ReadSet
	Batch cf.Batch

	locks *Locks
	log   *Log
	start uint64
	ended bool
}

// Begin opens a transaction. The engine takes its snapshot afterwards, so that the log has
// all commits that the snapshot does not have.
func Begin(locks *Locks, log *Log) Txn {
	return Txn{locks: locks, log: log, start: log.Begin()}
}

// Read implements [cf.Txn].
func (t *Txn) Read(space string, rows cf.Range) { t.Reads.Add(space, rows) }

// Fits is an error if the transaction would have more than limit bytes with a batch.
func (t *Txn) Fits(b *cf.Batch, limit int) error {
	if size := t.Batch.Size() + b.Size(); size > limit {
		return fmt.Errorf("transaction of %d bytes is %w; the limit is %d", size, cf.ErrTooLarge, limit)
	}
	return nil
}

// Lock locks the rows that the transaction read and wrote; see [ReadSet.Hold].
func (t *Txn) Lock(ctx context.Context) (Hold, error) {
	hold := t.Reads.Hold(t.locks, t.Batch.Rows())
	return hold, t.locks.Lock(ctx, &hold)
}

// Final returns the batch to commit: the changes of the transaction, and those that last
// adds, if it is not nil. It fails with [cf.ErrConflict] if a commit changed rows that the
// transaction read. The caller has the hold of Lock; it may call Final again.
func (t *Txn) Final(hold *Hold, last func(*cf.Batch) error) (b cf.Batch, err error) {
	if t.log.Changed(t.start, &t.Reads) {
		return b, cf.ErrConflict
	}
	b = t.Batch
	if last == nil {
		return b, nil
	}
	if err := last(&b); err != nil {
		return b, err
	}
	return b, hold.Covers(t.locks.SetOf(b.Rows()[len(t.Batch.Rows()):]))
}

// End ends the transaction, and reports whether it was open.
func (t *Txn) End() bool {
	if t.ended {
		return false
	}
	t.ended = true
	t.log.End(t.start)
	return true
}
