package cftikv

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tikv/client-go/v2/tikv"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/ordered"
)

// A snapshot reads the store as it was at a timestamp.
type snapshot struct {
	store *Store
	ts    uint64
	own   *attempt // the changes of a transaction, nil without changes

	closed atomic.Bool
	mu     sync.Mutex
	state  *state   // nil until it is needed
	read   []string // the families that were read
}

// Snapshot implements [cf.Store].
func (s *Store) Snapshot(ctx context.Context) (cf.Snapshot, error) {
	snap, err := s.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	return snap, nil
}

func (s *Store) snapshot(ctx context.Context) (*snapshot, error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	ts, err := s.now(ctx)
	if err != nil {
		return nil, err
	}
	snap := &snapshot{store: s, ts: ts}
	s.snapshots.add(snap)
	return snap, nil
}

// Close implements [cf.Snapshot].
func (s *snapshot) Close() {
	if !s.closed.Swap(true) {
		s.store.snapshots.remove(s)
	}
}

func (s *snapshot) ready(ctx context.Context) error {
	if s.closed.Load() {
		return cf.ErrClosed
	}
	return s.store.ready(ctx)
}

// family looks a family up, and notes that it was read.
func (s *snapshot) family(ctx context.Context, name string) (f family, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.findState(ctx); err != nil {
		return f, err
	}
	if f, err = s.state.family(name); err == nil && !slices.Contains(s.read, name) {
		s.read = append(s.read, name)
	}
	return f, err
}

// findState reads the families of the snapshot, unless they are known.
func (s *snapshot) findState(ctx context.Context) (err error) {
	if s.state == nil {
		s.state, err = s.store.stateAt(ctx, s.ts)
	}
	return err
}

// seen returns the families of the snapshot, nil if they were not needed, and adds the
// names of those that were read.
func (s *snapshot) seen(names []string) (*state, []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range s.read {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return s.state, names
}

// Meta implements [cf.Snapshot].
func (s *snapshot) Meta(ctx context.Context, key string) ([]byte, error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	value, err := get(ctx, s.store.client.GetSnapshot(s.ts), s.store.keys.meta(key))
	if err != nil || value == nil {
		return nil, err
	}
	return value[1:], nil
}

// MetaPrefix implements [cf.Snapshot].
func (s *snapshot) MetaPrefix(ctx context.Context, prefix string) (map[string][]byte, error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	found := map[string][]byte{}
	all, start := s.store.keys.meta(""), s.store.keys.meta(prefix)
	err := s.store.each(ctx, s.ts, 0, start, after(start), func(key, value []byte) error {
		found[string(key[len(all):])] = slices.Clone(value[1:])
		return nil
	})
	return found, err
}

// Scan implements [cf.Snapshot].
func (s *snapshot) Scan(ctx context.Context, sc cf.Scan) (cf.Cursor, error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	f, err := s.family(ctx, sc.Family)
	if err != nil {
		return nil, err
	}
	s.store.cursors.Add(1)
	return &cursor{Cursor: ordered.New(s.cells(f, &sc), sc), store: s.store}, nil
}

// A cursor is a cursor of a store that may be closed.
type cursor struct {
	cf.Cursor
	store  *Store
	closed bool
}

// Next implements [cf.Cursor].
func (c *cursor) Next(ctx context.Context) (*cf.Block, error) {
	if c.closed || c.store.closed.Load() {
		return nil, cf.ErrClosed
	}
	b, err := c.Cursor.Next(ctx)
	return b, ended(ctx, err)
}

// Close implements [cf.Cursor].
func (c *cursor) Close() {
	if !c.closed {
		c.closed = true
		c.store.cursors.Add(-1)
		c.Cursor.Close()
	}
}

// corrupt is the error of a cell that cannot be decoded.
func corrupt(family string, key []byte, err error) error {
	return &cf.CorruptCell{Family: family, Key: slices.Clone(key), Err: fmt.Errorf("%w", err)}
}

// A walk is an iterator over the keys of a source that begin with a prefix, up to an end.
type walk struct {
	own    *attempt // whose source it is
	source source
	prefix []byte
	end    []byte
	it     tikv.Iterator // nil at no key
	back   bool          // it goes backward
	err    error
}

func newWalk(own *attempt, from source, prefix, end []byte) *walk {
	return &walk{own: own, source: from, prefix: prefix, end: end}
}

func (w *walk) Seek(ctx context.Context, key []byte) bool {
	return w.open(ctx, false, func() (tikv.Iterator, error) {
		return w.source.Iter(w.full(key), w.end)
	})
}

func (w *walk) SeekBefore(ctx context.Context, key []byte) bool {
	return w.open(ctx, true, func() (tikv.Iterator, error) {
		return w.source.IterReverse(w.full(key), w.prefix)
	})
}

func (w *walk) open(ctx context.Context, back bool, open func() (tikv.Iterator, error)) bool {
	w.Close()
	it, err := within(ctx, w.own, open)
	if w.err = wrap(ctx, err); err == nil {
		w.it, w.back = it, back
	}
	return w.Valid()
}

func (w *walk) Next(ctx context.Context) bool {
	if w.back {
		return w.Seek(ctx, append(bytes.Clone(w.Key()), 0))
	}
	_, err := within(ctx, w.own, func() (struct{}, error) { return struct{}{}, w.it.Next() })
	if w.err = wrap(ctx, err); ctx.Err() != nil {
		w.it = nil // which a request may still use
	}
	return w.Valid()
}

func (w *walk) full(key []byte) []byte { return append(bytes.Clone(w.prefix), key...) }

func (w *walk) Valid() bool   { return w.err == nil && w.it != nil && w.it.Valid() }
func (w *walk) Key() []byte   { return w.it.Key()[len(w.prefix):] }
func (w *walk) Value() []byte { return w.it.Value() }
func (w *walk) Err() error    { return w.err }

func (w *walk) Close() {
	if w.it != nil {
		w.it.Close()
		w.it = nil
	}
}

// A source reads keys in order: a transaction or its own writes.
type source interface {
	Iter(start, end []byte) (tikv.Iterator, error)
	IterReverse(end, start []byte) (tikv.Iterator, error)
}
