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
	isolation.Txn
}

// Begin implements cf.Store.
func (s *Store) Begin(ctx context.Context) (cf.Txn, error) {
	t := &txn{Txn: isolation.Begin(&s.locks, &s.history)}
	snap, err := s.Snapshot(ctx)
	if err != nil {
		t.End()
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

// Scan implements cf.Snapshot.
func (t *txn) Scan(ctx context.Context, s cf.Scan) (cf.Cursor, error) {
	t.Reads.AddFamily(s.Family)
	return t.snapshot.Scan(ctx, s)
}

// Add implements cf.Txn.
func (t *txn) Add(b *cf.Batch) error {
	if err := t.Fits(b, t.store.Limits().Batch); err != nil {
		return err
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
		t.Reads.AddFamily(op.Family)
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
	t.Batch.Append(b)
	return nil
}

// Commit implements cf.Txn.
func (t *txn) Commit(ctx context.Context, last func(*cf.Batch) error) (cf.Position, error) {
	defer t.Close()
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	s := t.store
	if len(t.Batch.Ops()) == 0 {
		return 0, nil // all reads are of the one snapshot
	}
	return s.letIn(ctx, func(turn *turn) (cf.Position, int, error) { return t.try(ctx, turn, last) })
}

// try is tryWrite for a commit.
func (t *txn) try(ctx context.Context, turn *turn, last func(*cf.Batch) error) (pos cf.Position, size int, err error) {
	hold, err := t.Lock(ctx)
	if err != nil {
		return 0, 0, err
	}
	defer t.store.locks.Unlock(&hold)
	b, err := t.Final(&hold, last)
	if err != nil {
		return 0, 0, err
	}
	pos, err = t.store.commit(ctx, turn, &b)
	return pos, b.Size(), err
}

// Close implements cf.Snapshot: it ends the transaction. Changes that were not
// committed are dropped.
func (t *txn) Close() {
	if t.End() {
		t.snapshot.Close()
	}
}
