package pebble

import (
	"context"
	"errors"
	"sync"

	engine "github.com/cockroachdb/pebble/v2"

	"github.com/smolwc/smolwc/cf"
)

// A Follower is a read-only store beside a writer. It shows one moment until Refresh opens
// the files again.
//
// On Windows a file that is open cannot be removed: there a Follower takes the lock of the
// directory, so that nobody writes while it is open.
type Follower struct {
	dir     string
	options Options

	refreshing sync.Mutex // one Refresh at a time

	mu     sync.Mutex
	newest *view
	views  map[*view]struct{} // the open ones
	closed bool
}

var (
	_ cf.Reader    = (*Follower)(nil)
	_ cf.Refresher = (*Follower)(nil)
)

// A view is the database at a moment. It is closed after its last use.
type view struct {
	*Store
	users int // reads, snapshots, and the follower while the view is the newest
}

// OpenFollower opens the database in dir for reading; this or another process may write it.
func OpenFollower(dir string, o Options) (*Follower, error) {
	o.ReadOnly = true
	if o.cache == nil { // all views have one
		o.cache = engine.NewCache(cacheSize(o.Memory))
	}
	s, err := openView(dir, o)
	if err != nil {
		o.cache.Unref()
		return nil, err
	}
	v := &view{s, 1}
	return &Follower{dir: s.dir, options: o, newest: v, views: map[*view]struct{}{v: {}}}, nil
}

// openView fails with ErrCreating if the catalog is empty.
func openView(dir string, o Options) (*Store, error) {
	s, err := Open(dir, o)
	if err != nil || len(s.Families()) > 0 {
		return s, err
	}
	it, err := s.db.NewIter(&engine.IterOptions{LowerBound: appendID(nil, spaceMeta), UpperBound: appendID(nil, spaceMeta+1)})
	if err == nil {
		created := it.First()
		if err = it.Close(); err == nil && !created {
			err = ErrCreating
		}
	}
	if err != nil {
		return nil, errors.Join(wrap(err), s.Close())
	}
	return s, nil
}

// Refresh implements cf.Refresher.
func (f *Follower) Refresh(ctx context.Context, accept func(cf.Snapshot, []string) error) error {
	f.refreshing.Lock()
	defer f.refreshing.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	old, err := f.use()
	if err != nil {
		return err
	}
	defer f.unuse(old)
	if old.pins == nil { // nobody writes
		return nil
	}
	if now, err := stampOf(old.pins.FS, old.dir); err == nil && now.equal(old.pins.stamp) {
		return nil
	}
	o := f.options
	o.ctx = ctx
	s, err := openView(f.dir, o)
	if err != nil {
		return err
	}
	if err := s.show(ctx, accept); err != nil {
		return errors.Join(err, s.Close())
	}
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return errors.Join(cf.ErrClosed, s.Close())
	}
	f.newest = &view{s, 1}
	f.views[f.newest] = struct{}{}
	f.mu.Unlock()
	f.unuse(old) // it is no longer the newest
	return nil
}

func (s *Store) show(ctx context.Context, accept func(cf.Snapshot, []string) error) error {
	snap, err := s.Snapshot(ctx)
	if err != nil {
		return err
	}
	defer snap.Close()
	return accept(snap, s.Families())
}

// use returns the newest view. It stays open until unuse or Close.
func (f *Follower) use() (*view, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, cf.ErrClosed
	}
	f.newest.users++
	return f.newest, nil
}

// unuse closes a view after its last use.
func (f *Follower) unuse(v *view) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if v.users--; v.users > 0 || f.closed {
		return
	}
	delete(f.views, v)
	_ = v.Store.Close() // nothing was written
}

// useOnce is use, with an unuse that may be called several times.
func (f *Follower) useOnce() (*view, func(), error) {
	v, err := f.use()
	if err != nil {
		return nil, nil, err
	}
	return v, sync.OnceFunc(func() { f.unuse(v) }), nil
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
	f.options.cache.Unref()
	return err
}

// Snapshot implements cf.Reader.
func (f *Follower) Snapshot(ctx context.Context) (cf.Snapshot, error) {
	v, done, err := f.useOnce()
	if err != nil {
		return nil, err
	}
	s, err := v.Store.Snapshot(ctx)
	if err != nil {
		done()
		return nil, err
	}
	return &followed{s.(*snapshot), done}, nil
}

// A followed is a snapshot that keeps its view open.
type followed struct {
	*snapshot
	done func()
}

func (s *followed) Close() {
	s.snapshot.Close()
	s.done()
}

// Read implements cf.Reader.
func (f *Follower) Read(ctx context.Context, spec *cf.Scan, a *cf.Answer) error {
	v, err := f.use()
	if err != nil {
		return err
	}
	defer f.unuse(v)
	return v.Store.Read(ctx, spec, a)
}

// Begin implements cf.Reader. The transaction can read, but it cannot commit changes.
func (f *Follower) Begin(ctx context.Context) (cf.Txn, error) {
	v, done, err := f.useOnce()
	if err != nil {
		return nil, err
	}
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
	v, err := f.use()
	if err != nil {
		return nil, err
	}
	defer f.unuse(v)
	return v.Store.Splits(ctx, families, rows, n)
}

// Stats implements cf.Reader. Counters begin at 0 with each refresh.
func (f *Follower) Stats(ctx context.Context) (cf.Stats, error) {
	v, err := f.use()
	if err != nil {
		return cf.Stats{}, err
	}
	defer f.unuse(v)
	return v.Store.Stats(ctx)
}

// CheckFiles implements cf.Checker.
func (f *Follower) CheckFiles(ctx context.Context, fn func(cf.CheckedFile) error) error {
	v, err := f.use()
	if err != nil {
		return err
	}
	defer f.unuse(v)
	return v.Store.CheckFiles(ctx, fn)
}

// Limits implements cf.Reader.
func (f *Follower) Limits() cf.Limits { return (*Store)(nil).Limits() }

// Families implements cf.Reader. A closed Follower returns none.
func (f *Follower) Families() []string {
	v, err := f.use()
	if err != nil {
		return nil
	}
	defer f.unuse(v)
	return v.Store.Families()
}
