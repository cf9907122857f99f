//go:build cgo && linux && !norocksdb

package rocks

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/rocks/internal/steady"
)

// A Follower is a read-only store beside a writer. It shows one moment until Refresh
// opens the files anew. RocksDB's own way to follow a writer, a secondary instance,
// lacks snapshots, does not see new families, and merges operands twice that are both
// in its memory and in a file (docs/decisions).
type Follower struct {
	dir     string
	options Options

	refreshing sync.Mutex           // one Refresh at a time
	view       atomic.Pointer[view] // the newest

	mu     sync.Mutex
	views  map[*view]struct{} // the open views
	closed bool
}

var (
	_ cf.Reader    = (*Follower)(nil)
	_ cf.Refresher = (*Follower)(nil)
)

// ErrCreating is the error of [OpenFollower] for a database without a catalog: a writer
// is creating it, or was interrupted while it did. It matches [cf.ErrUnavailable].
var ErrCreating = steady.ErrCreating

// A view is the database at a moment. It is closed after its last use.
type view struct {
	*Store
	stamp steady.Stamp
	users atomic.Int64 // reads, snapshots, and the follower while the view is the newest; at 0 the view is closed for good
}

// OpenFollower opens the database in dir for reading; another process may write it.
func OpenFollower(dir string, o Options) (*Follower, error) {
	o.ReadOnly = true
	v, err := openView(context.Background(), dir, o)
	if err != nil {
		return nil, err
	}
	f := &Follower{dir: v.Store.dir, options: o, views: map[*view]struct{}{}}
	f.view.Store(v)
	f.views[v] = struct{}{}
	return f, nil
}

// openView opens the files as they are at one moment. RocksDB reads the manifest first,
// and then the logs. If the writer flushes in between and removes a log, RocksDB misses
// the log's changes without an error. So an open counts only if the manifest did not
// change meanwhile and no log was removed.
func openView(ctx context.Context, dir string, o Options) (*view, error) {
	var s *Store
	at, err := steady.Read(ctx, dir, steady.OpenPatience, func() (err error) {
		if s != nil { // from an earlier try
			_ = s.Close() // nothing was written
		}
		if s, err = Open(dir, o); err == nil && len(s.Families()) == 0 {
			err = s.created(ctx)
		}
		return err
	})
	if err != nil {
		if s != nil {
			err = errors.Join(err, s.Close())
		}
		return nil, err
	}
	v := &view{Store: s, stamp: at}
	v.users.Store(1)
	return v, nil
}

// created fails with ErrCreating when the catalog is empty.
func (s *Store) created(ctx context.Context) error {
	snap, err := s.Snapshot(ctx)
	if err != nil {
		return err
	}
	defer snap.Close()
	entries, err := snap.MetaPrefix(ctx, "")
	if err == nil && len(entries) == 0 {
		err = ErrCreating
	}
	return err
}

// Refresh implements cf.Refresher.
func (f *Follower) Refresh(ctx context.Context, accept func(cf.Snapshot, []string) error) error {
	f.refreshing.Lock()
	defer f.refreshing.Unlock()
	old := f.use()
	defer f.unuse(old)
	if old.stamp.Equal(steady.StampOf(f.dir)) {
		return old.open()
	}
	v, err := openView(ctx, f.dir, f.options)
	if err != nil {
		return err
	}
	if err := v.show(ctx, accept); err != nil {
		return errors.Join(err, v.Store.Close())
	}
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return errors.Join(cf.ErrClosed, v.Store.Close())
	}
	f.view.Store(v)
	f.views[v] = struct{}{}
	f.mu.Unlock()
	f.unuse(old) // it is no longer the newest
	return nil
}

func (v *view) show(ctx context.Context, accept func(cf.Snapshot, []string) error) error {
	s, err := v.Store.Snapshot(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	return accept(s, v.Store.Families())
}

// use returns the newest view. It stays open until unuse or Close.
func (f *Follower) use() *view {
	for {
		v := f.view.Load()
		for n := v.users.Load(); n > 0; n = v.users.Load() {
			if v.users.CompareAndSwap(n, n+1) {
				return v
			}
		}
	}
}

// open fails with cf.ErrClosed if the view is closed.
func (v *view) open() error {
	v.Store.mu.RLock()
	defer v.Store.mu.RUnlock()
	if v.Store.closed {
		return cf.ErrClosed
	}
	return nil
}

// unuse closes a view after its last use.
func (f *Follower) unuse(v *view) {
	if v.users.Add(-1) > 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		delete(f.views, v)
		_ = v.Store.Close() // nothing was written
	}
}

// useOnce is use, with an unuse that may be called several times.
func (f *Follower) useOnce() (v *view, done func()) {
	v = f.use()
	return v, sync.OnceFunc(func() { f.unuse(v) })
}

// Close implements cf.Reader.
func (f *Follower) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return cf.ErrClosed
	}
	f.closed = true
	var err error
	for v := range f.views {
		err = errors.Join(err, v.Store.Close())
	}
	return err
}

// Snapshot implements cf.Reader.
func (f *Follower) Snapshot(ctx context.Context) (cf.Snapshot, error) {
	v, done := f.useOnce()
	s, err := v.Store.Snapshot(ctx)
	if err != nil {
		done()
		return nil, err
	}
	return &followed{s, done}, nil
}

// A followed is a snapshot that keeps its view open.
type followed struct {
	cf.Snapshot
	done func()
}

func (s *followed) Close() {
	s.Snapshot.Close()
	s.done()
}

// Read implements cf.Reader.
func (f *Follower) Read(ctx context.Context, spec *cf.Scan, a *cf.Answer) error {
	v := f.use()
	defer f.unuse(v)
	return v.Store.Read(ctx, spec, a)
}

// Begin implements cf.Reader. The transaction can read, but it cannot commit changes.
func (f *Follower) Begin(ctx context.Context) (cf.Txn, error) {
	v, done := f.useOnce()
	t, err := v.Store.Begin(ctx)
	if err != nil {
		done()
		return nil, err
	}
	return &followedTxn{t, done}, nil
}

type followedTxn struct {
	cf.Txn
	done func()
}

func (t *followedTxn) Commit(ctx context.Context, last func(*cf.Batch) error) (cf.Position, error) {
	defer t.done()
	return t.Txn.Commit(ctx, last)
}

func (t *followedTxn) Close() {
	t.Txn.Close()
	t.done()
}

// Splits implements cf.Reader.
func (f *Follower) Splits(ctx context.Context, families []string, rows cf.Range, n int) ([]cf.Part, error) {
	v := f.use()
	defer f.unuse(v)
	return v.Store.Splits(ctx, families, rows, n)
}

// Stats implements cf.Reader. Counters begin anew with each refresh.
func (f *Follower) Stats(ctx context.Context) (cf.Stats, error) {
	v := f.use()
	defer f.unuse(v)
	return v.Store.Stats(ctx)
}

// Limits implements cf.Reader.
func (f *Follower) Limits() cf.Limits { return (*Store)(nil).Limits() }

// Families implements cf.Reader.
func (f *Follower) Families() []string {
	v := f.use()
	defer f.unuse(v)
	return v.Store.Families()
}
