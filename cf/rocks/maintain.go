package rocks

import (
	"context"

	"github.com/linxGnu/grocksdb"

	"github.com/smolwc/smolwc/cf"
)

// Flush implements cf.Store.
func (s *Store) Flush(_ context.Context, name string) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.writable(); err != nil {
		return err
	}
	f, err := s.families.Load().get(name)
	if err != nil {
		return err
	}
	opts := grocksdb.NewDefaultFlushOptions()
	defer opts.Destroy()
	opts.SetWait(true)
	return wrap(s.db.FlushCF(f.handle, opts))
}

// Compact implements cf.Store. A context that is done stops it between files.
func (s *Store) Compact(ctx context.Context, name string, rows cf.RowRange) error {
	if err := s.Flush(ctx, name); err != nil {
		return err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.writable(); err != nil {
		return err
	}
	f, err := s.families.Load().get(name)
	if err != nil {
		return err
	}
	done := context.AfterFunc(ctx, s.db.DisableManualCompaction)
	defer func() {
		if !done() {
			s.db.EnableManualCompaction()
		}
	}()
	opts := grocksdb.NewCompactRangeOptions()
	defer opts.Destroy()
	opts.SetBottommostLevelCompaction(grocksdb.KForce)
	start, end := rows.Bounds()
	s.db.CompactRangeCFOpt(f.handle, grocksdb.Range{Start: start, Limit: end}, opts)
	return ctx.Err()
}
