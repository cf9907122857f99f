package catalog

import (
	"context"
	"iter"
	"sync/atomic"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/server/internal/calls"
)

// Counts are the rows and cells that clients have read and written.
type Counts struct{ RowsRead, CellsRead, RowsWritten, CellsWritten atomic.Int64 }

// The methods below call [query.Table] and count their reads and writes, for the call, for
// the metrics, and for the heat of the rows.

// read counts rows and cells read by a call.
func (t *Table) read(call *calls.Call, rows, cells int64) {
	call.Read(rows, cells)
	t.catalog.Counts.RowsRead.Add(rows)
	t.catalog.Counts.CellsRead.Add(cells)
}

// A read counts its first rows one by one, and then many at a time.
const (
	countedOne = 64
	countEvery = 64
)

// A tally counts the rows of one read.
type tally struct {
	table             *Table
	call              *calls.Call
	seen, rows, cells int64
}

// row counts a row with some of its cells.
func (c *tally) row(key string, cells int) {
	c.table.heat.Read(key)
	c.rows++
	c.cells += int64(cells)
	if c.seen++; c.seen <= countedOne || c.rows == countEvery {
		c.count()
	}
}

func (c *tally) count() {
	c.table.read(c.call, c.rows, c.cells)
	c.rows, c.cells = 0, 0
}

// counted counts the rows of a read.
func (t *Table) counted(ctx context.Context, all iter.Seq2[*query.Row, error]) iter.Seq2[*query.Row, error] {
	return func(yield func(*query.Row, error) bool) {
		c := tally{table: t, call: calls.Of(ctx)}
		defer c.count()
		for row, err := range all {
			if err == nil {
				c.row(row.Key(), row.Len())
			}
			if !yield(row, err) {
				return
			}
		}
	}
}

// ReadRows calls [query.Table.ReadRows].
func (t *Table) ReadRows(ctx context.Context, opts ...read.Option) iter.Seq2[*query.Row, error] {
	return t.counted(ctx, t.Table.ReadRows(ctx, opts...))
}

// ReadPartsParallel calls [query.Table.ReadPartsParallel].
func (t *Table) ReadPartsParallel(ctx context.Context, n int, fn func(ctx context.Context, part int, rows iter.Seq2[*query.Row, error]) error, opts ...read.Option) error {
	return t.Table.ReadPartsParallel(ctx, n, func(ctx context.Context, part int, rows iter.Seq2[*query.Row, error]) error {
		return fn(ctx, part, t.counted(ctx, rows))
	}, opts...)
}

// ScanCells calls [query.Table.ScanCells].
func (t *Table) ScanCells(ctx context.Context, opts ...read.Option) iter.Seq2[query.RowCell, error] {
	return func(yield func(query.RowCell, error) bool) {
		c := tally{table: t, call: calls.Of(ctx)}
		defer c.count()
		last := ""
		for cell, err := range t.Table.ScanCells(ctx, opts...) {
			if err == nil {
				if c.seen == 0 || cell.Key != last {
					last = cell.Key
					c.row(last, 0)
				}
				c.cells++
			}
			if !yield(cell, err) {
				return
			}
		}
	}
}

// LookedUp counts a read of a row whose cells are not counted: the row does not exist, a filter
// rejects it, or only the server sees it.
func (t *Table) LookedUp(ctx context.Context, key string) {
	t.heat.Read(key)
	calls.Of(ctx).Read(1, 0)
}

// ReadRow calls [query.Table.ReadRow].
func (t *Table) ReadRow(ctx context.Context, key string, opts ...read.Option) (*query.Row, error) {
	row, err := t.Table.ReadRow(ctx, key, opts...)
	if row == nil {
		t.LookedUp(ctx, key)
		return nil, err
	}
	t.heat.Read(key)
	t.read(calls.Of(ctx), 1, int64(row.Len()))
	return row, err
}

// ReadCells calls [query.Table.ReadCells].
func (t *Table) ReadCells(ctx context.Context, key string, opts ...read.Option) iter.Seq2[cells.Cell, error] {
	return func(yield func(cells.Cell, error) bool) {
		c := tally{table: t, call: calls.Of(ctx)}
		defer c.count()
		c.row(key, 0)
		for cell, err := range t.Table.ReadCells(ctx, key, opts...) {
			if c.cells++; c.cells == countEvery {
				c.count()
			}
			if !yield(cell, err) {
				return
			}
		}
	}
}

// Count calls [query.Table.Count], which does not say which rows it read.
func (t *Table) Count(ctx context.Context, opts ...read.Option) (query.Count, error) {
	n, err := t.Table.Count(ctx, opts...)
	calls.Of(ctx).Read(n.Rows, n.Cells)
	return n, err
}

// Apply calls [query.Table.Apply].
func (t *Table) Apply(ctx context.Context, key string, m *write.Mutation) error {
	err := t.Table.Apply(ctx, key, m)
	t.Wrote(ctx, err, m.Len(), key)
	return err
}

// ApplyBulk calls [query.Table.ApplyBulk].
func (t *Table) ApplyBulk(ctx context.Context, keys []string, ms []*write.Mutation) ([]error, error) {
	errs, err := t.Table.ApplyBulk(ctx, keys, ms)
	rows, cells := 0, 0
	for i, key := range keys {
		t.heat.Write(key)
		if err == nil && (errs == nil || errs[i] == nil) {
			rows, cells = rows+1, cells+ms[i].Len()
		}
	}
	t.written(ctx, rows, cells)
	return errs, err
}

// CheckAndMutate calls [query.Table.CheckAndMutate]. It counts as a read and a write.
func (t *Table) CheckAndMutate(ctx context.Context, key string, predicate read.Option, ifTrue, ifFalse *write.Mutation) (bool, error) {
	matched, err := t.Table.CheckAndMutate(ctx, key, predicate, ifTrue, ifFalse)
	taken := ifFalse
	if matched {
		taken = ifTrue
	}
	t.LookedUp(ctx, key)
	t.Wrote(ctx, err, taken.Len(), key)
	return matched, err
}

// ApplyReadModifyWrite calls [query.Table.ApplyReadModifyWrite]. It counts as a read and
// a write.
func (t *Table) ApplyReadModifyWrite(ctx context.Context, key string, m *write.ReadModifyWrite) (*query.Row, error) {
	row, err := t.Table.ApplyReadModifyWrite(ctx, key, m)
	t.LookedUp(ctx, key)
	t.Wrote(ctx, err, row.Len(), key)
	return row, err
}

// Wrote counts a write of rows with some changes of cells, that ended with err. Writes that
// failed are work too, but have written nothing.
func (t *Table) Wrote(ctx context.Context, err error, cells int, keys ...string) {
	for _, key := range keys {
		t.heat.Write(key)
	}
	if err == nil {
		t.written(ctx, len(keys), cells)
	}
}

func (t *Table) written(ctx context.Context, rows, cells int) {
	calls.Of(ctx).Wrote(rows)
	t.catalog.Counts.RowsWritten.Add(int64(rows))
	t.catalog.Counts.CellsWritten.Add(int64(cells))
}
