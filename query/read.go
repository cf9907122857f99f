package query

import (
	"context"
	"iter"
	"slices"
	"strconv"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/internal/catalog"
	"github.com/smolwc/smolwc/query/internal/plan"
	"github.com/smolwc/smolwc/query/internal/scan"
	"github.com/smolwc/smolwc/query/read"
)

// ReadRow reads one row. If the options select no cell of the row, the result is nil. A
// row of more than [MaxRowBytes] is an error; [Table.ReadCells] and [Table.ReadPage]
// read rows of any size.
func (t *Table) ReadRow(ctx context.Context, key string, opts ...read.Option) (*Row, error) {
	row, err := t.readRow(ctx, key, opts)
	return (*Row)(row), fail("read row", t.Name(), key, err)
}

func (t *Table) readRow(ctx context.Context, key string, opts []read.Option) (row *scan.Row, err error) {
	if err := t.database().ready(ctx); err != nil {
		return nil, err
	}
	err = t.db.state.ReadingAhead(ctx, func(from cf.Reader, c *catalog.Catalog) error {
		table, err := c.Table(t.name)
		if err != nil {
			return err
		}
		var now cells.Timestamp
		if table.Ages { // otherwise nothing depends on the time
			now = t.db.state.Clock.Now()
		}
		src := t.sourceAt(table, now)
		src.Store = from
		row, err = src.ReadRow(ctx, key, opts)
		return err
	})
	return row, err
}

// ReadRows reads rows in key order, all of one snapshot: all rows of the table, or of
// the RowSets among the options. Leaving the loop ends the read. An error also ends it:
// it comes last, with a nil row.
//
// The context is checked between blocks of some thousand cells.
func (t *Table) ReadRows(ctx context.Context, opts ...read.Option) iter.Seq2[*Row, error] {
	const op = "read rows"
	return func(yield func(*Row, error) bool) {
		src, p, done, err := t.planRows(ctx, opts)
		src.Lends = true
		if err != nil {
			yield(nil, fail(op, t.Name(), "", err))
			return
		}
		defer done()
		if p.Plan.IsSmall(p.Spec) {
			row, err := src.ReadAtOnce(ctx, p.Spec, &p.Plan.Scans[0])
			p.Release()
			if err != nil || row != nil {
				yield((*Row)(row), fail(op, t.name, "", err))
			}
			return
		}
		r, err := src.OpenPlan(ctx, nil, p.Spec, p.Plan)
		if err != nil {
			yield(nil, fail(op, t.name, "", err))
			return
		}
		defer r.Close()
		for {
			row, err := r.Next(ctx)
			if err != nil {
				yield(nil, fail(op, t.name, "", err))
				return
			}
			if row == nil || !yield((*Row)(row), nil) {
				return
			}
		}
	}
}

// planRows begins a read and plans it. The caller calls done at the end, unless there is
// an error.
func (t *Table) planRows(ctx context.Context, opts []read.Option) (src scan.Source, p scan.Prepared, done func(), err error) {
	if src, done, err = t.source(ctx); err != nil {
		return src, p, nil, err
	}
	if p, err = src.Prepare(opts); err != nil {
		done()
	}
	return src, p, done, err
}

// MaxRowBytes is how much memory a row may take when it is read as a whole: the
// bytes of its qualifiers and encoded values and 24 more for each cell. A read
// fails at a larger row, with the kind [KindResourceExhausted].
const MaxRowBytes = plan.MaxRowBytes

// ReadRowList reads the rows with these keys, all of one snapshot, and returns them in
// the order of keys, which may repeat: rows[i] is the row of keys[i], nil when no cell
// of it is selected. The options may not choose rows themselves or limit their number.
func (t *Table) ReadRowList(ctx context.Context, keys []string, opts ...read.Option) ([]*Row, error) {
	rows, err := t.readRowList(ctx, keys, opts)
	return rows, fail("read row list", t.Name(), "", err)
}

