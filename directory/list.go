package directory

import (
	"context"
	"strings"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/tuple"
)

// List are the names of the directories directly below a path below d, in the order
// of their bytes.
func (d *Directory) List(ctx context.Context, tx *query.Tx, path []string) (names []string, err error) {
	return d.ListPrefix(ctx, tx, path, "")
}

// ListPrefix is List of the names that begin with a prefix. The options may be
// [read.Limit], which takes only the first names, and [read.Reverse].
func (d *Directory) ListPrefix(ctx context.Context, tx *query.Tx, path []string, prefix string, opts ...read.Option) (names []string, err error) {
	err = d.do(ctx, tx, "list directory", path, func(w *work) error {
		if err := checkNames([]string{prefix}); err != nil {
			return err
		}
		at, err := w.must(d, path)
		if err != nil {
			return err
		}
		names, err = w.names(at, prefix, opts)
		return err
	})
	if err != nil {
		return nil, err
	}
	return names, nil
}

func (w *work) names(d *Directory, prefix string, opts []read.Option) (names []string, err error) {
	begin := entries(d.node())
	rows := within(begin)
	if prefix != "" {
		rows = read.Prefix(begin + namesFrom(prefix))
	}
	keys, err := keysOf(w.tx.ReadRows(w.ctx, w.table(), append([]read.Option{rows, read.KeysOnly()}, opts...)...))
	for _, key := range keys {
		name, err := nameOf(key, begin)
		if err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, err
}

// namesFrom is how the packed forms of all names with a prefix begin.
func namesFrom(prefix string) string {
	return strings.TrimSuffix(tuple.Key(prefix), "\x00")
}

// Children are the directories directly below a path below d, in the order of the
// bytes of their names.
func (d *Directory) Children(ctx context.Context, tx *query.Tx, path []string) (children []*Directory, err error) {
	return d.inside(ctx, tx, path, (*work).children)
}

// Descendants are all directories below a path below d, those in partitions too. Each
// one is followed by those below it, and otherwise they have the order of their names.
// All of them are held in memory, some 500 bytes each.
func (d *Directory) Descendants(ctx context.Context, tx *query.Tx, path []string) (all []*Directory, err error) {
	return d.inside(ctx, tx, path, func(w *work, at *Directory) ([]*Directory, error) {
		return w.descendants(at, map[string]bool{at.prefix: true}, nil)
	})
}

// inside are directories in the one at a path below d.
func (d *Directory) inside(ctx context.Context, tx *query.Tx, path []string, find func(*work, *Directory) ([]*Directory, error)) (found []*Directory, err error) {
	err = d.do(ctx, tx, "list directory", path, func(w *work) error {
		at, err := w.must(d, path)
		if err == nil {
			found, err = find(w, at)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

func (w *work) children(d *Directory) (children []*Directory, err error) {
	begin := entries(d.node())
	for row, err := range w.tx.ReadRows(w.ctx, w.table(), w.cell(within(begin))...) {
		if err != nil {
			return nil, err
		}
		name, err := nameOf(row.Key(), begin)
		if err != nil {
			return nil, err
		}
		prefix, err := w.value(row)
		if err != nil {
			return nil, err
		}
		child, err := w.childAt(d, name, prefix)
		if err != nil {
			return nil, err
		}
		children = append(children, child)
	}
	return children, nil
}

// descendants appends the directories below d. It fails if one of them is seen, for
// which a damaged table could have two parents.
func (w *work) descendants(d *Directory, seen map[string]bool, all []*Directory) ([]*Directory, error) {
	children, err := w.children(d)
	if err != nil {
		return nil, err
	}
	for _, child := range children {
		if seen[child.prefix] {
			return nil, w.misplaced(child.entry(), child.prefix)
		}
		seen[child.prefix] = true
		if all, err = w.descendants(child, seen, append(all, child)); err != nil {
			return nil, err
		}
	}
	return all, nil
}
