package catalog

import (
	"context"
	"iter"
	"sync/atomic"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
)

// Counts are the rows and cells that clients have read and written.
type Counts struct{ RowsRead, CellsRead, RowsWritten, CellsWritten atomic.Int64 }

func (c *Counts) read(rows, cells int64) {
	c.RowsRead.Add(rows)
	c.CellsRead.Add(cells)
}

// Wrote counts rows, and changes of cells in them.
func (c *Counts) Wrote(rows, cells int) {
	c.RowsWritten.Add(int64(rows))
	c.CellsWritten.Add(int64(cells))
}

// countedAtOnce is how many rows of a long read are counted together.
const countedAtOnce = 4096

// counted counts the rows of a read.
func (t *Table) counted(all iter.Seq2[*query.Row, error]) iter.Seq2[*query.Row, error] {
	return func(yield func(*query.Row, error) bool) {
		var rows, cells int64
		defer func() { t.catalog.Counts.read(rows, cells) }()
		for row, err := range all {
			if row != nil {
				rows++
				cells += int64(row.Len())
			}
			if !yield(row, err) {
				return
			}
			if rows == countedAtOnce {
				t.catalog.Counts.read(rows, cells)
				rows, cells = 0, 0
			}
		}
	}
}

// ReadRows is that of [query.Table].
func (t *Table) ReadRows(ctx context.Context, opts ...read.Option) iter.Seq2[*query.Row, error] {
	return t.counted(t.Table.ReadRows(ctx, opts...))
}

// ReadPartsParallel is that of [query.Table].
func (t *Table) ReadPartsParallel(ctx context.Context, n int, fn func(ctx context.Context, part int, rows iter.Seq2[*query.Row, error]) error, opts ...read.Option) error {
	return t.Table.ReadPartsParallel(ctx, n, func(ctx context.Context, part int, rows iter.Seq2[*query.Row, error]) error {
		return fn(ctx, part, t.counted(rows))
	}, opts...)
}

// ReadRow is that of [query.Table].
func (t *Table) ReadRow(ctx context.Context, key string, opts ...read.Option) (*query.Row, error) {
	row, err := t.Table.ReadRow(ctx, key, opts...)
	if row != nil {
		t.catalog.Counts.read(1, int64(row.Len()))
	}
	return row, err
}

// ScanCells is that of [query.Table].
func (t *Table) ScanCells(ctx context.Context, opts ...read.Option) iter.Seq2[query.RowCell, error] {
	return func(yield func(query.RowCell, error) bool) {
		var rows, cells int64
		defer func() { t.catalog.Counts.read(rows, cells) }()
		last := ""
		for cell, err := range t.Table.ScanCells(ctx, opts...) {
			if err == nil {
				cells++
				if rows == 0 || cell.Key != last {
					rows, last = rows+1, cell.Key
				}
			}
			if !yield(cell, err) {
				return
			}
		}
	}
}

// Apply is that of [query.Table].
func (t *Table) Apply(ctx context.Context, key string, m *write.Mutation) error {
	err := t.Table.Apply(ctx, key, m)
	if err == nil {
		t.catalog.Counts.Wrote(1, m.Len())
	}
	return err
}

// ApplyBulk is that of [query.Table].
func (t *Table) ApplyBulk(ctx context.Context, keys []string, ms []*write.Mutation) (errs []error, err error) {
	if errs, err = t.Table.ApplyBulk(ctx, keys, ms); err == nil {
		rows, cells := 0, 0
		for i, m := range ms {
			if errs == nil || errs[i] == nil {
				rows, cells = rows+1, cells+m.Len()
			}
		}
		t.catalog.Counts.Wrote(rows, cells)
	}
	return errs, err
}

// CheckAndMutate is that of [query.Table].
func (t *Table) CheckAndMutate(ctx context.Context, key string, condition read.Option, ifTrue, ifFalse *write.Mutation) (matched bool, err error) {
	if matched, err = t.Table.CheckAndMutate(ctx, key, condition, ifTrue, ifFalse); err == nil {
		taken := ifFalse
		if matched {
			taken = ifTrue
		}
		if n := taken.Len(); n > 0 {
			t.catalog.Counts.Wrote(1, n)
		}
	}
	return matched, err
}

// ApplyReadModifyWrite is that of [query.Table].
func (t *Table) ApplyReadModifyWrite(ctx context.Context, key string, m *write.ReadModifyWrite) (*query.Row, error) {
	row, err := t.Table.ApplyReadModifyWrite(ctx, key, m)
	if err == nil {
		t.catalog.Counts.Wrote(1, row.Len())
	}
	return row, err
}
