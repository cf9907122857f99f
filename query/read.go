package query

import (
	"context"
	"iter"
	"slices"
)

// ReadRow reads one row. A row without a cell that the options select is
// [ErrNotFound].
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

// A Count is how much a read would return.
type Count struct {
	Rows  int64
	Cells int64 // 0 with KeysOnly
}

// Count counts what [Table.ReadRows] with the same options returns. With
// [KeysOnly] it counts rows alone, which is cheaper.
func (t *Table) Count(ctx context.Context, opts ...ReadOption) (Count, error) {
	const op = "count"
	var n Count
	r, err := t.newReader(ctx, opts)
	if err != nil {
		return n, fail(op, t.name, "", err)
	}
	defer r.close()
	for {
		row, err := r.next(ctx)
		if row == nil || err != nil {
			return n, fail(op, t.name, "", err)
		}
		n.Rows++
		n.Cells += int64(row.Len())
	}
}
