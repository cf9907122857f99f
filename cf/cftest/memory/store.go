// Package memory is a store in memory, in plain Go, for tests of the layers above a store.
package memory

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/isolation"
)

// A Store is a small [cf.Shared] store. It keeps every promise of package cf, with
// transactions, merges, loads and a log of changes. Without files, only Compact drops what
// is expired. A position is also the time of its commit, in microseconds since 1970. Make
// one with [New].
type Store struct {
	locks   isolation.Locks
	history isolation.Log
	ended   atomic.Bool // EndWaits was called

	mu     sync.Mutex
	state  *state             // a commit replaces it
	stamps map[cf.RowID]int64 // the last timestamp of each row
	clock  int64              // the last time that was given
	log    commitLog
	made   int // families
	closed bool
}

// New makes an empty store.
func New() *Store {
	m := &Store{state: &state{families: map[string]family{}}, stamps: map[cf.RowID]int64{}}
	m.locks.Init()
	return m
}

// do runs fn with the store locked, unless the context is done or the store closed.
func (m *Store) do(ctx context.Context, fn func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return cf.ErrClosed
	}
	return fn()
}

// Limits implements [cf.Store].
func (m *Store) Limits() cf.Limits {
	return cf.Limits{RowKey: 4 << 10, Qualifier: 16 << 10, Value: 1 << 20, Batch: 64 << 20}
}

// Families implements [cf.Store].
func (m *Store) Families() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.state.families))
}

// CreateFamily implements [cf.Store].
func (m *Store) CreateFamily(ctx context.Context, names ...string) error {
	return m.reshape(ctx, func(s *state) {
		for _, name := range names {
			if _, ok := s.families[name]; !ok {
				m.made++
				s.families[name] = family{id: m.made}
			}
		}
	})
}

// DropFamily implements [cf.Store].
func (m *Store) DropFamily(ctx context.Context, names ...string) error {
	return m.reshape(ctx, func(s *state) {
		for _, name := range names {
			delete(s.families, name)
		}
	})
}

func (m *Store) reshape(ctx context.Context, change func(*state)) error {
	return m.do(ctx, func() error {
		next := m.state.clone()
		change(next)
		m.state = next
		return nil
	})
}

// Splits implements [cf.Store]: there is one part.
func (m *Store) Splits(ctx context.Context, families []string, rows cf.Range, _ int) ([]cf.Part, error) {
	return []cf.Part{{End: rows.End}}, m.known(ctx, families...)
}

// Flush implements [cf.Store].
func (m *Store) Flush(ctx context.Context, family string) error {
	if m.ended.Load() {
		return cf.ErrClosed
	}
	return m.known(ctx, family)
}

// Compact implements [cf.Store]. It drops expired cells.
func (m *Store) Compact(ctx context.Context, family string, rows cf.Range) error {
	if m.ended.Load() {
		return cf.ErrClosed
	}
	return m.do(ctx, func() error {
		next := m.state.clone()
		f, err := next.family(family)
		if err != nil || f.expiry.Catalog != next.catalog {
			return err
		}
		next.families[family] = f.without(rows, f.expiry.Before)
		m.state = next
		return nil
	})
}

// SetExpiry implements [cf.Store].
func (m *Store) SetExpiry(family string, e cf.Expiry) error {
	return m.do(context.Background(), func() error {
		next := m.state.clone()
		f, err := next.family(family)
		if err != nil {
			return err
		}
		f.expiry = e
		next.families[family], m.state = f, next
		return nil
	})
}

// SetTuning implements [cf.Store].
func (m *Store) SetTuning(family string, _ cf.Tuning) error {
	return m.known(context.Background(), family)
}

// known reports families that there are not.
func (m *Store) known(ctx context.Context, families ...string) error {
	return m.do(ctx, func() error {
		for _, name := range families {
			if _, err := m.state.family(name); err != nil {
				return err
			}
		}
		return nil
	})
}

// Stats implements [cf.Store].
func (m *Store) Stats(ctx context.Context) (cf.Stats, error) {
	s := cf.Stats{Families: map[string]cf.FamilyStats{}}
	return s, m.do(ctx, func() error {
		for name, f := range m.state.families {
			s.Families[name] = cf.FamilyStats{Entries: int64(f.cells.size())}
		}
		return nil
	})
}

// Now implements [cf.Shared].
func (m *Store) Now(ctx context.Context) (now int64, err error) {
	err = m.do(ctx, func() error {
		m.clock = max(m.clock, time.Now().UnixMicro())
		now = m.clock
		return nil
	})
	return now, err
}

// TimeOf implements [cf.Shared].
func (m *Store) TimeOf(at cf.Position) int64 { return int64(at) }

// stamp gives the timestamps of a row.
func (m *Store) stamp(r cf.RowID) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stamps[r] = max(time.Now().UnixMicro(), m.stamps[r]+1)
	return m.stamps[r]
}

// EndWaits implements [cf.Store].
func (m *Store) EndWaits() { m.ended.Store(true) }

// Close implements [cf.Store].
func (m *Store) Close() error {
	return m.do(context.Background(), func() error {
		m.closed = true
		return nil
	})
}
