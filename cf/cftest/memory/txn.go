package memory

import (
	"context"
	"fmt"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/isolation"
)

// A txn is a transaction. Its state contains its own changes.
type txn struct {
	*snapshot
	isolation.Txn
}

// Begin implements [cf.Store].
func (m *Store) Begin(ctx context.Context) (cf.Txn, error) {
	t := &txn{Txn: isolation.Begin(&m.locks, &m.history)}
	t.Batch.SetStamps(m.stamp)
	var err error
	if t.snapshot, err = m.snapshot(ctx); err != nil {
		t.End()
		return nil, err
	}
	return t, nil
}

// Scan implements [cf.Snapshot].
func (t *txn) Scan(ctx context.Context, s cf.Scan) (cf.Cursor, error) {
	t.Reads.AddFamily(s.Family)
	return t.snapshot.Scan(ctx, s)
}

// Add implements [cf.Txn].
func (t *txn) Add(b *cf.Batch) error {
	if err := t.ready(context.Background()); err != nil {
		return err
	}
	if err := t.Fits(b, t.store.Limits().Batch); err != nil {
		return err
	}
	for _, op := range b.Ops() {
		switch op.Kind {
		case cf.OpPut, cf.OpDelete, cf.OpMerge:
			t.Reads.AddFamily(op.Family)
		case cf.OpNote:
		default:
			return fmt.Errorf("a transaction cannot carry operation %d", op.Kind)
		}
	}
	next := t.state.clone()
	if err := next.apply(b); err != nil {
		return err
	}
	t.state = next
	t.Batch.Append(b)
	return nil
}

// Stamp implements [cf.Stamper].
func (t *txn) Stamp(ctx context.Context, row cf.RowID) (int64, error) {
	return t.store.stamp(row), t.ready(ctx)
}

// Commit implements [cf.Txn].
func (t *txn) Commit(ctx context.Context, last func(*cf.Batch) error) (cf.Position, error) {
	defer t.Close()
	if err := t.ready(ctx); err != nil {
		return 0, err
	}
	if len(t.Batch.Ops()) == 0 {
		return t.state.at, nil // all reads are of one moment
	}
	hold, err := t.Lock(ctx)
	if err != nil {
		return 0, err
	}
	defer t.store.locks.Unlock(&hold)
	b, err := t.Final(&hold, last)
	if err != nil {
		return 0, err
	}
	if err := isolation.Named(t.Batch.Rows(), b.Rows()); err != nil {
		return 0, err
	}
	return t.store.commit(ctx, &b, nil)
}

// Close implements [cf.Snapshot].
func (t *txn) Close() {
	if t.End() {
		t.snapshot.Close()
	}
}
