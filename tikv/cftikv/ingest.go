package cftikv

import (
	"context"
	"fmt"
	"sync"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/merge"
	"github.com/smolwc/smolwc/internal/lock"
	"github.com/smolwc/smolwc/tikv/cftikv/internal/regions"
)

// An ingestion implements [cf.Ingestion]. Its cells get a number of their own in each
// family, where nobody reads them. Commit makes them the cells of an empty family, or a
// layer over its cells: both by a change of the descriptors.
//
// The number is recorded as garbage before the first cell is written. Commit deletes the
// record. The record holds the time when the load last gave a sign of life.
type ingestion struct {
	store *Store
	mu    sync.Mutex
	loads map[string]*load // by family
	open  int              // runs
	ended bool
}

// Ingest implements [cf.Store]. The cells of a load are written to TiKV in many
// transactions, by any number of runs at the same time.
func (s *Store) Ingest(ctx context.Context) (cf.Ingestion, error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	return &ingestion{store: s, loads: map[string]*load{}}, nil
}

// TempDir implements [cf.Ingestion]: the store is not in a directory.
func (in *ingestion) TempDir() string { return "" }

// Merge implements [cf.Ingestion].
func (in *ingestion) Merge(operands [][]byte) ([]byte, bool) { return merge.Operands(operands...) }

// Run implements [cf.Ingestion].
func (in *ingestion) Run(ctx context.Context, family string) (cf.Run, error) {
	if err := in.store.ready(ctx); err != nil {
		return nil, err
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.ended {
		return nil, cf.ErrClosed
	}
	l := in.loads[family]
	if l == nil {
		var err error
		if l, err = in.store.beginLoad(ctx, family); err != nil {
			return nil, err
		}
		in.loads[family] = l
	}
	in.open++
	return &run{ctx: ctx, in: in, load: l}, nil
}

// Close implements [cf.Ingestion]. The janitor deletes the cells of a load that was not
// committed; if it cannot be told now, it finds out later.
func (in *ingestion) Close() error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.ended {
		return nil
	}
	if in.open > 0 {
		return fmt.Errorf("ingestion closed while %d of its runs are open", in.open)
	}
	in.ended = true
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, l := range in.loads {
		if in.store.closed.Load() || ctx.Err() != nil {
			break
		}
		_ = in.store.changeLoad(ctx, l.id, func(a *attempt, key []byte) error { return a.set(ctx, key, appendGarbage(a.start)) })
	}
	return nil
}

// Commit implements [cf.Ingestion].
func (in *ingestion) Commit(ctx context.Context, rows cf.Range, fn func(cf.Snapshot, *cf.Batch) error) (cf.Position, error) {
	if err := in.begin(ctx); err != nil {
		return 0, err
	}
	return bounded(ctx, in.store, func(ctx context.Context) (cf.Position, error) {
		if err := in.makeRoom(ctx); err != nil {
			return 0, err
		}
		return again(ctx, func() (cf.Position, error) { return in.try(ctx, rows, fn) })
	})
}

// begin checks that the ingestion can be committed.
func (in *ingestion) begin(ctx context.Context) error {
	if err := in.store.ready(ctx); err != nil {
		return err
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case in.ended, in.store.ended.Load():
		return cf.ErrClosed
	case in.open > 0:
		return fmt.Errorf("ingestion committed while %d of its runs are open", in.open)
	}
	return nil
}

// mostLayers bounds the layers of a family: a read looks into all of them.
const mostLayers = 8

// makeRoom moves the cells of layers where a family collects many.
func (in *ingestion) makeRoom(ctx context.Context) error {
	st, err := in.store.latest(ctx)
	if err != nil {
		return err
	}
	for name := range in.loads {
		if len(st.families[name].layers) < mostLayers {
			continue
		}
		if err := in.store.Compact(ctx, name, cf.Range{}); err != nil {
			return err
		}
	}
	return nil
}

