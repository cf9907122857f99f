// Package beside reads a database that another process writes, for engines that open its
// files as of one moment.
package beside

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/smolwc/smolwc/cf"
)

// A Store is a database that is open for reading, as of the moment of its open. Its
// snapshots are [cf.EntryReader]s.
type Store interface {
	cf.Reader
	cf.Checker
}

// A Follower shows one moment of a database until Refresh opens the files again. It
// implements [cf.Reader], [cf.Refresher] and [cf.Checker].
type Follower[S Store] struct {
	open    func(ctx context.Context) (S, error)
	changed func(S) bool

	refreshing sync.Mutex              // one Refresh at a time
	newest     atomic.Pointer[view[S]] // open until Close

	mu     sync.Mutex
	views  map[*view[S]]struct{} // the open ones
	closed bool
}

// A view is the database at a moment. It is closed after its last use.
type view[S Store] struct {
	store S
	users atomic.Int64 // reads, snapshots, and the follower while the view is the newest; at 0 the view is closed for good
}

// Open opens a database with open, which Refresh calls again when changed reports that the
// files have changed since a store was opened.
func Open[S Store](open func(ctx context.Context) (S, error), changed func(S) bool) (*Follower[S], error) {
	s, err := open(context.Background())
	if err != nil {
		return nil, err
	}
	f := &Follower[S]{open: open, changed: changed, views: map[*view[S]]struct{}{}}
	f.show(s)
	return f, nil
}

// Created reports whether a database has a catalog. Otherwise a writer is creating it, or was
// interrupted while it did.
func Created(ctx context.Context, s cf.Reader) (bool, error) {
	if len(s.Families()) > 0 {
		return true, nil
	}
	snap, err := s.Snapshot(ctx)
	if err != nil {
		return false, err
	}
	defer snap.Close()
	entries, err := snap.MetaPrefix(ctx, "")
	return len(entries) > 0, err
}

// show makes a store the newest view. Once the Follower is shared, mu is held.
func (f *Follower[S]) show(s S) {
	v := &view[S]{store: s}
	v.users.Store(1)
	f.views[v] = struct{}{}
	f.newest.Store(v)
}

// Refresh implements [cf.Refresher].
func (f *Follower[S]) Refresh(ctx context.Context, accept func(cf.Snapshot, []string) error) error {
	f.refreshing.Lock()
	defer f.refreshing.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	old := f.use()
	defer f.unuse(old)
	if !f.changed(old.store) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.closed {
			return cf.ErrClosed
		}
		return nil
	}
	s, err := f.open(ctx)
	if err != nil {
		return err
	}
	if err := offer(ctx, s, accept); err != nil {
		return errors.Join(err, s.Close())
	}
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return errors.Join(cf.ErrClosed, s.Close())
	}
	f.show(s)
	f.mu.Unlock()
	f.unuse(old) // it is no longer the newest
	return nil
}

func offer(ctx context.Context, s Store, accept func(cf.Snapshot, []string) error) error {
	snap, err := s.Snapshot(ctx)
	if err != nil {
		return err
	}
	defer snap.Close()
	return accept(snap, s.Families())
}

// use returns the newest view. It stays open until unuse or Close.
func (f *Follower[S]) use() *view[S] {
	for {
		v := f.newest.Load()
		for n := v.users.Load(); n > 0; n = v.users.Load() {
			if v.users.CompareAndSwap(n, n+1) {
				return v
			}
		}
	}
}

// unuse closes a view after its last use.
func (f *Follower[S]) unuse(v *view[S]) {
	if v.users.Add(-1) > 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		delete(f.views, v)
		_ = v.store.Close() // nothing was written
	}
}

// useOnce is use, with an unuse that may be called several times.
func (f *Follower[S]) useOnce() (s S, done func()) {
	v := f.use()
	return v.store, sync.OnceFunc(func() { f.unuse(v) })
}

// Close implements [cf.Reader].
func (f *Follower[S]) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return cf.ErrClosed
	}
	f.closed = true
	var err error
	for v := range f.views {
		err = errors.Join(err, v.store.Close())
	}
	return err
}

// Newest calls fn with the store that the Follower shows, which stays open meanwhile.
func (f *Follower[S]) Newest(fn func(S)) {
	v := f.use()
	defer f.unuse(v)
	fn(v.store)
}

// Snapshot implements [cf.Reader].
func (f *Follower[S]) Snapshot(ctx context.Context) (cf.Snapshot, error) {
	of, done := f.useOnce()
	s, err := of.Snapshot(ctx)
	if err != nil {
		done()
		return nil, err
	}
	return &snapshot{s, done}, nil
}

// A snapshot keeps its view open.
type snapshot struct {
	cf.Snapshot
	done func()
}

func (s *snapshot) Close() {
	s.Snapshot.Close()
	s.done()
}

// Entries implements [cf.EntryReader].
func (s *snapshot) Entries(ctx context.Context, family string, fn func(key, value []byte) error) error {
	return s.Snapshot.(cf.EntryReader).Entries(ctx, family, fn)
}

// Begin implements [cf.Reader]. The transaction can read, but it cannot commit changes.
func (f *Follower[S]) Begin(ctx context.Context) (cf.Txn, error) {
	of, done := f.useOnce()
	t, err := of.Begin(ctx)
	if err != nil {
		done()
		return nil, err
	}
	return &txn{t, done}, nil
}

// A txn keeps its view open.
type txn struct {
	cf.Txn
	done func()
}

func (t *txn) Commit(ctx context.Context, last func(*cf.Batch) error) (cf.Position, error) {
	defer t.done()
	return t.Txn.Commit(ctx, last)
}

func (t *txn) Close() {
	t.Txn.Close()
	t.done()
}

// Read implements [cf.Reader].
func (f *Follower[S]) Read(ctx context.Context, spec *cf.Scan, a *cf.Answer) error {
	v := f.use()
	defer f.unuse(v)
	return v.store.Read(ctx, spec, a)
}

// Splits implements [cf.Reader].
func (f *Follower[S]) Splits(ctx context.Context, families []string, rows cf.Range, n int) ([]cf.Part, error) {
	v := f.use()
	defer f.unuse(v)
	return v.store.Splits(ctx, families, rows, n)
}

// Stats implements [cf.Reader]. Counters begin at 0 with each view.
func (f *Follower[S]) Stats(ctx context.Context) (cf.Stats, error) {
	v := f.use()
	defer f.unuse(v)
	return v.store.Stats(ctx)
}

// CheckFiles implements [cf.Checker].
func (f *Follower[S]) CheckFiles(ctx context.Context, fn func(cf.CheckedFile) error) error {
	v := f.use()
	defer f.unuse(v)
	return v.store.CheckFiles(ctx, fn)
}

// Limits implements [cf.Reader].
func (f *Follower[S]) Limits() cf.Limits { return f.newest.Load().store.Limits() }

// Families implements [cf.Reader].
func (f *Follower[S]) Families() []string {
	v := f.use()
	defer f.unuse(v)
	return v.store.Families()
}
