package cftikv

import (
	"cmp"
	"context"
	"errors"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/ordered"
	"github.com/smolwc/smolwc/tikv/cftikv/internal/regions"
)

// Read implements [cf.Store]. A read of one row takes no timestamp, if it gets along with
// one batch of one region. Otherwise it reads a snapshot.
func (s *Store) Read(ctx context.Context, sc *cf.Scan, a *cf.Answer) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	known := s.states.cached()
	if s.canReadLatest(sc, known) {
		if err := s.readLatest(ctx, sc, known, a); !errors.Is(err, regions.ErrMore) {
			return err
		}
	}
	return s.readSnapshot(ctx, sc, a)
}

func (s *Store) canReadLatest(sc *cf.Scan, known *state) bool {
	if len(sc.Rows) != 1 || sc.Reverse || known == nil || sc.Catalog != 0 && sc.Catalog != known.catalog {
		return false
	}
	_, single := sc.Rows[0].Single()
	f, ok := known.families[sc.Family]
	return single && ok && len(f.layers) == 0
}

// readLatest reads a row in one request, and then asks whether the families are still
// those that this process knows. If they are, they were so at the moment of the request
// too, because their version only grows. So the answer equals a snapshot's of this
// moment. The error is [regions.ErrMore] if this way gives no answer.
func (s *Store) readLatest(ctx context.Context, sc *cf.Scan, known *state, a *cf.Answer) error {
	f := known.families[sc.Family]
	o := cellsOf(f, sc)
	o.At, o.Once, o.First, o.Ahead = regions.Latest, true, firstOfRow(&sc.Filter), -1
	err := ended(ctx, a.ReadAll(ctx, ordered.New(s.visibleAt(sc.Family, f, o), *sc)))
	if errors.Is(err, cf.ErrUnavailable) || ctx.Err() != nil {
		return err
	}
	version, unread := s.latestVersion(ctx)
	if unread == nil && version != known.version {
		unread = regions.ErrMore // also if the cells were not understood
	}
	return cmp.Or(unread, err)
}

// latestVersion is the newest version of the families.
func (s *Store) latestVersion(ctx context.Context) (uint64, error) {
	value, err := get(ctx, s.client.GetSnapshot(regions.Latest), s.keys.version())
	if err != nil {
		return 0, err
	}
	if value == nil {
		return 0, errMissing
	}
	st, err := decodeVersion(value)
	if err != nil {
		return 0, err
	}
	return st.version, nil
}

// rowBatch is the number of cells of a row that are read without a timestamp.
const rowBatch = 64

// firstOfRow is the number of cells of a row to ask for.
func firstOfRow(f *cf.Filter) int {
	if f.Versions == 0 || f.Versions > rowBatch || len(f.Qualifiers) != 1 || f.EveryRow {
		return rowBatch
	}
	if _, single := f.Qualifiers[0].Single(); !single {
		return rowBatch
	}
	return f.Versions
}

// readSnapshot reads the cells with the families that this process knows, while it asks
// for the snapshot's. If they differ, it reads again.
func (s *Store) readSnapshot(ctx context.Context, sc *cf.Scan, a *cf.Answer) error {
	snap, err := s.snapshot(ctx)
	if err != nil {
		return err
	}
	defer snap.Close()
	known := s.states.cached()
	ask, cancel := context.WithCancel(ctx)
	defer cancel()
	asked := make(chan error, 1)
	go func() {
		_, err := snap.CatalogVersion(ask)
		asked <- err
	}()
	ahead := &snapshot{store: s, ts: snap.ts, state: known}
	err = ahead.readAll(ctx, sc, a)
	if err := <-asked; err != nil {
		return err
	}
	if sc.Catalog != 0 && sc.Catalog != snap.state.catalog {
		return cf.ErrCatalogChanged
	}
	if snap.state.version != known.version {
		return snap.readAll(ctx, sc, a)
	}
	return err
}

func (s *snapshot) readAll(ctx context.Context, sc *cf.Scan, a *cf.Answer) error {
	c, err := s.Scan(ctx, *sc)
	if err != nil {
		return err
	}
	return ended(ctx, a.ReadAll(ctx, c))
}

// cells is an iterator over the cells of a family.
func (s *snapshot) cells(f family, sc *cf.Scan) *visible {
	if s.own != nil {
		return newVisible(sc.Family, f, false, func(id uint32) iterator {
			prefix := s.store.keys.cells(id)
			return newWalk(s.own, s.own.kv, prefix, after(prefix))
		})
	}
	o := cellsOf(f, sc)
	o.At = s.ts
	return s.store.visibleAt(sc.Family, f, o)
}

// longBatch is the first batch of a scan that nothing bounds.
const longBatch = 256

// cellsOf says what a scan reads of a family: keys without the prefix of the cells.
func cellsOf(f family, sc *cf.Scan) regions.Options {
	o := regions.Options{KeysOnly: len(f.drops) == 0 && !ordered.NeedsValues(&sc.Filter)}
	if len(sc.Rows) == 0 {
		return o
	}
	first, last := sc.Rows[0], sc.Rows[len(sc.Rows)-1]
	o.Start, o.End = cf.AppendRowBound(nil, first.Start), last.AppendEnd(nil)
	row, single := first.Single()
	switch q := sc.Filter.Qualifiers; {
	case len(sc.Rows) > 1:
	case !single:
		if sc.Limit == 0 && sc.Hint == 0 {
			o.First = longBatch
		}
	case len(q) > 0 && !sc.Filter.EveryRow: // else any column may show that there is a row
		o.Start = cf.AppendRowBound(cf.AppendRowPrefix(nil, row), q[0].Start)
		o.End = q[len(q)-1].AppendEnd(cf.AppendRowPrefix(nil, row))
	}
	return o
}

// visibleAt is an iterator over the cells of a family at a timestamp, between two keys
// without the prefix of the cells.
func (s *Store) visibleAt(name string, f family, o regions.Options) *visible {
	start, end := o.Start, o.End
	return newVisible(name, f, o.KeysOnly, func(id uint32) iterator {
		o.Prefix = s.keys.cells(id)
		if start != nil {
			o.Start, o.End = s.keys.cell(id, start), s.keys.cell(id, end)
		}
		return regions.New(s.client, o)
	})
}
