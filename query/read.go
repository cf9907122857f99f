package query

import (
	"context"
	"iter"
	"slices"
)

// ReadRow reads one row. A row without a cell that the options select is
// [ErrNotFound]. One of more than [MaxRowBytes] is an error; [Table.ReadCells]
// and [Table.ReadPage] read rows of any size.
func (t *Table) ReadRow(ctx context.Context, key string, opts ...ReadOption) (*Row, error) {
	const op = "read row"
	r, err := t.newReader(ctx, append(slices.Clip(opts), Key(key)))
	if err != nil {
		return nil, fail(op, t.name, key, err)
	}
	defer r.close()
	row, err := r.next(ctx)
	if err == nil && row == nil {
		err = faultf(NotFound, "row not found")
	}
	return row, fail(op, t.name, key, err)
}

// ReadRows reads rows in key order, all of one snapshot: all rows of the table,
// or those of the RowSets among the options. Leaving the loop ends the read. An
// error ends it too: it comes with a nil row, last.
//
// The context is looked at between blocks of some thousand cells.
func (t *Table) ReadRows(ctx context.Context, opts ...ReadOption) iter.Seq2[*Row, error] {
	const op = "read rows"
	return func(yield func(*Row, error) bool) {
		r, err := t.newReader(ctx, opts)
		if err != nil {
			yield(nil, fail(op, t.name, "", err))
			return
		}
		defer r.close()
		for {
			row, err := r.next(ctx)
			if err != nil {
				yield(nil, fail(op, t.name, "", err))
				return
			}
			if row == nil || !yield(row, nil) {
				return
			}
		}
	}
}

// MaxRowBytes is how much memory a row may take when it is read as a whole: the
// bytes of its qualifiers and encoded values and 24 more for each cell. A read
// of a larger row fails, with the kind [ResourceExhausted], when it gets there.
const MaxRowBytes = 256 << 20

const cellBytes = 24 // what a cell takes besides its qualifier and value

func (r *readSpec) rowBytes() int {
	if r.maxBytes > 0 {
		return r.maxBytes
	}
	return MaxRowBytes
}

func rowTooLarge(key string) error {
	return faultf(ResourceExhausted, "row %q takes more than %d MiB; read it with ReadCells, or in pages of columns with ReadPage", shorten(key), MaxRowBytes>>20)
}

// ReadRowList reads the rows with these keys, all of one snapshot, and returns
// them in the order of keys, of which some may be equal: rows[i] is the row of
// keys[i], nil when it has no cell that the options select. The options may not
// choose rows themselves or limit their number.
func (t *Table) ReadRowList(ctx context.Context, keys []string, opts ...ReadOption) ([]*Row, error) {
	rows, err := t.readRowList(ctx, keys, opts)
	return rows, fail("read row list", t.name, "", err)
}

func (t *Table) readRowList(ctx context.Context, keys []string, opts []ReadOption) ([]*Row, error) {
	spec, err := newReadSpec(opts)
	if err != nil {
		return nil, err
	}
	if err := spec.choosesNoRows("a list of keys"); err != nil {
		return nil, err
	}
	r, err := t.newReader(ctx, append(slices.Clip(opts), Key(keys...)))
	if err != nil {
		return nil, err
	}
	defer r.close()
	found := make(map[string]*Row, len(keys))
	for {
		row, err := r.next(ctx)
		if err != nil {
			return nil, err
		}
		if row == nil {
			break
		}
		found[row.key] = row
	}
	rows := make([]*Row, len(keys))
	for i, k := range keys {
		rows[i] = found[k]
	}
	return rows, nil
}

// choosesNoRows refuses options that choose rows, beside what does so already.
func (r *readSpec) choosesNoRows(beside string) error {
	switch {
	case r.hasRows || r.hasAfter:
		return faultf(InvalidArgument, "row sets and StartAfter cannot be given beside %s", beside)
	case r.limit != 0 || r.offset != 0:
		return faultf(InvalidArgument, "limit and offset cannot be given beside %s", beside)
	}
	return nil
}
