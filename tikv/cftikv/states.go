package cftikv

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/internal/lock"
)

// states caches the families of the store by version.
type states struct {
	mu        sync.Mutex
	byVersion map[uint64]*state
	newest    *state
}

// keptStates is the number of versions that are cached.
const keptStates = 8

func (c *states) get(version uint64) *state {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.byVersion[version]
}

func (c *states) put(s *state) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.newest == nil || s.version > c.newest.version {
		c.newest = s
	}
	if c.byVersion == nil {
		c.byVersion = map[uint64]*state{}
	}
	c.byVersion[s.version] = s
	for len(c.byVersion) > keptStates {
		least := s.version
		for v := range c.byVersion {
			least = min(least, v)
		}
		delete(c.byVersion, least)
	}
}

// cached is the newest state that this process saw. Another process may have changed it
// since.
func (c *states) cached() *state {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.newest
}

// errMissing: there is no store with this name, or no longer.
var errMissing = fmt.Errorf("the store %w", cf.ErrNotExist)

func isMissing(err error) bool { return errors.Is(err, errMissing) }

// stateAt returns the families at a timestamp.
func (s *Store) stateAt(ctx context.Context, ts uint64) (*state, error) {
	return s.stateBut(ctx, ts, 0)
}

// stateBut is stateAt without an attempt's own changes.
func (s *Store) stateBut(ctx context.Context, ts, own uint64) (*state, error) {
	value, err := get(ctx, s.but(ts, own), s.keys.version())
	if err != nil {
		return nil, err
	}
	if value == nil {
		return nil, errMissing
	}
	st, err := decodeVersion(value)
	if err != nil {
		return nil, err
	}
	if known := s.states.get(st.version); known != nil {
		return known, nil
	}
	prefix := s.keys.family("")
	err = s.each(ctx, ts, own, prefix, after(prefix), func(key, value []byte) error {
		name := string(key[len(prefix):])
		st.families[name], err = decodeFamily(name, value)
		return err
	})
	if err != nil {
		return nil, err
	}
	s.states.put(st)
	return st, nil
}

// latest returns the families as they are now.
func (s *Store) latest(ctx context.Context) (*state, error) {
	ts, err := s.now(ctx)
	if err != nil {
		return nil, err
	}
	return s.stateAt(ctx, ts)
}

// patience bounds the calls that have no context.
const patience = 5 * time.Second

// Families implements [cf.Store]. If the cluster cannot be reached, it lists the
// families that this process saw last.
func (s *Store) Families() []string { return s.newest().names() }

// newest are the families as they are now or, if the cluster cannot be reached, as this
// process saw them last. It is for calls without a context.
func (s *Store) newest() *state {
	if !s.closed.Load() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if st, err := s.latest(ctx); err == nil {
			return st
		}
	}
	return s.states.cached()
}

// alter changes the families in one transaction.
func (s *Store) alter(ctx context.Context, change func(*edit) error) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	_, err := bounded(ctx, s, func(ctx context.Context) (struct{}, error) {
		return again(ctx, func() (struct{}, error) { return struct{}{}, s.tryAlter(ctx, change) })
	})
	return err
}

func (s *Store) tryAlter(ctx context.Context, change func(*edit) error) error {
	if err := s.altering.Acquire(ctx, lock.Exclusive); err != nil { // this process need not race with itself
		return err
	}
	defer s.altering.Release()
	tx, err := s.begin(ctx, s.keys.version())
	if err != nil {
		return err
	}
	defer tx.end()
	st, err := s.stateAt(ctx, tx.start)
	if err != nil {
		return err
	}
	e := st.edit()
	if err := change(e); err != nil || !e.altered() {
		return err
	}
	if err := tx.putFamilies(ctx, e); err != nil {
		return err
	}
	_, err = tx.commit(ctx)
	return err
}

// CreateFamily implements [cf.Store]. It creates all or none.
func (s *Store) CreateFamily(ctx context.Context, names ...string) error {
	return s.alter(ctx, func(e *edit) error {
		for _, name := range names {
			e.create(name)
		}
		return nil
	})
}

// DropFamily implements [cf.Store]. It drops all or none. The cells stay in TiKV, out of
// sight.
func (s *Store) DropFamily(ctx context.Context, names ...string) error {
	return s.alter(ctx, func(e *edit) error {
		for _, name := range names {
			e.remove(name)
		}
		return nil
	})
}

// DropRange implements [cf.Store]. The cells stay in TiKV until Compact removes them.
func (s *Store) DropRange(ctx context.Context, families []string, rows cf.Range) error {
	start, end := rows.Bounds()
	return s.alter(ctx, func(e *edit) error {
		for _, name := range families {
			if _, err := e.family(name); err != nil {
				return err
			}
		}
		for _, name := range families {
			e.drop(name, string(start), string(end))
		}
		return nil
	})
}
