package pebble

import (
	"cmp"
	"context"

	engine "github.com/cockroachdb/pebble/v2"

	"github.com/smolwc/smolwc/cf"
)

// Flush implements [cf.Store]. Pebble uses one memtable for all families.
func (s *Store) Flush(ctx context.Context, name string) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if _, err := s.lookup(ctx, name); err != nil {
		return err
	}
	ctx, done := s.until(ctx)
	defer done()
	err := s.do(ctx, func() error { return s.flush(ctx) }) // its beginning may wait for the disk, too
	return cmp.Or(context.Cause(ctx), err)
}

func (s *Store) flush(ctx context.Context) error {
	flushed, err := s.db.AsyncFlush()
	if err != nil {
		return wrap(err)
	}
	select {
	case <-flushed:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Checkpoint implements [cf.Checkpointer]. It flushes first: data that is in files is not
// sent again with each backup.
func (s *Store) Checkpoint(ctx context.Context, dir string) (cf.Position, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if err := s.ingesting.Lock(ctx); err != nil { // a copy contains a load whole or not at all
		return 0, err
	}
	defer s.ingesting.Unlock()
	if err := s.caughtUp(ctx); err != nil {
		return 0, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.writable(); err != nil {
		return 0, err
	}
	ctx, done := s.until(ctx)
	defer done()
	at, err := s.acked.Load(), s.loaded(ctx)
	if err != nil {
		return 0, err
	}
	return cf.Position(at), s.do(ctx, func() error {
		if err := s.flush(ctx); err != nil {
			return err
		}
		if err := s.copy(dir); err != nil {
			return err
		}
		return wrap(writeName(s.fs, dir))
	})
}

// copy copies the files. Pebble writes the manifest ahead of the log: so no commit is under
// way until it knows the files and the directory for them exists. Later writes may
// be in the logs of the copy.
func (s *Store) copy(dir string) error {
	release := s.hold()
	defer release()
	if s.kept.Ships() != "" {
		if err := s.settle(); err != nil {
			return err
		}
	}
	made := func(path string) {
		if path == dir {
			release()
		}
	}
	s.fs.copying.Store(&made)
	return wrap(s.db.Checkpoint(dir, engine.WithFlushedWAL()))
}
