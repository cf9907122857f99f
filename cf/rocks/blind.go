//go:build cgo

package rocks

import (
	"context"
	"slices"

	"github.com/smolwc/smolwc/cf"
)

// Write implements cf.Store. The rows' locks are held shared from before fn
// runs: a timestamp that fn takes from a clock falls where the commit does among
// the updates of the row, which hold them exclusively.
func (s *Store) Write(ctx context.Context, rows []cf.RowID, fn func(*cf.Batch) error) (cf.Position, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	return s.letIn(ctx, func() (cf.Position, int, error) { return s.tryWrite(ctx, rows, fn) })
}

// tryWrite makes the write unless the engine turns it away; see letIn.
func (s *Store) tryWrite(ctx context.Context, rows []cf.RowID, fn func(*cf.Batch) error) (pos cf.Position, size int, err error) {
	set := s.locks.setOf(rows)
	if rows != nil {
		if err := s.locks.rlock(ctx, set); err != nil {
			return 0, 0, err
		}
		defer s.locks.runlock(set)
	}
	b := batches.Get().(*cf.Batch)
	defer func() { b.Reset(); batches.Put(b) }()
	if err := fn(b); err != nil {
		return 0, 0, err
	}
	if rows == nil {
		set = s.locks.setOf(b.Rows())
		if err := s.locks.rlock(ctx, set); err != nil {
			return 0, 0, err
		}
		defer s.locks.runlock(set)
	} else if touched := b.Rows(); !slices.Equal(rows, touched) {
		if err := checkStripes(set, s.locks.setOf(touched)); err != nil {
			return 0, 0, err
		}
	}
	pos, err = s.commit(ctx, b)
	return pos, b.Size(), err
}

// PutMeta implements cf.Store.
func (s *Store) PutMeta(ctx context.Context, key string, value []byte) error {
	var b cf.Batch
	b.PutMeta(key, value)
	_, err := s.commit(ctx, &b)
	if err == errStalled {
		return s.stallError(err)
	}
	return err
}
