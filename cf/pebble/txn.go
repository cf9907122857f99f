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
	isolation.Txn
}

// Begin implements [cf.Store].
func (s *Store) Begin(ctx context.Context) (cf.Txn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t := &txn{Txn: isolation.Begin(&s.locks, &s.history)}
	snap, err := s.snapshot(ctx, allRows)
	if err != nil {
		t.End()
		return nil, err
	}
	t.snapshot = snap
	return t, nil
}

// Scan implements [cf.Snapshot].
func (t *txn) Scan(ctx context.Context, s cf.Scan) (cf.Cursor, error) {
	t.Reads.AddFamily(s.Family)
	return t.snapshot.Scan(ctx, s)
}

// Add implements [cf.Txn].
func (t *txn) Add(b *cf.Batch) error {
	if err := t.Fits(b, t.store.Limits().Batch); err != nil {
		return err
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
		t.Reads.AddFamily(op.Family)
		t.own.add(op.Family, op.Kind, bytes.Clone(b.Key(op)), bytes.Clone(b.Value(op)))
	}
	t.Batch.Append(b)
	return nil
}

// Commit implements [cf.Txn].
func (t *txn) Commit(ctx context.Context, last func(*cf.Batch) error) (cf.Position, error) {
	defer t.Close()
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	s := t.store
	if len(t.Batch.Ops()) == 0 {
		return 0, nil
	}
	if err := s.gate.letIn(ctx); err != nil {
		return 0, err
	}
	hold, err := t.Lock(ctx)
	if err != nil {
		return 0, err
	}
	defer s.locks.Unlock(&hold)
	if err := s.caughtUp(ctx); err != nil {
		return 0, err
	}
	b, err := t.Final(&hold, last)
	if err != nil {
		return 0, err
	}
	return s.held(ctx, &b)
}

// Close implements [cf.Snapshot].
func (t *txn) Close() {
	if t.End() {
		t.snapshot.Close()
	}
}
