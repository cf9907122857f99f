package directory

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/rowmap"
	"github.com/smolwc/smolwc/tuple"
)

// CreateOrOpen is the directory at a path below d. It creates the directory and its
// missing parents if it does not exist. If it exists, a layer that is not nil must be
// its layer, as in [Directory.Open]; a new directory gets the layer. [PartitionLayer]
// makes a partition. If several transactions create the same path at the same time, one
// succeeds, and the others run again and open it.
func (d *Directory) CreateOrOpen(ctx context.Context, tx *query.Tx, path []string, layer []byte) (*Directory, error) {
	return d.obtain(ctx, tx, "create or open directory", path, wish{layer: layer, open: true, create: true})
}

// Create is CreateOrOpen, but for an existing directory the error is [ErrExists].
func (d *Directory) Create(ctx context.Context, tx *query.Tx, path []string, layer []byte) (*Directory, error) {
	return d.obtain(ctx, tx, "create directory", path, wish{layer: layer, create: true})
}

// CreatePrefix is Create with a prefix of the caller's, for rows that exist already. It
// needs [Options.ManualPrefixes], and does not work below a partition. The error is
// [ErrPrefixInUse] if the prefix begins with a directory's prefix, or a directory's
// prefix begins with it. Its missing parents get prefixes of their own.
func (d *Directory) CreatePrefix(ctx context.Context, tx *query.Tx, path []string, layer, prefix []byte) (*Directory, error) {
	return d.obtain(ctx, tx, "create directory", path, wish{layer: layer, create: true, manual: true, prefix: string(prefix)})
}

// A wish says which directory a caller wants.
type wish struct {
	layer        []byte // nil is any
	create, open bool
	manual       bool
	prefix       string // if manual
}

func (d *Directory) obtain(ctx context.Context, tx *query.Tx, op string, path []string, want wish) (found *Directory, err error) {
	err = d.do(ctx, tx, op, path, func(w *work) error {
		at, rest, err := w.walk(d, path)
		switch {
		case err != nil:
			return err
		case at.prefix == "" && len(rest) == 0:
			return ErrRoot
		case len(rest) == 0 && !want.open:
			return ErrExists
		case len(rest) > 0 && !want.create:
			return ErrNotFound
		case len(rest) > 0:
			found, err = w.create(at, rest, want)
			return err
		case want.layer != nil && !bytes.Equal(want.layer, []byte(at.layer)):
			return fmt.Errorf("%w: %q, not %q", ErrLayer, at.layer, want.layer)
		}
		found = at
		return nil
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// create makes the directories of a path. The last one gets its prefix first, as in
// FoundationDB.
func (w *work) create(d *Directory, path []string, want wish) (*Directory, error) {
	r, last := d.inner(), len(path)-1
	if err := w.checkManual(r, want); err != nil {
		return nil, err
	}
	if err := w.writable(r); err != nil {
		return nil, err
	}
	prefixes := make([]string, len(path))
	for i := last; i >= 0; i-- {
		layer, prefix := "", ""
		if i == last {
			layer, prefix = string(want.layer), want.prefix
		}
		var err error
		if prefixes[i], err = w.claim(r, layer, prefix); err != nil {
			return nil, err
		}
	}
	for i, name := range path {
		if err := w.set(entryKey(d.node(), name), prefixes[i]); err != nil {
			return nil, err
		}
		d = d.with(name, prefixes[i], "")
	}
	d.layer = string(want.layer)
	return d, nil
}

// claim takes a prefix for a directory; if prefix is empty, it allocates one. The
// directory's node is written at once, so that the next claim sees it.
func (w *work) claim(r realm, layer, prefix string) (string, error) {
	if prefix == "" {
		var err error
		if prefix, err = w.newPrefix(r); err != nil {
			return "", err
		}
	}
	return prefix, w.set(layerKey(r.node(prefix)), layer)
}

// newPrefix allocates a prefix, and tries again when a manual prefix overlaps it. Rows
// whose keys begin with it are an error: their writer does not know of the directories.
func (w *work) newPrefix(r realm) (string, error) {
	for range maxDraws {
		number, err := (&allocator{w, r.allocator()}).allocate()
		if err != nil {
			return "", err
		}
		prefix := string(r) + number
		if taken, err := w.overlaps(r, prefix); err != nil || !taken {
			if err == nil {
				err = w.checkUnused(prefix)
			}
			return prefix, err
		}
	}
	return "", fmt.Errorf("%w: manual prefixes leave the allocator no room", ErrPrefixInUse)
}

func (w *work) checkManual(r realm, want wish) error {
	switch {
	case !want.manual:
		return nil
	case !w.ManualPrefixes:
		return rowmap.Fault(query.KindInvalidArgument, "prefixes are chosen by the directories; Options.ManualPrefixes permits others")
	case r != "":
		return fmt.Errorf("%w: a partition chooses the prefixes of its directories", ErrPartition)
	case !r.owns(want.prefix):
		return rowmap.Fault(query.KindInvalidArgument, "x'%x' cannot be a prefix: it is empty, or begins with FE, where the directories are", want.prefix)
	}
	taken, err := w.overlaps(r, want.prefix)
	if err == nil && taken {
		err = fmt.Errorf("%w: x'%x' overlaps that of another directory", ErrPrefixInUse, want.prefix)
	}
	return err
}

// overlaps reports whether the prefix is a directory's, or begins a directory's prefix,
// or begins with one. The commit depends on the answer.
func (w *work) overlaps(r realm, prefix string) (bool, error) {
	below := strings.TrimSuffix(string(tuple.AppendBytes([]byte(r.nodes()), []byte(prefix))), "\x00")
	rows := read.Prefix(below)
	for n := len(r) + 1; n < len(prefix); n++ {
		rows.Ranges = append(rows.Ranges, read.Key(layerKey(r.node(prefix[:n]))).Ranges...)
	}
	return w.any(w.table(), rows)
}

// checkUnused fails if a row key begins with a prefix.
func (w *work) checkUnused(prefix string) error {
	for _, table := range w.tables() {
		used, err := w.any(table, read.Prefix(prefix))
		if err != nil {
			return err
		}
		if used {
			return fmt.Errorf("%w: the allocator chose x'%x', and keys of table %s begin with it", ErrPrefixInUse, prefix, table)
		}
	}
	return nil
}
