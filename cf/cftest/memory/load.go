package memory

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/bulk"
	"github.com/smolwc/smolwc/cf/isolation"
	"github.com/smolwc/smolwc/cf/merge"
)

// A load implements [cf.Ingestion].
type load struct {
	store *Store

	mu    sync.Mutex
	runs  map[string][]*run // by family
	ids   map[string]int    // of the families
	ended bool
}

// A run implements [cf.Run]. It belongs to one goroutine.
type run struct {
	cells  []loaded
	closed bool
}

type loaded struct {
	key, value []byte
	operand    bool
}

// Ingest implements [cf.Store].
func (m *Store) Ingest(ctx context.Context) (cf.Ingestion, error) {
	in := &load{store: m, runs: map[string][]*run{}, ids: map[string]int{}}
	return in, m.known(ctx)
}

// TempDir implements [cf.Ingestion].
func (in *load) TempDir() string { return "" }

// Merge implements [cf.Ingestion].
func (in *load) Merge(operands [][]byte) ([]byte, bool) { return merge.Operands(operands...) }

// Run implements [cf.Ingestion].
func (in *load) Run(ctx context.Context, name string) (cf.Run, error) {
	snap, err := in.store.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	f, err := snap.state.family(name)
	if err != nil {
		return nil, err
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.ended {
		return nil, cf.ErrClosed
	}
	r := new(run)
	in.runs[name], in.ids[name] = append(in.runs[name], r), f.id
	return r, nil
}

// Write implements [cf.Run].
func (r *run) Write(ctx context.Context, c cf.CellGroups) error {
	return bulk.EachCell(c, func(key, value []byte, operand bool) error {
		r.cells = append(r.cells, loaded{bytes.Clone(key), append([]byte{}, value...), operand})
		return ctx.Err()
	})
}

// Close implements [cf.Run].
func (r *run) Close() error {
	r.closed = true
	return nil
}

// Commit implements [cf.Ingestion].
func (in *load) Commit(ctx context.Context, rows cf.Range, fn func(cf.Snapshot, *cf.Batch) error) (cf.Position, error) {
	m := in.store
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.ended || m.ended.Load() {
		return 0, cf.ErrClosed
	}
	hold := isolation.Hold{All: true} // not between the read and the write of an update
	if err := m.locks.Lock(ctx, &hold); err != nil {
		return 0, err
	}
	defer m.locks.Unlock(&hold)
	b := m.batch()
	if err := in.entries(ctx, b, fn); err != nil {
		return 0, err
	}
	at, err := m.commit(ctx, b, in.apply)
	if err == nil {
		in.ended = true
		m.history.AddRange(slices.Collect(maps.Keys(in.runs)), rows)
	}
	return at, err
}

// entries runs the function of a Commit.
func (in *load) entries(ctx context.Context, b *cf.Batch, fn func(cf.Snapshot, *cf.Batch) error) error {
	snap, err := in.store.snapshot(ctx)
	if err != nil || fn == nil {
		return err
	}
	defer snap.Close()
	if err := fn(snap, b); err != nil {
		return err
	}
	for _, op := range b.Ops() {
		if op.Kind != cf.OpPutMeta {
			return fmt.Errorf("a load cannot carry operation %d", op.Kind)
		}
	}
	return nil
}

// apply puts the cells of the runs into their families.
func (in *load) apply(s *state) error {
	for name, runs := range in.runs {
		f, err := s.family(name)
		if err != nil || f.id != in.ids[name] {
			return fmt.Errorf("family %s was dropped after the load had begun: %w", name, cf.ErrNotExist)
		}
		for _, r := range runs {
			if !r.closed {
				return errors.New("a load was committed while some of its runs are open")
			}
			for _, c := range r.cells {
				if c.operand {
					c.value = merge.Full(f.cells.get(c.key), c.value)
				}
				f.cells = f.cells.put(c.key, c.value)
			}
		}
		s.families[name] = f
	}
	return nil
}

// Close implements [cf.Ingestion].
func (in *load) Close() error {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.ended = true
	return nil
}
