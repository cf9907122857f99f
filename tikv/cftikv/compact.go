package cftikv

import (
	"bytes"
	"context"
	"slices"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/tikv/cftikv/internal/regions"
)

// The work of one transaction of a compaction.
const (
	compactedKeys = 1000
	lookedAtKeys  = 50_000
)

// Compact implements [cf.Store]. It deletes the cells of the range that have expired or
// that drops hide, and then forgets these drops. TiKV frees the space when no snapshot
// needs the cells. The cost grows with the number of cells of the range, unless nothing
// expires and there were no drops.
func (s *Store) Compact(ctx context.Context, name string, rows cf.Range) error {
	_, err := bounded(ctx, s, func(ctx context.Context) (struct{}, error) { return struct{}{}, s.compactAll(ctx, name, rows) })
	return err
}

func (s *Store) compactAll(ctx context.Context, name string, rows cf.Range) error {
	if err := s.maintains(ctx, name); err != nil {
		return err
	}
	st, err := s.latest(ctx)
	if err != nil {
		return err
	}
	f, err := st.family(name)
	if err != nil {
		return err
	}
	gone := doomed{drops: f.drops}
	s.expire(&gone, name, st)
	return s.compactFamily(ctx, name, f, gone, rows)
}

func (s *Store) compactFamily(ctx context.Context, name string, f family, gone doomed, rows cf.Range) error {
	start, end := rows.Bounds()
	for _, l := range f.layers {
		from, to := max(l.start, string(start)), min(l.end, string(end))
		if err := s.fold(ctx, name, f, l, gone.checks, []byte(from), []byte(to)); err != nil {
			return err
		}
	}
	ranges := f.drops
	if gone.before > 0 {
		ranges = drops{{start: string(start), end: string(end)}}
	}
	for _, r := range ranges {
		from, to := max(r.start, string(start)), min(r.end, string(end))
		if err := s.compact(ctx, f, gone, []byte(from), []byte(to)); err != nil {
			return err
		}
	}
	if !f.drops.since(0, span{string(start), string(end)}) {
		return nil
	}
	return s.alter(ctx, func(e *edit) error {
		e.forget(name, f, string(start), string(end))
		return nil
	})
}

// doomed are the cells that a compaction deletes.
type doomed struct {
	drops  drops
	before int64   // cells with earlier timestamps have expired
	checks []check // of each of its transactions
}

func (d doomed) has(key []byte, epoch uint64) (bool, error) {
	if d.drops.hide(key, epoch) {
		return true, nil
	}
	_, _, ts, err := cf.SplitCellKey(key)
	return ts < d.before, err
}

// compact deletes doomed cells between two keys. No further cells can be hidden by the
// drops: writers that have not seen them do not commit.
func (s *Store) compact(ctx context.Context, f family, gone doomed, from, to []byte) (err error) {
	for err == nil && bytes.Compare(from, to) < 0 {
		if s.ended.Load() {
			return cf.ErrClosed
		}
		from, err = again(ctx, func() ([]byte, error) { return s.compactSome(ctx, f, gone, from, to) })
	}
	return err
}

// compactSome deletes the first of the doomed cells, and returns the key to go on from.
func (s *Store) compactSome(ctx context.Context, f family, gone doomed, from, to []byte) ([]byte, error) {
	a, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer a.end()
	prefix := s.keys.cells(f.id)
	it := regions.New(s.client, regions.Options{At: a.start, Prefix: prefix, NoFillCache: true})
	defer it.Close()
	it.Seek(ctx, from)
	deleted := 0
	for looked := 0; it.Valid() && bytes.Compare(it.Key(), to) < 0; looked++ {
		if deleted == compactedKeys || looked == lookedAtKeys {
			to = bytes.Clone(it.Key())
			break
		}
		epoch, _, _, err := splitValue(it.Value())
		if err == nil {
			delete := false
			if delete, err = gone.has(it.Key(), epoch); delete {
				err = a.kv.Delete(append(bytes.Clone(prefix), it.Key()...))
				deleted++
			}
		}
		if err != nil {
			return nil, wrap(ctx, err)
		}
		it.Next(ctx)
	}
	if err := it.Err(); err != nil {
		return nil, err
	}
	a.checks = gone.checks
	_, err = a.commit(ctx) // a cell that was written meanwhile is a conflict
	return to, err
}

