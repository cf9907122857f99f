package cftikv

import (
	"context"

	"github.com/smolwc/smolwc/cf"
)

// known refuses calls for a family that does not exist.
func (s *Store) known(ctx context.Context, families ...string) (*state, error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	st, err := s.latest(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range families {
		if _, err := st.family(name); err != nil {
			return nil, err
		}
	}
	return st, nil
}

// knownSoon is known for calls without a context.
func (s *Store) knownSoon(family string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, err := s.known(ctx, family)
	return err
}

func (s *Store) maintains(ctx context.Context, family string) error {
	if s.ended.Load() {
		return cf.ErrClosed
	}
	_, err := s.known(ctx, family)
	return err
}

// Flush implements [cf.Store]. TiKV flushes by itself, so this does nothing.
func (s *Store) Flush(ctx context.Context, family string) error { return s.maintains(ctx, family) }

// SetExpiry implements [cf.Store]. Compact drops expired cells, and so does the janitor
// after each period. Both of this process: the permission stays here. It ends with the
// version of the catalog, so it cannot outlive a change that another process has made.
func (s *Store) SetExpiry(family string, e cf.Expiry) error {
	err := s.knownSoon(family)
	if err == nil {
		s.expiries.Store(family, e)
	}
	return err
}

// expiry is what SetExpiry has allowed for a family.
func (s *Store) expiry(family string) cf.Expiry {
	set, _ := s.expiries.Load(family)
	e, _ := set.(cf.Expiry)
	return e
}

// expire lets a compaction drop the expired cells of a family too, under the catalog that
// says which ones have expired.
func (s *Store) expire(gone *doomed, family string, st *state) {
	e := s.expiry(family)
	if st.catalog != e.Catalog || e.Before <= 0 {
		return
	}
	gone.before = e.Before
	gone.checks = append(gone.checks, func(ctx context.Context, commit uint64) error {
		now, err := s.stateAt(ctx, commit)
		if err == nil && now.catalog != e.Catalog {
			err = cf.ErrCatalogChanged
		}
		return err
	})
}

// SetTuning implements [cf.Store]. The files are TiKV's, so this does nothing.
func (s *Store) SetTuning(family string, _ cf.Tuning) error {
	return s.knownSoon(family)
}

// Stats implements [cf.Store]. It knows the names of the families and what is open; all
// other figures are TiKV's own.
func (s *Store) Stats(ctx context.Context) (cf.Stats, error) {
	st, err := s.known(ctx)
	if err != nil {
		return cf.Stats{}, err
	}
	stats := cf.Stats{Families: map[string]cf.FamilyStats{}}
	for name := range st.families {
		stats.Families[name] = cf.FamilyStats{}
	}
	stats.Engine.Open = cf.OpenStats{Snapshots: s.snapshots.count(), Cursors: s.cursors.Load()}
	return stats, nil
}

// Entries implements [cf.EntryReader], for checks: it reads the cells of a family that
// are not dropped. It also finds a value without its epoch.
func (s *snapshot) Entries(ctx context.Context, name string, fn func(key, value []byte) error) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	f, err := s.family(ctx, name)
	if err != nil {
		return err
	}
	s.store.cursors.Add(1)
	defer s.store.cursors.Add(-1)
	cells := s.cells(f, &cf.Scan{Family: name})
	defer cells.Close()
	for cells.Seek(ctx, nil); cells.Valid(); cells.Next(ctx) {
		if s.store.closed.Load() {
			return cf.ErrClosed
		}
		if err := fn(cells.Key(), cells.Value()); err != nil {
			return err
		}
	}
	return cells.Err()
}
