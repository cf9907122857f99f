package memory

import (
	"context"
	"fmt"
	"time"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/isolation"
)

// Update implements [cf.Store].
func (m *Store) Update(ctx context.Context, rows []cf.RowID, fn func(cf.Snapshot, *cf.Batch) error) (cf.Position, error) {
	hold := isolation.Hold{Updates: m.locks.SetOf(rows)}
	return m.write(ctx, &hold, rows, func(b *cf.Batch) error {
		snap, err := m.snapshot(ctx)
		if err != nil {
			return err
		}
		defer snap.Close()
		return fn(snap, b)
	})
}

// Write implements [cf.Store].
func (m *Store) Write(ctx context.Context, rows []cf.RowID, fn func(*cf.Batch) error) (cf.Position, error) {
	if rows != nil {
		hold := isolation.Hold{Writes: m.locks.SetOf(rows)}
		return m.write(ctx, &hold, rows, fn)
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	b := m.batch()
	if err := fn(b); err != nil {
		return 0, err
	}
	hold := isolation.Hold{Writes: m.locks.SetOf(b.Rows())}
	return m.write(ctx, &hold, b.Rows(), func(own *cf.Batch) error { *own = *b; return nil })
}

// write runs fn with rows locked, and commits its batch.
func (m *Store) write(ctx context.Context, hold *isolation.Hold, rows []cf.RowID, fn func(*cf.Batch) error) (cf.Position, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if err := m.locks.Lock(ctx, hold); err != nil {
		return 0, err
	}
	defer m.locks.Unlock(hold)
	b := m.batch()
	if err := fn(b); err != nil {
		return 0, err
	}
	if err := isolation.Named(rows, b.Rows()); err != nil {
		return 0, err
	}
	return m.commit(ctx, b, nil)
}

func (m *Store) batch() *cf.Batch {
	b := new(cf.Batch)
	b.SetStamps(m.stamp)
	return b
}

// commit commits a batch, with further changes if change is not nil. The caller holds the
// locks of its rows.
func (m *Store) commit(ctx context.Context, b *cf.Batch, change func(*state) error) (at cf.Position, err error) {
	if limit := m.Limits().Batch; b.Size() > limit {
		return 0, fmt.Errorf("batch of %d bytes is %w; the limit is %d", b.Size(), cf.ErrTooLarge, limit)
	}
	err = m.do(ctx, func() error {
		next := m.state.clone()
		if err := next.apply(b); err != nil {
			return err
		}
		if change != nil {
			if err := change(next); err != nil {
				return err
			}
		} else if len(b.Ops()) == b.Notes() && !b.RaisesCatalog() { // it changes nothing
			at = m.state.at
			return nil
		}
		m.clock = max(m.clock+1, time.Now().UnixMicro())
		next.at = cf.Position(m.clock)
		m.log.add(b, m.state.at, next)
		m.state, at = next, next.at
		return nil
	})
	if err == nil {
		m.history.AddRows(b.Rows())
	}
	return at, err
}

// PutMeta implements [cf.Store].
func (m *Store) PutMeta(ctx context.Context, key string, value []byte) error {
	var b cf.Batch
	b.PutMeta(key, value)
	_, err := m.commit(ctx, &b, nil)
	return err
}

// DropRange implements [cf.Store].
func (m *Store) DropRange(ctx context.Context, families []string, rows cf.Range) error {
	hold := isolation.Hold{All: true} // not between the read and the write of an update
	_, err := m.write(ctx, &hold, nil, func(b *cf.Batch) error {
		for _, name := range families {
			b.DeleteRows(name, rows)
		}
		return m.known(ctx, families...) // also if the range is empty
	})
	if err == nil {
		m.history.AddRange(families, rows)
	}
	return err
}
