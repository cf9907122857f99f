package memory

import (
	"bytes"
	"context"
	"sync/atomic"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/ordered"
)

// A snapshot is a state of a store.
type snapshot struct {
	store  *Store
	state  *state
	closed atomic.Bool
}

// Snapshot implements [cf.Store].
func (m *Store) Snapshot(ctx context.Context) (cf.Snapshot, error) {
	s, err := m.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (m *Store) snapshot(ctx context.Context) (*snapshot, error) {
	s := &snapshot{store: m}
	return s, m.do(ctx, func() error {
		s.state = m.state
		return nil
	})
}

func (s *snapshot) ready(ctx context.Context) error {
	if s.closed.Load() {
		return cf.ErrClosed
	}
	return s.store.known(ctx)
}

// CatalogVersion implements [cf.Versioned].
func (s *snapshot) CatalogVersion(ctx context.Context) (uint64, error) {
	return s.state.catalog, s.ready(ctx)
}

// Scan implements [cf.Snapshot].
func (s *snapshot) Scan(ctx context.Context, scan cf.Scan) (cf.Cursor, error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	f, err := s.state.family(scan.Family)
	if err != nil {
		return nil, err
	}
	return &cursor{ordered.New(&walker{tree: f.cells}, scan), s.store}, nil
}

// Meta implements [cf.Snapshot].
func (s *snapshot) Meta(ctx context.Context, key string) ([]byte, error) {
	return bytes.Clone(s.state.meta.get([]byte(key))), s.ready(ctx)
}

// MetaPrefix implements [cf.Snapshot].
func (s *snapshot) MetaPrefix(ctx context.Context, prefix string) (map[string][]byte, error) {
	found := map[string][]byte{}
	w := walker{tree: s.state.meta}
	for ok := w.Seek(ctx, []byte(prefix)); ok && bytes.HasPrefix(w.Key(), []byte(prefix)); ok = w.Next(ctx) {
		found[string(w.Key())] = bytes.Clone(w.Value())
	}
	return found, s.ready(ctx)
}

// Close implements [cf.Snapshot].
func (s *snapshot) Close() { s.closed.Store(true) }

// A cursor is a cursor of a store that may be closed.
type cursor struct {
	*ordered.Cursor
	store *Store
}

// Next implements [cf.Cursor].
func (c *cursor) Next(ctx context.Context) (*cf.Block, error) {
	if err := c.store.known(ctx); err != nil {
		return nil, err
	}
	return c.Cursor.Next(ctx)
}

// Read implements [cf.Store].
func (m *Store) Read(ctx context.Context, s *cf.Scan, a *cf.Answer) error {
	snap, err := m.snapshot(ctx)
	if err != nil {
		return err
	}
	if s.Catalog != 0 && s.Catalog != snap.state.catalog {
		return cf.ErrCatalogChanged
	}
	c, err := snap.Scan(ctx, *s)
	if err != nil {
		return err
	}
	return a.ReadAll(ctx, c)
}
