package pebble

import (
	"context"
	"errors"
	"sync"

	engine "github.com/cockroachdb/pebble/v2"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/internal/beside"
)

// A Follower is a read-only store beside a writer. It shows one moment until Refresh opens
// the files again.
//
// On Windows a file that is open cannot be removed: there a Follower takes the lock of the
// directory, so that nobody writes while it is open.
type Follower struct {
	*beside.Follower[*Store]
	cache *sharedCache
}

// A sharedCache is the cache of all views, until the follower is closed.
type sharedCache struct {
	*engine.Cache
	mu       sync.Mutex
	released bool
}

// use keeps the cache until done is called. It fails after release: Refresh may run beside
// Close.
func (c *sharedCache) use() (done func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.released {
		return nil, cf.ErrClosed
	}
	c.Ref()
	return c.Unref, nil
}

func (c *sharedCache) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.released = true
	c.Unref()
}

var (
	_ cf.Reader    = (*Follower)(nil)
	_ cf.Refresher = (*Follower)(nil)
)

// OpenFollower opens the database in dir for reading; this or another process may write it.
func OpenFollower(dir string, o Options) (*Follower, error) {
	o.ReadOnly = true
	if o.cache == nil { // all views have one
		o.cache = engine.NewCache(cacheSize(o.Memory))
	}
	cache := &sharedCache{Cache: o.cache}
	open := func(ctx context.Context) (*Store, error) {
		done, err := cache.use()
		if err != nil {
			return nil, err
		}
		defer done()
		o := o
		o.ctx = ctx
		s, err := openView(dir, o)
		if err == nil {
			dir = s.dir // absolute: the process may change its directory
		}
		return s, err
	}
	f, err := beside.Open(open, (*Store).outdated)
	if err != nil {
		cache.release()
		return nil, err
	}
	return &Follower{f, cache}, nil
}

// openView fails with ErrCreating if the catalog is empty.
func openView(dir string, o Options) (*Store, error) {
	s, err := Open(dir, o)
	if err != nil {
		return nil, err
	}
	created, err := beside.Created(o.ctx, s)
	if err == nil && !created {
		err = ErrCreating
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// outdated reports whether the files of a reader have changed since its open.
func (s *Store) outdated() bool {
	if s.pins == nil { // nobody writes
		return false
	}
	now, err := stampOf(s.pins.FS, s.dir)
	return err != nil || !now.equal(s.pins.stamp)
}

// Close implements cf.Reader.
func (f *Follower) Close() error {
	err := f.Follower.Close()
	if !errors.Is(err, cf.ErrClosed) {
		f.cache.release()
	}
	return err
}
