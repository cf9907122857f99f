package pebble

import (
	"bytes"
	"context"
	"fmt"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/isolation"
)

// A txn implements [cf.Txn]. Pebble's indexed batches read the newest state and not a
// snapshot, so its own changes are in an overlay.
type txn struct {
	*snapshot
	batch cf.Batch
	reads isolation.ReadSet
	start uint64
	ended bool
}

// Begin implements [cf.Store].
func (s *Store) Begin(ctx context.Context) (cf.Txn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t := &txn{start: s.history.Begin()}
	snap, err := s.snapshot(ctx, allRows)
	if err != nil {
		s.history.End(t.start)
		return nil, err
	}
	t.snapshot = snap
	return t, nil
}

// Read implements [cf.Txn].
func (t *txn) Read(space string, rows cf.Range) { t.reads.Add(space, rows) }

// Scan implements [cf.Snapshot].
func (t *txn) Scan(ctx context.Context, s cf.Scan) (cf.Cursor, error) {
	t.reads.AddFamily(s.Family)
	return t.snapshot.Scan(ctx, s)
}

// Add implements [cf.Txn].
func (t *txn) Add(b *cf.Batch) error {
	if size, limit := t.batch.Size()+b.Size(), t.store.Limits().Batch; size > limit {
		return fmt.Errorf("transaction of %d bytes is %w; the limit is %d", size, cf.ErrTooLarge, limit)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return cf.ErrClosed
	}
	if t.own == nil {
		t.own = &overlay{cells: map[string][]change{}}
	}
	for i := range b.Ops() {
		op := &b.Ops()[i]
		switch op.Kind {
		case cf.OpNote:
			continue
		case cf.OpPut, cf.OpDelete, cf.OpMerge:
		default:
			return fmt.Errorf("a transaction cannot carry operation %d", op.Kind)
		}
		if _, err := t.families.get(op.Family); err != nil {
			return err
		}
		t.reads.AddFamily(op.Family)
		t.own.add(op.Family, op.Kind, bytes.Clone(b.Key(op)), bytes.Clone(b.Value(op)))
	}
	t.batch.Append(b)
	return nil
}

// Commit implements [cf.Txn].
func (t *txn) Commit(ctx context.Context, last func(*cf.Batch) error) (cf.Position, error) {
	defer t.Close()
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	s := t.store
	if len(t.batch.Ops()) == 0 {
		return 0, nil
	}
	if err := s.gate.letIn(ctx); err != nil {
		return 0, err
	}
	hold := t.reads.Hold(&s.locks, t.batch.Rows())
	if err := s.locks.Lock(ctx, &hold); err != nil {
		return 0, err
	}
	defer s.locks.Unlock(&hold)
	if err := s.caughtUp(ctx); err != nil {
		return 0, err
	}
	if s.history.Changed(t.start, &t.reads) {
		return 0, cf.ErrConflict
	}
	b := t.batch
	if last != nil {
		if err := last(&b); err != nil {
			return 0, err
		}
		if err := hold.Covers(s.locks.SetOf(b.Rows()[len(t.batch.Rows()):])); err != nil {
			return 0, err
		}
	}
	return s.held(ctx, &b)
}

// Close implements [cf.Snapshot].
func (t *txn) Close() {
	if t.ended {
		return
	}
	t.ended = true
	t.store.history.End(t.start)
	t.snapshot.Close()
}
