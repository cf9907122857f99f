package directory

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/rowmap"
)

// Move moves the directory at a path below d to another path below d, and returns it
// with its new path. The new parent must exist. Its prefix, its rows and the
// directories below it stay as they are. The border of a partition cannot be crossed:
// the error is [ErrPartition].
func (d *Directory) Move(ctx context.Context, tx *query.Tx, from, to []string) (moved *Directory, err error) {
	err = d.do(ctx, tx, "move directory", from, func(w *work) (err error) {
		if err = checkNames(to); err == nil {
			moved, err = w.move(d, from, to)
		}
		return err
	})
	return moved, err
}

// MoveTo is [Directory.Move] of d itself to a path from the root.
func (d *Directory) MoveTo(ctx context.Context, tx *query.Tx, to []string) (moved *Directory, err error) {
	err = d.do(ctx, tx, "move directory", nil, func(w *work) (err error) {
		if err = checkNames(to); err == nil {
			moved, err = w.move(New(d.store.Options), d.path, to)
		}
		return err
	})
	return moved, err
}

// move checks everything before it writes.
func (w *work) move(d *Directory, from, to []string) (*Directory, error) {
	at, err := w.must(d, from)
	if err != nil {
		return nil, err
	}
	if at.prefix == "" {
		return nil, ErrRoot
	}
	if len(to) >= len(from) && slices.Equal(from, to[:len(from)]) {
		return nil, rowmap.Fault(query.KindInvalidArgument, "%w", destination(to, errors.New("this path is the directory itself, or below it")))
	}
	parent, rest, err := w.walk(d, to)
	switch {
	case err != nil:
		return nil, err
	case len(rest) == 0:
		return nil, destination(to, ErrExists)
	case len(rest) > 1:
		return nil, destination(to[:len(to)-1], ErrNotFound)
	case parent.inner() != at.home:
		return nil, destination(to, fmt.Errorf("%w, and directories cannot be moved into or out of it", ErrPartition))
	}
	if err := w.writable(at.home); err != nil {
		return nil, err
	}
	moved := parent.with(rest[0], at.prefix, at.layer)
	if err := w.delete(w.table(), at.entry()); err != nil {
		return nil, err
	}
	return moved, w.set(moved.entry(), moved.prefix)
}

// entry is the key of d in its parent.
func (d *Directory) entry() string { return d.steps[len(d.steps)-1].key }

// Remove removes the directory at a path below d, d itself without a path, with the
// directories below it and all their rows, in the table of the directories and in
// [Options.Data]. It reports whether there was a directory.
//
// The rows are deleted one by one and held in memory until the commit. Before a large
// directory is removed, delete its rows with [query.Table.DeleteRange].
func (d *Directory) Remove(ctx context.Context, tx *query.Tx, path []string) (removed bool, err error) {
	err = d.do(ctx, tx, "remove directory", path, func(w *work) error {
		at, rest, err := w.walk(d, path)
		switch {
		case err != nil || len(rest) > 0:
			return err
		case at.prefix == "":
			return ErrRoot
		}
		if err := w.writable(at.home); err != nil {
			return err
		}
		prefixes, err := w.tree(at.home, at.prefix)
		if err != nil {
			return err
		}
		removed = true
		return w.removeAll(at, prefixes)
	})
	return removed && err == nil, err
}

// tree are the prefixes of a directory and of all directories below it in its realm.
// All of them are checked before anything is deleted.
func (w *work) tree(r realm, prefix string) ([]string, error) {
	all, seen := []string{prefix}, map[string]bool{prefix: true}
	for i := 0; i < len(all); i++ {
		rows := w.cell(within(entries(r.node(all[i]))))
		for row, err := range w.tx.ReadRows(w.ctx, w.table(), rows...) {
			if err != nil {
				return nil, err
			}
			child, err := w.value(row)
			if err != nil {
				return nil, err
			}
			if !r.owns(child) || seen[child] {
				return nil, w.misplaced(row.Key(), child)
			}
			all, seen[child] = append(all, child), true
		}
	}
	return all, nil
}

// removeAll reads all rows of a table at once. A read for each directory would pass
// over the deletes of those before, again and again.
func (w *work) removeAll(at *Directory, prefixes []string) error {
	for _, table := range w.tables() {
		var rows read.RowSet
		for _, prefix := range prefixes {
			rows.Ranges = append(rows.Ranges, read.Prefix(prefix).Ranges...)
			if table == w.table() {
				rows.Ranges = append(rows.Ranges, within(at.home.node(prefix)).Ranges...)
			}
		}
		if err := w.clear(table, rows); err != nil {
			return err
		}
	}
	return w.delete(w.table(), at.entry())
}
