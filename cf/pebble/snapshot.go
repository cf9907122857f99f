package pebble

import (
	"bytes"
	"context"
	"sync"
	"sync/atomic"

	engine "github.com/cockroachdb/pebble/v2"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/internal/ahead"
	"github.com/smolwc/smolwc/cf/ordered"
)

// A snapshot reads the store as it was.
type snapshot struct {
	store    *Store
	families families

	mu     sync.Mutex
	snap   *engine.Snapshot
	closed bool
	own    *overlay // of a transaction

	cursors atomic.Int64 // open ones
}

// Snapshot implements [cf.Store].
func (s *Store) Snapshot(ctx context.Context) (cf.Snapshot, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	snap, err := s.snapshot(ctx, allRows)
	if err != nil {
		return nil, err
	}
	return snap, nil
}

// snapshot is of a store whose writes of some rows are all in the log.
func (s *Store) snapshot(ctx context.Context, rows uint64) (*snapshot, error) {
	defer s.mu.Share().RUnlock()
	if err := s.usable(); err != nil {
		return nil, err
	}
	snap := &snapshot{store: s, families: *s.families.Load(), snap: s.db.NewSnapshot()}
	s.open.snapshots.Add(snap)
	if err := s.under.wait(ctx, rows, s.fs); err != nil {
		snap.Close()
		return nil, err
	}
	return snap, nil
}

// within calls fn with the source of the snapshot. The store stays open meanwhile.
func (s *snapshot) within(fn func(source) error) error {
	defer s.store.mu.Share().RUnlock()
	return s.with(fn)
}

// with is within for a caller that keeps the store open.
func (s *snapshot) with(fn func(source) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return cf.ErrClosed
	}
	if err := s.store.usable(); err != nil {
		return err
	}
	return fn(s.snap)
}

// Close implements [cf.Snapshot].
func (s *snapshot) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.closed = true
	_ = s.snap.Close()
	s.store.open.snapshots.Remove(s)
}

// Meta implements [cf.Snapshot].
func (s *snapshot) Meta(ctx context.Context, key string) (value []byte, err error) {
	found, err := s.meta(ctx, key, true)
	if v, ok := found[key]; ok {
		return v, err
	}
	return nil, err
}

// MetaPrefix implements [cf.Snapshot].
func (s *snapshot) MetaPrefix(ctx context.Context, prefix string) (map[string][]byte, error) {
	return s.meta(ctx, prefix, false)
}

func (s *snapshot) meta(ctx context.Context, prefix string, one bool) (map[string][]byte, error) {
	found := map[string][]byte{}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	err := s.within(func(from source) error {
		start := append(appendID(nil, spaceMeta), prefix...)
		it, err := from.NewIter(&engine.IterOptions{LowerBound: start, UpperBound: appendID(nil, spaceMeta+1)})
		if err != nil {
			return wrap(err)
		}
		for ok := it.First(); ok && bytes.HasPrefix(it.Key(), start); ok = it.Next() {
			found[string(it.Key()[idLen:])] = append([]byte{}, it.Value()...)
			if one {
				break
			}
		}
		return wrap(it.Close())
	})
	return found, err
}

// Scan implements [cf.Snapshot].
func (s *snapshot) Scan(ctx context.Context, spec cf.Scan) (cf.Cursor, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f, err := s.families.get(spec.Family)
	if err != nil {
		return nil, err
	}
	c := &cursor{store: s.store, snap: s, family: f, spec: spec}
	err = s.within(func(from source) error {
		below, err := newIter(from, f, &spec, s.own != nil)
		if err != nil {
			return err
		}
		var it ordered.Iterator = below
		if s.own != nil {
			it = s.own.over(below, f)
		} else if !below.row && spec.Limit == 0 {
			c.below = below
		}
		c.Cursor = ordered.New(it, spec)
		c.Cursor.Among(&s.cursors)
		s.cursors.Add(1)
		s.store.open.cursors.Add(c)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// A cursor is a cursor of a store that may be closed.
type cursor struct {
	*ordered.Cursor
	store  *Store
	snap   *snapshot
	family *family
	spec   cf.Scan
	below  *iter // nil if the scan stays whole

	mu      sync.Mutex
	closed  bool
	blocks  int      // returned ones
	divided *divided // nil while the scan is whole
}

// Next implements [cf.Cursor].
func (c *cursor) Next(ctx context.Context) (*cf.Block, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, cf.ErrClosed
	}
	if err := c.store.lost(); err != nil {
		return nil, err
	}
	for {
		if c.below != nil && ahead.IsLong(c.blocks, c.Cursor.Cost()) {
			if err := c.divide(ctx); err != nil {
				return nil, err
			}
		}
		if c.divided != nil {
			return c.divided.next(ctx)
		}
		if b, more, err := c.Step(ctx); b != nil || !more || err != nil {
			c.blocks++
			return b, err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
}

// divide divides the rest of the scan, if it is large. It is tried once.
func (c *cursor) divide(ctx context.Context) error {
	below := c.below
	c.below = nil
	if c.snap.cursors.Load() > fewCursors || !c.store.crew.Helps() {
		return nil
	}
	d := &divided{db: c.store.db, family: c.family, spec: c.spec, uses: &c.snap.cursors}
	if err := d.divide(ctx, &c.store.crew, below, c.Cursor); err != nil || d.reader == nil {
		return err
	}
	c.divided = d
	return nil
}

// Cost implements [cf.Cursor]. It does not count reads ahead of the caller.
func (c *cursor) Cost() cf.Cost {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.divided != nil {
		return c.divided.cost
	}
	return c.Cursor.Cost()
}

// Close implements [cf.Cursor].
func (c *cursor) Close() {
	c.store.open.cursors.Remove(c)
	c.end()
}

func (c *cursor) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.closed = true
		c.snap.cursors.Add(-1)
		if c.divided != nil {
			c.divided.stop()
		}
		c.Cursor.Close()
	}
}

// Read implements [cf.Store].
func (s *Store) Read(ctx context.Context, spec *cf.Scan, a *cf.Answer) error {
	defer s.mu.Share().RUnlock()
	if err := s.usable(); err != nil {
		return err
	}
	f, err := (*s.families.Load()).get(spec.Family)
	if err != nil {
		return err
	}
	it, err := newIter(s.db, f, spec, false)
	if err != nil {
		return err
	}
	if err := s.under.wait(ctx, bitsIn(spec.Rows), s.fs); err != nil {
		it.Close()
		return err
	}
	return ordered.Read(ctx, it, spec, a)
}