// forget removes the drops between two keys that a family had earlier.
func (e *edit) forget(name string, seen family, start, end string) {
	f, ok := e.families[name]
	if !ok || f.id != seen.id {
		return
	}
	var kept drops
	for _, d := range f.drops {
		if d.epoch > seen.epoch {
			kept = append(kept, d)
			continue
		}
		kept = append(kept, drops{d}.without(start, end)...)
	}
	f.drops, f.settled = kept, max(f.settled, seen.epoch)
	e.families[name] = f
	e.changed[name] = true
}

// foldedBytes bounds the cells of a layer that one transaction moves.
const foldedBytes = 2 << 20

// fold moves the cells of a layer between two keys to the family's own cells, which they
// belong to at the epoch of the layer. Older layers have no cells there. If these are the
// layer's last, it ends.
func (s *Store) fold(ctx context.Context, name string, f family, l layer, checks []check, from, to []byte) (err error) {
	for err == nil && bytes.Compare(from, to) < 0 {
		if s.ended.Load() {
			return cf.ErrClosed
		}
		from, err = again(ctx, func() ([]byte, error) { return s.foldSome(ctx, f, l, checks, from, to) })
	}
	if err != nil {
		return err
	}
	now, err := s.now(ctx)
	if err != nil {
		return err
	}
	if none, err := s.hasNone(ctx, l.id, now); !none || err != nil {
		return err
	}
	return s.alter(ctx, func(e *edit) error {
		e.endLayer(name, l)
		return nil
	})
}

// foldSome moves the first cells, and returns the key to go on from.
func (s *Store) foldSome(ctx context.Context, f family, l layer, checks []check, from, to []byte) ([]byte, error) {
	a, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer a.end()
	keys, values, next, err := s.firstCells(ctx, a.start, l.id, from, to)
	if err != nil || len(keys) == 0 {
		return next, err
	}
	o := regions.Options{At: a.start, Prefix: s.keys.cells(f.id), NoFillCache: true}
	own, err := regions.Get(ctx, s.client, o, keys...)
	if err != nil {
		return nil, err
	}
	for i, key := range keys {
		if err := a.foldCell(ctx, &f, &l, key, own[i], values[i]); err != nil {
			return nil, err
		}
	}
	a.checks = checks
	_, err = a.commit(ctx) // a cell that was written meanwhile is a conflict
	return next, err
}

func (a *attempt) foldCell(ctx context.Context, f *family, l *layer, key, own, stored []byte) error {
	c := cell{of: f, key: key}
	if own != nil {
		if _, err := c.add(own, nil); err != nil {
			return err
		}
	}
	counts, err := c.add(stored, l)
	if err != nil {
		return err
	}
	if counts {
		if err := a.set(ctx, a.store.keys.cell(f.id, key), appendValue(l.epoch, false, c.value)); err != nil {
			return err
		}
	}
	return wrap(ctx, a.kv.Delete(a.store.keys.cell(l.id, key)))
}

// firstCells reads the first cells between two keys, and the key after them.
func (s *Store) firstCells(ctx context.Context, at uint64, id uint32, from, to []byte) (keys, values [][]byte, next []byte, err error) {
	it := regions.New(s.client, regions.Options{At: at, Prefix: s.keys.cells(id), NoFillCache: true, Ahead: -1})
	defer it.Close()
	size := 0
	for it.Seek(ctx, from); it.Valid() && bytes.Compare(it.Key(), to) < 0; it.Next(ctx) {
		if len(keys) == compactedKeys || size >= foldedBytes {
			return keys, values, bytes.Clone(it.Key()), nil
		}
		keys, values = append(keys, bytes.Clone(it.Key())), append(values, bytes.Clone(it.Value()))
		size += len(it.Key()) + len(it.Value())
	}
	return keys, values, to, it.Err()
}

// endLayer forgets a layer without cells.
func (e *edit) endLayer(name string, gone layer) {
	f, ok := e.families[name]
	i := slices.IndexFunc(f.layers, func(l layer) bool { return l.id == gone.id })
	if !ok || i < 0 {
		return
	}
	f.layers = slices.Delete(slices.Clone(f.layers), i, i+1)
	f.settled = max(f.settled, gone.epoch)
	e.families[name] = f
	e.changed[name] = true
	e.gone = append(e.gone, gone.id)
}
