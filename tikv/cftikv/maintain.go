package cftikv

import (
	"context"
	"fmt"
	"time"

	"github.com/tikv/client-go/v2/util/codec"
	pdhttp "github.com/tikv/pd/client/http"

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
// version of the catalog, so it cannot outlive a change that another process made.
func (s *Store) SetExpiry(family string, e cf.Expiry) error {
	err := s.knownSoon(family)
	if err == nil {
		s.expiries.Store(family, e)
	}
	return err
}

// expiry is a family's, as SetExpiry allowed it.
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

// Stats implements [cf.Store]. The sizes are PD's, in MiB, of all regions with cells of
// the family. A region that several families share counts for each of them, so the sizes
// are upper bounds. They are 0 with a client without an HTTP client of PD.
func (s *Store) Stats(ctx context.Context) (cf.Stats, error) {
	st, err := s.known(ctx)
	if err != nil {
		return cf.Stats{}, err
	}
	stats := cf.Stats{Families: map[string]cf.FamilyStats{}}
	for name, f := range st.families {
		if stats.Families[name], err = s.sizeOf(ctx, f); ctx.Err() != nil {
			return cf.Stats{}, ctx.Err()
		} else if err != nil {
			return cf.Stats{}, fmt.Errorf("%w: PD does not say the size of family %s: %w", cf.ErrUnavailable, name, err)
		}
	}
	stats.Engine.Open = cf.OpenStats{Snapshots: s.snapshots.count(), Cursors: s.cursors.Load()}
	return stats, nil
}

// sizeTimeout bounds one question about a size.
const sizeTimeout = 5 * time.Second

func (s *Store) sizeOf(ctx context.Context, f family) (size cf.FamilyStats, err error) {
	placed := s.client.GetPDHTTPClient()
	if s.owned != nil {
		placed = s.owned.HTTP
	}
	if placed == nil {
		return size, nil
	}
	for _, id := range f.ids(everything) {
		start := s.keys.cells(id)
		ctx, cancel := context.WithTimeout(ctx, sizeTimeout)
		stats, err := placed.GetRegionStatusByKeyRange(ctx, pdhttp.NewKeyRange(codec.EncodeBytes(nil, start), codec.EncodeBytes(nil, after(start))), false)
		cancel()
		if err != nil {
			return size, err
		}
		size.FileBytes += stats.StorageSize << 20
		size.Entries += stats.StorageKeys
	}
	return size, nil
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
