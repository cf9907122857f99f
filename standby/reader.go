package standby

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/smolwc/smolwc/cf"
)

// A reader is the store of a standby as its database sees it. It is [cf.Shared], since
// another process, the primary, changes the catalog: each read uses the catalog of its
// own moment.
type reader struct {
	cf.Store // refuses writes
	store    cf.Follower
	refusal  func() error // of a write

	promoted atomic.Bool
	settled  atomic.Int64 // what the primary said last, once its log up to there was applied

	mu      sync.RWMutex  // held exclusively while the catalog changes
	version atomic.Uint64 // of the catalog; counted from 1 since the store was opened
	lost    error         // the reason why the standby must no longer be read
}

var (
	_ cf.Shared  = (*reader)(nil)
	_ cf.Refuser = (*reader)(nil)
)

func newReader(store cf.Follower, refusal func() error) *reader {
	r := &reader{Store: cf.ReadOnly(store), store: store, refusal: refusal}
	r.version.Store(1)
	return r
}

// Refusal implements [cf.Refuser].
func (r *reader) Refusal() error {
	if r.promoted.Load() {
		return fmt.Errorf("%w: the standby was promoted a moment ago; try again, over another connection", cf.ErrUnavailable)
	}
	return r.refusal()
}

// Close implements [cf.Reader]. The store of a standby that was promoted belongs to the
// database that writes it.
func (r *reader) Close() error {
	if r.promoted.Load() {
		return nil
	}
	return r.store.Close()
}

// Now implements [cf.Shared]. It is the machine's clock.
func (r *reader) Now(context.Context) (int64, error) { return time.Now().UnixMicro(), nil }

// TimeOf implements [cf.Shared]. The notes of commits have their times.
func (r *reader) TimeOf(cf.Position) int64 { return 0 }

// A follower is the reader of a standby that follows: what it applies can be read from its log.
type follower struct{ *reader }

var (
	_ cf.Behind       = follower{}
	_ cf.Checkpointer = follower{}
)

// Home is the directory of the standby.
func (f follower) Home() string { return f.store.Home() }

// Checkpoint implements [cf.Checkpointer].
func (f follower) Checkpoint(ctx context.Context, dir string) (cf.Position, error) {
	if _, err := f.now(); err != nil {
		return 0, err
	}
	return f.store.Checkpoint(ctx, dir)
}

// Version implements [cf.Behind].
func (f follower) Version() (uint64, error) { return f.now() }

// News implements [cf.Behind].
func (f follower) News() <-chan struct{} { return f.store.News() }

// Latest implements [cf.Behind].
func (f follower) Latest() cf.Position { return f.store.Latest() }

// Settled implements [cf.Behind].
func (f follower) Settled() int64 { return f.settled.Load() }

// Ships implements [cf.Behind].
func (f follower) Ships() string { return f.store.Ships() }

// Changes implements [cf.Store]. The standby may soon reach a later position of the
// primary.
func (f follower) Changes(after cf.Position) (cf.Changes, error) {
	if latest := f.store.Latest(); after > latest {
		return nil, fmt.Errorf("%w: the standby has position %d, and not yet the changes up to position %d; try again", cf.ErrUnavailable, latest, after)
	}
	return f.store.Changes(after)
}

// ChangeStarts implements [cf.Store].
func (f follower) ChangeStarts() ([]cf.Position, error) { return f.store.ChangeStarts() }

// change runs fn, which changes the catalog, while no read begins.
func (r *reader) change(fn func() error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.version.Add(1)
	return fn()
}

// lose makes all further reads fail.
func (r *reader) lose(why error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lost = why
}

// Snapshot implements [cf.Reader].
func (r *reader) Snapshot(ctx context.Context) (cf.Snapshot, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.lost != nil {
		return nil, r.lost
	}
	s, err := r.store.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	return &catalogSnapshot{s, r.version.Load()}, nil
}

// Read implements [cf.Reader]. No change waits for it: it reads again if one began
// meanwhile.
func (r *reader) Read(ctx context.Context, s *cf.Scan, a *cf.Answer) error {
	for {
		version, err := r.now()
		if err == nil && s.Catalog != 0 && s.Catalog != version {
			err = cf.ErrCatalogChanged
		}
		if err != nil {
			return err
		}
		err = r.store.Read(ctx, s, a)
		if r.version.Load() == version || ctx.Err() != nil {
			return err
		}
		*a = cf.Answer{}
	}
}

// now is the version of the catalog when no change is under way.
func (r *reader) now() (version uint64, err error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.version.Load(), r.lost
}

// Begin implements [cf.Reader].
func (r *reader) Begin(ctx context.Context) (cf.Txn, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.lost != nil {
		return nil, r.lost
	}
	t, err := r.store.Begin(ctx)
	if err != nil {
		return nil, err
	}
	return &catalogTxn{t, r.version.Load()}, nil
}

// A catalogSnapshot knows the version of its catalog.
type catalogSnapshot struct {
	cf.Snapshot
	version uint64
}

// CatalogVersion implements [cf.Versioned].
func (m *catalogSnapshot) CatalogVersion(context.Context) (uint64, error) { return m.version, nil }

type catalogTxn struct {
	cf.Txn
	version uint64
}

// CatalogVersion implements [cf.Versioned].
func (m *catalogTxn) CatalogVersion(context.Context) (uint64, error) { return m.version, nil }
