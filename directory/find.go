package directory

import (
	"context"
	"errors"
	"hash/maphash"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/rowmap"
)

// Open is the directory at a path below d. A layer that is not nil must be the one with
// which the directory was created; otherwise the error is [ErrLayer]. A path without
// names is d itself.
func (d *Directory) Open(ctx context.Context, tx *query.Tx, path []string, layer []byte) (*Directory, error) {
	return d.obtain(ctx, tx, "open directory", path, wish{layer: layer, open: true})
}

// Exists reports whether there is a directory at a path below d. With an empty path it
// reports whether d still exists at its path.
func (d *Directory) Exists(ctx context.Context, tx *query.Tx, path []string) (exists bool, err error) {
	err = d.do(ctx, tx, "look for directory", path, func(w *work) error {
		_, rest, err := w.walk(d, path)
		exists = len(rest) == 0
		return err
	})
	if len(path) == 0 && errors.Is(err, ErrStale) {
		return false, nil
	}
	return exists && err == nil, err
}

// do runs one call on d, if d still exists at its path.
func (d *Directory) do(ctx context.Context, tx *query.Tx, op string, path []string, fn func(w *work) error) error {
	turn := &turns[maphash.Comparable(turnSeed, tx)%uint64(len(turns))]
	turn.Lock()
	defer turn.Unlock()
	w := &work{store: d.store, ctx: ctx, tx: tx}
	err := checkNames(path)
	if err == nil {
		err = w.inPlace(d)
	}
	if err == nil {
		err = fn(w)
	}
	return kinds.Fail(op, err, d.below(path)...)
}

// turns makes the calls of one transaction run one at a time: of two calls that create
// one path, the second finds the directory of the first. Transactions may share a lock.
var (
	turns    [64]sync.Mutex
	turnSeed = maphash.MakeSeed()
)

func (d *Directory) below(path []string) []string { return slices.Concat(d.path, path) }

func checkNames(path []string) error {
	for _, name := range path {
		if !utf8.ValidString(name) {
			return rowmap.Fault(query.KindInvalidArgument, "the name %q is not valid UTF-8", name)
		}
	}
	return nil
}

// inPlace fails unless all entries that led to d are as they were. The commit depends
// on them.
func (w *work) inPlace(d *Directory) error {
	for _, s := range d.steps {
		prefix, found, err := w.get(s.key)
		if err != nil {
			return err
		}
		if !found || prefix != s.prefix {
			return ErrStale
		}
	}
	_, err := w.version(d.inner())
	return err
}

// walk goes down a path as far as there are directories. The rest is the path from the
// first missing directory on.
func (w *work) walk(d *Directory, path []string) (at *Directory, rest []string, err error) {
	for i, name := range path {
		child, err := w.child(d, name)
		if child == nil || err != nil {
			return d, path[i:], err
		}
		d = child
	}
	return d, nil, nil
}

// must is walk to a directory that must exist.
func (w *work) must(d *Directory, path []string) (*Directory, error) {
	at, rest, err := w.walk(d, path)
	if err == nil && len(rest) > 0 {
		err = ErrNotFound
	}
	return at, err
}

// child is the directory of this name in d, nil if there is no such directory.
func (w *work) child(d *Directory, name string) (*Directory, error) {
	prefix, found, err := w.get(entryKey(d.node(), name))
	if err != nil || !found {
		return nil, err
	}
	return w.childAt(d, name, prefix)
}

// childAt is the child of d with this name and prefix, as in its entry.
func (w *work) childAt(d *Directory, name, prefix string) (*Directory, error) {
	if !d.inner().owns(prefix) {
		return nil, w.misplaced(entryKey(d.node(), name), prefix)
	}
	layer, _, err := w.get(layerKey(d.inner().node(prefix)))
	if err != nil {
		return nil, err
	}
	child := d.with(name, prefix, layer)
	if child.isPartition() {
		_, err = w.version(child.inner())
	}
	return child, err
}

// with is the child of d with these values.
func (d *Directory) with(name, prefix, layer string) *Directory {
	return &Directory{
		store: d.store, path: d.below([]string{name}), prefix: prefix, layer: layer, home: d.inner(),
		steps: slices.Concat(d.steps, []step{{entryKey(d.node(), name), prefix}}),
	}
}

func (w *work) misplaced(key, prefix string) error {
	return rowmap.Fault(query.KindCorruption, "table %s, row %x: no directory can have the prefix x'%x' there", w.table(), key, prefix)
}
