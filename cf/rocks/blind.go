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
	if err := s.awaitStall(ctx); err != nil {
		return 0, err
	}
	set := s.locks.setOf(rows)
	if rows != nil {
		s.locks.rlock(set)
		defer s.locks.runlock(set)
	}
	b := batches.Get().(*cf.Batch)
	defer func() { b.Reset(); batches.Put(b) }()
	if err := fn(b); err != nil {
		return 0, err
	}
	if rows != nil {
		if touched := b.Rows(); !slices.Equal(rows, touched) {
			if err := checkStripes(set, s.locks.setOf(touched)); err != nil {
				return 0, err
			}
		}
		return s.commit(ctx, b)
	}
	set = s.locks.setOf(b.Rows())
	s.locks.rlock(set)
	defer s.locks.runlock(set)
	return s.commit(ctx, b)
}
