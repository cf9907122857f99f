package cftikv

import (
	"context"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/isolation"
	"github.com/smolwc/smolwc/tikv/cftikv/internal/regions"
	"github.com/smolwc/smolwc/tikv/cftikv/internal/rowlock"
)

// Update implements [cf.Store]. fn runs again when a family was dropped, or a range of
// the rows, before its batch could be committed, or when this process was stopped for so
// long that TiKV gave its locks to others.
func (s *Store) Update(ctx context.Context, rows []cf.RowID, fn func(cf.Snapshot, *cf.Batch) error) (cf.Position, error) {
	return s.rowsWrite(ctx, rows, s.beginLocked, func(b *cf.Batch) (*snapshot, error) {
		snap, err := s.snapshot(ctx)
		if err != nil {
			return nil, err
		}
		defer snap.Close()
		return snap, fn(snap, b)
	})
}

// Write implements [cf.Store]. Writes of one process that name a row wait for each other
// too. Writes of several processes, and Updates of others, meet at the commit: TiKV refuses
// the later one, which runs again. So a write costs TiKV no locks before it.
func (s *Store) Write(ctx context.Context, rows []cf.RowID, fn func(*cf.Batch) error) (cf.Position, error) {
	if rows == nil {
		return s.blind(ctx, fn)
	}
	return s.rowsWrite(ctx, rows, s.beginBlind, func(b *cf.Batch) (*snapshot, error) { return nil, fn(b) })
}

// PutMeta implements [cf.Store].
func (s *Store) PutMeta(ctx context.Context, key string, value []byte) error {
	_, err := s.blind(ctx, func(b *cf.Batch) error {
		b.PutMeta(key, value)
		return nil
	})
	return err
}

// A beginning starts an attempt that knows the last timestamps of rows.
type beginning func(ctx context.Context, rows []cf.RowID) (*attempt, error)

// beginLocked locks the rows.
func (s *Store) beginLocked(ctx context.Context, rows []cf.RowID) (*attempt, error) {
	return s.begin(ctx, s.sentinels(rows)...)
}

// beginBlind starts an attempt that locks nothing.
func (s *Store) beginBlind(ctx context.Context, rows []cf.RowID) (*attempt, error) {
	a, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	if err := a.readStamps(ctx, rows); err != nil {
		a.end()
		return nil, err
	}
	return a, nil
}

// readStamps reads the sentinels of rows, for their last timestamps. That is not needed if
// the start of the attempt is greater than all of them; see stamps. If a row gets timestamps
// until this attempt commits, the commit conflicts.
func (a *attempt) readStamps(ctx context.Context, rows []cf.RowID) error {
	if isPrecise(a.start) {
		return nil
	}
	sentinels := a.store.sentinels(rows)
	found, err := regions.Get(ctx, a.store.client, regions.Options{At: a.start}, sentinels...)
	if err != nil {
		return err
	}
	for i, key := range sentinels {
		a.stamps.found(string(key), found[i])
	}
	return nil
}

// rowsWrite runs fn in an attempt, and commits its batch. fn returns the snapshot that it
// read from, nil if it did not read.
func (s *Store) rowsWrite(ctx context.Context, rows []cf.RowID, begin beginning, fn func(*cf.Batch) (*snapshot, error)) (cf.Position, error) {
	return bounded(ctx, s, func(ctx context.Context) (cf.Position, error) { return s.tryRows(ctx, rows, begin, fn) })
}

func (s *Store) tryRows(ctx context.Context, rows []cf.RowID, begin beginning, fn func(*cf.Batch) (*snapshot, error)) (cf.Position, error) {
	if err := s.ready(ctx); err != nil {
		return 0, err
	}
	release, err := s.rows.Lock(ctx, rows)
	if err != nil {
		return 0, err
	}
	defer release()
	return again(ctx, func() (cf.Position, error) {
		a, err := begin(ctx, rows)
		if err != nil {
			return 0, err
		}
		defer a.end()
		b := new(cf.Batch)
		b.SetStamps(a.stamps.next)
		read, err := fn(b)
		if err != nil {
			return 0, err
		}
		if err := isolation.Named(rows, b.Rows()); err != nil {
			return 0, err
		}
		return a.write(ctx, b, read)
	})
}

// blind runs fn, and commits its batch without having locked its rows.
func (s *Store) blind(ctx context.Context, fn func(*cf.Batch) error) (cf.Position, error) {
	if err := s.ready(ctx); err != nil {
		return 0, err
	}
	b := new(cf.Batch)
	if err := fn(b); err != nil {
		return 0, err
	}
	return bounded(ctx, s, func(ctx context.Context) (cf.Position, error) {
		release, err := s.rows.Lock(ctx, b.Rows())
		if err != nil {
			return 0, err
		}
		defer release()
		return again(ctx, func() (cf.Position, error) { return s.tryBlind(ctx, b) })
	})
}

func (s *Store) tryBlind(ctx context.Context, b *cf.Batch) (cf.Position, error) {
	a, err := s.beginBlind(ctx, b.Rows())
	if err != nil {
		return 0, err
	}
	defer a.end()
	return a.write(ctx, b, nil)
}

func (s *Store) sentinels(rows []cf.RowID) (keys [][]byte) {
	for _, r := range rowlock.Sorted(rows) {
		keys = append(keys, s.keys.sentinel(r))
	}
	return keys
}

// write applies a batch and commits it. read is the snapshot that its writer read from, nil
// if it did not read.
func (a *attempt) write(ctx context.Context, b *cf.Batch, read *snapshot) (cf.Position, error) {
	if !changes(b) {
		return cf.Position(a.start), nil
	}
	if err := a.store.checkBatch(b); err != nil {
		return 0, err
	}
	a.demandCatalog(b)
	st, err := a.families(ctx, b, read)
	if err != nil {
		return 0, err
	}
	if err := a.log(ctx, b, st); err != nil {
		return 0, err
	}
	if err := a.apply(ctx, b, st); err != nil {
		return 0, err
	}
	if err := a.putSentinels(ctx, b.Rows()); err != nil {
		return 0, err
	}
	return a.commit(ctx)
}
