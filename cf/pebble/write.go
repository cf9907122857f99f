package pebble

import (
	"context"
	"slices"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/isolation"
)

// Write implements [cf.Store].
func (s *Store) Write(ctx context.Context, rows []cf.RowID, fn func(*cf.Batch) error) (pos cf.Position, err error) {
	if err := s.gate.letIn(ctx); err != nil {
		return 0, err
	}
	var hold isolation.Hold
	if rows != nil {
		hold.Writes = s.locks.SetOf(rows)
		if err := s.locks.Lock(ctx, &hold); err != nil {
			return 0, err
		}
		defer s.locks.Unlock(&hold)
	}
	b := batches.Get().(*cf.Batch)
	defer func() { recycle(b, err) }()
	if err := fn(b); err != nil {
		return 0, err
	}
	if rows == nil {
		hold.Writes = s.locks.SetOf(b.Rows())
		if err := s.locks.Lock(ctx, &hold); err != nil {
			return 0, err
		}
		defer s.locks.Unlock(&hold)
	} else if touched := b.Rows(); !slices.Equal(rows, touched) {
		if err := hold.Covers(s.locks.SetOf(touched)); err != nil {
			return 0, err
		}
	}
	return s.held(ctx, b)
}

// Update implements [cf.Store].
func (s *Store) Update(ctx context.Context, rows []cf.RowID, fn func(cf.Snapshot, *cf.Batch) error) (pos cf.Position, err error) {
	if err := s.gate.letIn(ctx); err != nil {
		return 0, err
	}
	hold := isolation.Hold{Updates: s.locks.SetOf(rows)}
	if err := s.locks.Lock(ctx, &hold); err != nil {
		return 0, err
	}
	defer s.locks.Unlock(&hold)
	if err := s.caughtUp(ctx); err != nil {
		return 0, err
	}
	snap, err := s.snapshot(ctx, bitsOf(rows))
	if err != nil {
		return 0, err
	}
	defer snap.Close()
	b := batches.Get().(*cf.Batch)
	defer func() { recycle(b, err) }()
	if err := fn(snap, b); err != nil {
		return 0, err
	}
	if err := isolation.Named(rows, b.Rows()); err != nil {
		return 0, err
	}
	return s.held(ctx, b)
}

// PutMeta implements [cf.Store].
func (s *Store) PutMeta(ctx context.Context, key string, value []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.gate.isShut() {
		return stalled(cf.ErrUnavailable)
	}
	var b cf.Batch
	b.PutMeta(key, value)
	_, err := s.commit(ctx, &b, nil)
	return err
}

// DropRange implements [cf.Store].
func (s *Store) DropRange(ctx context.Context, names []string, rows cf.Range) error {
	if err := s.gate.letIn(ctx); err != nil {
		return err
	}
	var b cf.Batch
	for _, name := range names {
		b.DeleteRows(name, rows)
	}
	hold := isolation.Hold{All: true}
	if err := s.locks.Lock(ctx, &hold); err != nil {
		return err
	}
	defer s.locks.Unlock(&hold)
	_, err := s.commit(ctx, &b, func() { s.history.AddRange(names, rows) })
	return err
}
