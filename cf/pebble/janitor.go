package pebble

import (
	"cmp"
	"context"
	"time"

	engine "github.com/cockroachdb/pebble/v2"

	"github.com/smolwc/smolwc/cf"
)

const (
	cleanBatch = 64 << 10 // bytes of a batch of deletes
	cleanKeys  = 10_000   // keys that are read for a batch at most
	cleanRate  = 8 << 20  // bytes of deletes a second
	// A family is cleaned after this part of its period: then at most this part of
	// its cells is expired.
	cleanShare = 32
	cleanPause = time.Minute // until it looks again
)

// cleanUp runs until the store is about to be closed.
func (s *Store) cleanUp() {
	pause := time.NewTicker(cmp.Or(s.options.cleanPause, cleanPause))
	defer pause.Stop()
	done := map[uint32]int64{} // up to which timestamp families are clean
	for {
		select {
		case <-s.life.Done():
			return
		case <-pause.C:
		}
		for _, f := range *s.families.Load() {
			e := f.expiry.Load()
			before, cleaned := done[f.id]
			if e.Period <= 0 || e.Before <= 0 || cleaned && e.Before-before < (e.Period/cleanShare).Microseconds() {
				continue
			}
			if err := s.expire(s.life, f, cf.Range{}, cleanRate); err == nil {
				done[f.id] = e.Before
			} else if s.life.Err() == nil {
				logger{s}.Errorf("cannot delete expired cells of %s: %v", f.name, err)
			}
		}
	}
}

// expire deletes the cells of a range that have expired. With a rate of 0 it does not rest.
func (s *Store) expire(ctx context.Context, f *family, rows cf.Range, rate int) error {
	if rows.Empty() {
		return nil
	}
	start, end := rows.Bounds()
	from, upper := append(appendID(nil, f.id), start...), append(appendID(nil, f.id), end...)
	for from != nil {
		if err := s.gate.letIn(ctx); err != nil {
			return err
		}
		began, before := time.Now(), s.clean.written.Load()
		var err error
		if from, err = s.expireSome(ctx, f, from, upper); err != nil {
			return err
		}
		if rate > 0 && from != nil {
			bytes := s.clean.written.Load() - before
			select { // at least as long as it took
			case <-time.After(max(time.Since(began), time.Duration(bytes)*time.Second/time.Duration(rate))):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	return nil
}

// expireSome deletes some cells, and returns the key where it would go on, nil at the end.
func (s *Store) expireSome(ctx context.Context, f *family, from, upper []byte) (next []byte, err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.writable(); err != nil {
		return nil, err
	}
	limit := f.expiry.Load().Before
	if limit <= 0 || s.following.is.Load() { // a standby gets the deletes of its primary
		return nil, nil
	}
	it, err := s.db.NewIter(&engine.IterOptions{
		LowerBound: from, UpperBound: upper,
		PointKeyFilters: []engine.BlockPropertyFilter{before(limit)},
	})
	if err != nil {
		return nil, wrap(err)
	}
	defer it.Close()
	b := s.newBatch(0)
	applied := false
	defer func() {
		if !applied {
			_ = b.Close()
		}
	}()
	read := 0
	for ok := it.First(); ok; ok = it.Next() {
		if b.Len() > cleanBatch || read > cleanKeys {
			next = append([]byte{}, it.Key()...)
			break
		}
		if read++; read%256 == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if _, _, ts, err := cf.SplitCellKey(it.Key()[idLen:]); err == nil && ts < limit {
			_ = b.Delete(it.Key(), nil)
		}
	}
	if err := it.Error(); err != nil || b.Count() == 0 {
		return next, wrap(err)
	}
	// Nothing is written under a lower bound meanwhile.
	f.expiring.RLock()
	s.writing.RLock()
	release := func() {
		s.writing.RUnlock()
		f.expiring.RUnlock()
	}
	if f.expiry.Load().Before < limit || (*s.families.Load())[f.name] != f || s.fenced() != nil {
		release()
		return nil, nil
	}
	count := int64(b.Count())
	applied = true
	if err := s.erase(ctx, b, release); err != nil {
		return nil, err
	}
	s.clean.deleted.Add(count)
	return next, nil
}

// erase writes deletes that no change stream shows, and closes the batch. It may stay behind,
// with the batch; ended is called at its end.
func (s *Store) erase(ctx context.Context, b *engine.Batch, ended func()) error {
	size := int64(b.Len())
	err := s.do(ctx, func() error {
		defer ended()
		if s.kept.Ships() != "" { // after a kill a standby must hold no more than its primary
			_, err := s.put(b, false)
			return err
		}
		defer b.Close()
		return wrap(s.db.Apply(b, engine.NoSync))
	})
	if err == nil {
		s.clean.written.Add(size)
	}
	return err
}

// SetExpiry implements [cf.Store].
func (s *Store) SetExpiry(name string, e cf.Expiry) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	f, err := s.lookup(context.Background(), name)
	if err != nil {
		return err
	}
	if e.Before < f.expiry.Load().Before {
		f.expiring.Lock()
		defer f.expiring.Unlock()
	}
	f.expiry.Store(&e)
	return nil
}
