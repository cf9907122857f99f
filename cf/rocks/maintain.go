//go:build cgo

package rocks

import (
	"cmp"
	"context"

	"github.com/linxGnu/grocksdb"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/rocks/internal/native"
)

// Flush implements cf.Store. The engine puts a flush off while it would stall
// writes, and no context ends that: a flush that nobody waits for any more is made
// all the same.
func (s *Store) Flush(ctx context.Context, name string) error {
	done := make(chan error, 1)
	go func() { done <- s.flush(name) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	if state, _ := s.stall(); state != cf.NotStalled {
		return s.stallError(ctx.Err())
	}
	return ctx.Err()
}

func (s *Store) flush(name string) error {
	return s.maintain(name, func(f *family) error {
		opts := grocksdb.NewDefaultFlushOptions()
		defer opts.Destroy()
		opts.SetWait(true)
		if err := s.db.FlushCF(f.handle, opts); err != nil {
			return native.Wrap(err)
		}
		// The catalog has a few entries in memory, which would keep every log
		// from the first of them on.
		return native.Wrap(s.db.Flush(opts))
	})
}

// Compact implements cf.Store. A context that is done stops it between files.
func (s *Store) Compact(ctx context.Context, name string, rows cf.Range) error {
	if err := s.Flush(ctx, name); err != nil {
		return err
	}
	return s.maintain(name, func(f *family) error {
		paused := make(chan struct{})
		running := context.AfterFunc(ctx, func() {
			s.db.DisableManualCompaction()
			close(paused)
		})
		defer func() {
			if !running() {
				<-paused
				s.db.EnableManualCompaction()
			}
		}()
		opts := grocksdb.NewCompactRangeOptions()
		defer opts.Destroy()
		opts.SetBottommostLevelCompaction(grocksdb.KForce)
		start, end := rows.Bounds()
		s.db.CompactRangeCFOpt(f.handle, grocksdb.Range{Start: start, Limit: end}, opts)
		f.kept.clear()                       // the old files can go
		return cmp.Or(ctx.Err(), s.ending()) // the engine does not say that it gave up
	})
}

// maintain runs f, which may take long, on a family. Families may come and go
// meanwhile, the handle stays valid; Close waits for the end, and EndWaits brings
// it about.
func (s *Store) maintain(name string, f func(*family) error) error {
	fam, set, err := s.beginMaintenance(name)
	if err != nil {
		return err
	}
	defer s.maintenance.Done()
	defer s.dropped.unuse(set)
	return f(fam)
}

func (s *Store) beginMaintenance(name string) (fam *family, set uint64, err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.writable(); err != nil {
		return nil, 0, err
	}
	fam, err = s.families.Load().get(name)
	if err == nil {
		err = cmp.Or(s.ending(), s.engine.logs.Lasting())
	}
	if err != nil {
		return nil, 0, err
	}
	s.maintenance.Add(1)
	return fam, s.dropped.use(), nil
}
