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
	changes cf.Batch
	reads   isolation.ReadSet
	start   uint64
	ended   bool
}

// Begin implements [cf.Store].
func (m *Store) Begin(ctx context.Context) (cf.Txn, error) {
	t := &txn{start: m.history.Begin()}
	var err error
	if t.snapshot, err = m.snapshot(ctx); err != nil {
		m.history.End(t.start)
		return nil, err
	}
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
	if err := t.ready(context.Background()); err != nil {
		return err
	}
	if size, limit := t.changes.Size()+b.Size(), t.store.Limits().Batch; size > limit {
		return fmt.Errorf("transaction of %d bytes is %w; the limit is %d", size, cf.ErrTooLarge, limit)
	}
	for _, op := range b.Ops() {
		switch op.Kind {
		case cf.OpPut, cf.OpDelete, cf.OpMerge:
			t.reads.AddFamily(op.Family)
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
	t.changes.Append(b)
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
	if len(t.changes.Ops()) == 0 {
		return t.state.at, nil // all reads are of one moment
	}
	m, rows := t.store, t.changes.Rows()
	hold := t.reads.Hold(&m.locks, rows)
	if err := m.locks.Lock(ctx, &hold); err != nil {
		return 0, err
	}
	defer m.locks.Unlock(&hold)
	if m.history.Changed(t.start, &t.reads) {
		return 0, cf.ErrConflict
	}
	b := m.batch()
	b.Append(&t.changes)
	if last != nil {
		if err := last(b); err != nil {
			return 0, err
		}
		if err := isolation.Named(rows, b.Rows()); err != nil {
			return 0, err
		}
	}
	return m.commit(ctx, b, nil)
}

// Close implements [cf.Snapshot].
func (t *txn) Close() {
	if !t.ended {
		t.ended = true
		t.store.history.End(t.start)
		t.snapshot.Close()
	}
}