func (in *ingestion) try(ctx context.Context, rows cf.Range, fn func(cf.Snapshot, *cf.Batch) error) (cf.Position, error) {
	s := in.store
	if err := s.altering.Acquire(ctx, lock.Exclusive); err != nil {
		return 0, err
	}
	defer s.altering.Release()
	keys := [][]byte{s.keys.version()}
	for _, l := range in.loads {
		keys = append(keys, s.keys.garbage(l.id))
	}
	a, err := s.begin(ctx, keys...)
	if err != nil {
		return 0, err
	}
	defer a.end()
	st, err := s.stateAt(ctx, a.start)
	if err != nil {
		return 0, err
	}
	p := &program{attempt: a, batch: new(cf.Batch), state: st, edit: st.edit()}
	if err := p.entries(ctx, fn); err != nil {
		return 0, err
	}
	for name, l := range in.loads {
		if err := p.take(ctx, name, l, rows); err != nil {
			return 0, err
		}
	}
	if p.edit.altered() {
		if err := a.putFamilies(ctx, p.edit); err != nil {
			return 0, err
		}
	}
	return a.commit(ctx)
}

// entries runs the function of a Commit, and makes the entries of its batch part of the
// attempt.
func (p *program) entries(ctx context.Context, fn func(cf.Snapshot, *cf.Batch) error) error {
	if fn == nil {
		return nil
	}
	snap := &snapshot{store: p.store, ts: p.start, state: p.state}
	p.store.snapshots.add(snap)
	defer snap.Close()
	if err := fn(snap, p.batch); err != nil {
		return err
	}
	for i := range p.batch.Ops() {
		op := &p.batch.Ops()[i]
		if op.Kind != cf.OpPutMeta {
			return fmt.Errorf("an ingestion's batch cannot carry operation %d", op.Kind)
		}
		if err := p.do(ctx, op); err != nil {
			return err
		}
	}
	p.demandCatalog(p.batch)
	if p.batch.RaisesCatalog() {
		p.edit.catalog++
	}
	return nil
}

// take makes the cells of a load cells of its family.
func (p *program) take(ctx context.Context, name string, l *load, rows cf.Range) error {
	if err := p.isLoad(ctx, l.id); err != nil {
		return err
	}
	f, err := p.edit.family(name)
	if err != nil || f.born != l.born {
		return fmt.Errorf("family %s was dropped after the load had begun: %w", name, cf.ErrNotExist)
	}
	if l.span.end == "" { // there are no cells
		return p.set(ctx, p.store.keys.garbage(l.id), appendGarbage(p.start))
	}
	if err := wrap(ctx, p.kv.Delete(p.store.keys.garbage(l.id))); err != nil {
		return err
	}
	alone, err := p.store.hasNoCells(ctx, f, p.start)
	if err != nil {
		return err
	}
	if !alone {
		start, end := rows.Bounds()
		p.edit.cover(name, layer{id: l.id, span: span{min(l.span.start, string(start)), max(l.span.end, string(end))}})
		return nil
	}
	p.edit.replace(name, l.id)
	p.checks = append(p.checks, func(ctx context.Context, commit uint64) error {
		alone, err := p.store.hasNoCells(ctx, f, commit)
		if err == nil && !alone {
			err = errAgain
		}
		return err
	})
	return nil
}

// hasNoCells reports whether a family is empty at a timestamp, not even dropped ones.
func (s *Store) hasNoCells(ctx context.Context, f family, at uint64) (bool, error) {
	for _, id := range f.ids(everything) {
		if none, err := s.hasNone(ctx, id, at); !none || err != nil {
			return false, err
		}
	}
	return true, nil
}

// hasNone reports whether there are no cells under a number.
func (s *Store) hasNone(ctx context.Context, id uint32, at uint64) (bool, error) {
	it := regions.New(s.client, regions.Options{At: at, Prefix: s.keys.cells(id), KeysOnly: true, Ahead: -1})
	defer it.Close()
	it.Seek(ctx, nil)
	return !it.Valid(), it.Err()
}

// cover adds a layer to a family.
func (e *edit) cover(name string, l layer) {
	f := e.families[name]
	f.epoch++
	l.epoch = f.epoch
	f.layers = append(f.layers[:len(f.layers):len(f.layers)], l)
	e.families[name] = f
	e.changed[name] = true
}

// replace gives a family without cells those under another number.
func (e *edit) replace(name string, id uint32) {
	f := e.families[name]
	e.gone = append(e.gone, f.ids(everything)...)
	f.epoch++
	f.id, f.drops, f.layers, f.settled = id, nil, nil, f.epoch
	e.families[name] = f
	e.changed[name] = true
}
