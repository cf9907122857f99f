//go:build cgo && linux && !norocksdb

package rocks

import (
	"context"
	"fmt"

	"github.com/linxGnu/grocksdb"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/isolation"
)

// A txn implements cf.Txn with a snapshot, an overlay that adds its changes to its
// scans, and the set of rows that it read, which is compared with the log of commits.
type txn struct {
	*snapshot
	batch cf.Batch
	reads isolation.ReadSet
	start uint64
	ended bool
}

// Begin implements cf.Store.
func (s *Store) Begin(ctx context.Context) (cf.Txn, error) {
	t := &txn{start: s.history.Begin()}
	snap, err := s.Snapshot(ctx)
	if err != nil {
		s.history.End(t.start)
		return nil, err
	}
	t.snapshot = snap.(*snapshot)
	if !t.overlaid() {
		t.Close()
		return nil, cf.ErrClosed
	}
	return t, nil
}

// overlaid makes the overlay. It is false if the store was closed, which closes the
// snapshot.
func (t *txn) overlaid() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.Overlay = grocksdb.NewWriteBatchWI(0, true)
	}
	return !t.closed
}

// Read implements cf.Txn.
func (t *txn) Read(space string, rows cf.Range) { t.reads.Add(space, rows) }

// Scan implements cf.Snapshot.
func (t *txn) Scan(ctx context.Context, s cf.Scan) (cf.Cursor, error) {
	t.reads.AddFamily(s.Family)
	return t.snapshot.Scan(ctx, s)
}

// Add implements cf.Txn.
func (t *txn) Add(b *cf.Batch) error {
	if size, limit := t.batch.Size()+b.Size(), t.store.Limits().Batch; size > limit {
		return fmt.Errorf("transaction of %d bytes is %w; the limit is %d", size, cf.ErrTooLarge, limit)
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.closed {
		return cf.ErrClosed
	}
	for i := range b.Ops() {
		op := &b.Ops()[i]
		if op.Kind == cf.OpNote {
			continue // the transaction's scans do not need it
		}
		f, err := t.families.get(op.Family)
		if err != nil {
			return err
		}
		t.reads.AddFamily(op.Family)
		switch op.Kind {
		case cf.OpPut:
			t.Overlay.PutCF(f.Handle, b.Key(op), b.Value(op))
		case cf.OpDelete:
			t.Overlay.DeleteCF(f.Handle, b.Key(op))
		case cf.OpMerge:
			t.Overlay.MergeCF(f.Handle, b.Key(op), b.Value(op))
		default:
			return fmt.Errorf("a transaction cannot carry operation %d", op.Kind)
		}
	}
	t.batch.Append(b)
	return nil
}

// Commit implements cf.Txn.
func (t *txn) Commit(ctx context.Context, last func(*cf.Batch) error) (cf.Position, error) {
	defer t.Close()
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	s := t.store
	if len(t.batch.Ops()) == 0 {
		return 0, nil // all reads are of the one snapshot
	}
	return s.letIn(ctx, func(turn *turn) (cf.Position, int, error) { return t.try(ctx, turn, last) })
}

// try is tryWrite for a commit.
func (t *txn) try(ctx context.Context, turn *turn, last func(*cf.Batch) error) (pos cf.Position, size int, err error) {
	s := t.store
	hold := t.reads.Hold(&s.locks, t.batch.Rows())
	if err := s.locks.Lock(ctx, &hold); err != nil {
		return 0, 0, err
	}
	defer s.locks.Unlock(&hold)
	if s.history.Changed(t.start, &t.reads) {
		return 0, 0, cf.ErrConflict
	}
	b := t.batch // without changes that last added in an earlier run
	if last != nil {
		if err := last(&b); err != nil {
			return 0, 0, err
		}
		if err := hold.Covers(s.locks.SetOf(b.Rows()[len(t.batch.Rows()):])); err != nil {
			return 0, 0, err
		}
	}
	pos, err = s.commit(ctx, turn, &b)
	return pos, b.Size(), err
}

// Close implements cf.Snapshot: it ends the transaction. Changes that were not
// committed are dropped.
func (t *txn) Close() {
	if t.ended {
		return
	}
	t.ended = true
	t.store.history.End(t.start)
	t.snapshot.Close()
}
