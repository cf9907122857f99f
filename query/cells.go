package query

import (
	"context"
	"iter"
	"strconv"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query/read"
)

// ReadCells reads the cells of one row, in their order and all of one snapshot,
// without ever holding the row: a row of any size takes the memory of a few
// thousand cells. A row without selected cells yields nothing. The options are
// those of [Table.ReadRow] that apply to one cell at a time: no row sets, no
// limit or offset, no KeysOnly, and only the filters that the engine evaluates.
// Leaving the loop ends the read. An error also ends it; the error comes last,
// with a zero cell.
//
// A cell stays valid for as long as it is kept. It shares its memory with the
// cells read around it; to keep a few of many, clone them.
func (t *Table) ReadCells(ctx context.Context, key string, opts ...read.Option) iter.Seq2[cells.Cell, error] {
	const op = "read cells"
	return func(yield func(cells.Cell, error) bool) {
		src, err := t.source(ctx)
		if err == nil {
			err = src.ReadCells(ctx, key, opts, func(c cells.Cell) bool { return yield(c, nil) })
		}
		if err != nil {
			yield(cells.Cell{}, fail(op, t.Name(), key, err))
		}
	}
}

// A RowCell is a cell and the key of its row.
type RowCell struct {
	Key string
	cells.Cell
}

// String is the cell in one line, behind the key of its row.
func (c RowCell) String() string { return strconv.Quote(c.Key) + " " + c.Cell.String() }

// ScanCells reads the cells that [Table.ReadRows] with the same options gives, in their
// order and all of one snapshot, without ever holding a row that takes more than some
// memory: unlike ReadRows it reads rows of any size. A filter that has to see rows as a
// whole still needs them to fit. [Table.ReadCells] does the same for one row.
//
// A cell stays valid for as long as it is kept; it shares its memory with those
// read around it.
func (t *Table) ScanCells(ctx context.Context, opts ...read.Option) iter.Seq2[RowCell, error] {
	return func(yield func(RowCell, error) bool) {
		src, err := t.source(ctx)
		if err == nil {
			err = src.ScanCells(ctx, opts, func(key string, c cells.Cell) bool { return yield(RowCell{key, c}, nil) })
		}
		if err != nil {
			yield(RowCell{}, fail("scan cells", t.Name(), "", err))
		}
	}
}