func (t *Table) readRowList(ctx context.Context, keys []string, opts []read.Option) ([]*Row, error) {
	src, done, err := t.source(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	spec, err := src.Spec(opts)
	if err != nil {
		return nil, err
	}
	if err := spec.ChoosesNoRows("a list of keys"); err != nil {
		return nil, err
	}
	if spec, err = src.Spec(append(slices.Clip(opts), read.Key(keys...))); err != nil {
		return nil, err
	}
	r, err := src.Open(ctx, nil, spec)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	found := make(map[string]*Row, len(keys))
	for {
		row, err := r.Next(ctx)
		if err != nil {
			return nil, err
		}
		if row == nil {
			break
		}
		found[row.Key()] = (*Row)(row)
	}
	rows := make([]*Row, len(keys))
	for i, k := range keys {
		rows[i] = found[k]
	}
	return rows, nil
}

// ReadCells reads the cells of one row, in their order and all of one snapshot, without
// ever holding the row: a row of any size takes the memory of a few thousand cells. A
// row without selected cells yields nothing. It takes the options of [Table.ReadRow]
// that apply to one cell at a time: no row sets, no limit or offset, no KeysOnly, and
// only the filters that the engine evaluates. Leaving the loop ends the read. An error
// also ends it; the error comes last, with a zero cell.
//
// A cell stays valid for as long as it is kept. It shares its memory with the
// cells read around it; to keep a few of many, clone them.
func (t *Table) ReadCells(ctx context.Context, key string, opts ...read.Option) iter.Seq2[cells.Cell, error] {
	const op = "read cells"
	return func(yield func(cells.Cell, error) bool) {
		src, done, err := t.source(ctx)
		if err == nil {
			defer done()
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

// String is the cell in one line, after the key of its row.
func (c RowCell) String() string { return strconv.Quote(c.Key) + " " + c.Cell.String() }

// ScanCells reads the cells that [Table.ReadRows] with the same options gives, in their
// order and all of one snapshot, without ever holding a large row as a whole: unlike
// ReadRows it reads rows of any size. A filter that must see rows as a whole still needs
// them to fit. [Table.ReadCells] does the same for one row.
//
// A cell stays valid for as long as it is kept; it shares its memory with those
// read around it.
func (t *Table) ScanCells(ctx context.Context, opts ...read.Option) iter.Seq2[RowCell, error] {
	return func(yield func(RowCell, error) bool) {
		src, done, err := t.source(ctx)
		if err == nil {
			defer done()
			err = src.ScanCells(ctx, opts, func(key string, c cells.Cell) bool { return yield(RowCell{key, c}, nil) })
		}
		if err != nil {
			yield(RowCell{}, fail("scan cells", t.Name(), "", err))
		}
	}
}

// A Page is a part of a read.
type Page struct {
	// Rows are the page's rows. A page of columns holds their row, or no row.
	Rows []*Row
	// Next is the token to give to [read.After] for the next page, "" when this
	// is the last.
	Next string
}

// ReadPage reads one page of the result of [Table.ReadRows] with the same options; all
// pages together are that result. In a read of a single [read.Key] without
// [read.KeysOnly], pages consist of columns of the row, in the order of families and
// qualifiers, each with all its selected versions. In all other reads they consist of
// rows.
//
// The cost of a page does not depend on where it begins: the engine seeks there. Each
// page reads its own snapshot. A row or column that is written between two pages appears
// in the later page only if it comes after the end of the earlier page.
//
// A token is text that needs no escaping in a URL. It is valid for the same table and
// the same options, except for PageSize and ReportCost; otherwise, or if it is damaged,
// the error is of the kind [KindInvalidArgument]. It does not expire. It contains the
// last row key or column in readable form, and is not signed: a caller that makes its
// own token gets only another page of the same read.
func (t *Table) ReadPage(ctx context.Context, opts ...read.Option) (*Page, error) {
	src, done, err := t.source(ctx)
	if err != nil {
		return nil, fail("read page", t.Name(), "", err)
	}
	defer done()
	rows, next, err := src.ReadPage(ctx, opts)
	if err != nil {
		return nil, fail("read page", t.name, "", err)
	}
	page := &Page{Next: next}
	for _, row := range rows {
		page.Rows = append(page.Rows, (*Row)(row))
	}
	return page, nil
}
