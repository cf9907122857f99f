package query

import (
	"context"

	"github.com/smolwc/smolwc/query/internal/plan"
	"github.com/smolwc/smolwc/query/read"
)

// A Page is a part of a read.
type Page struct {
	// Rows are the page's rows. A page of columns has their row, or no row.
	Rows []*Row
	// Next is the token to give to [read.After] for the next page, "" when this
	// is the last.
	Next string
}

// ReadPage reads one page of what [Table.ReadRows] with the same options
// returns; all pages together are that. Of a read of a single [read.Key] the pages
// are of columns inside the row, in the order of families and qualifiers, each
// with all its selected versions; with [read.KeysOnly] it is of rows like any other.
//
// A page costs the same wherever it stands: the engine seeks to its beginning.
// Each page is a snapshot of its own time. A row or column that is written behind
// the end of a page is in the next page, if it is written before that is read;
// one that is written before the end of the page is in no later page.
//
// A token is text that needs no escaping in a URL. It is valid for the same table
// and the same options, except PageSize and ReportCost; with others, or when it
// is damaged, the error is of the kind [KindInvalidArgument]. It does not expire.
// Anyone who has it can read the last row key or column in it, and it is not
// signed: a caller that makes a token gets another page of the same read and
// nothing else.
func (t *Table) ReadPage(ctx context.Context, opts ...read.Option) (*Page, error) {
	page, err := t.readPage(ctx, opts)
	return page, fail("read page", t.Name(), "", err)
}

func (t *Table) readPage(ctx context.Context, opts []read.Option) (*Page, error) {
	if err := t.database().ready(ctx); err != nil {
		return nil, err
	}
	spec, err := plan.NewPageSpec(opts)
	if err != nil {
		return nil, err
	}
	size := spec.PageSize
	if size == 0 {
		size = read.DefaultPageSize
	}
	kind := plan.PageOfRows
	if spec.SingleRow() && !spec.KeysOnly {
		kind = plan.PageOfColumns
	}
	print := spec.Fingerprint(t.name, kind)
	at := plan.Position{Left: spec.Limit}
	if spec.PageToken != "" {
		if at, err = plan.ParseToken(spec.PageToken, kind, print); err != nil {
			return nil, err
		}
	}
	var page *Page
	var next *plan.Position
	if kind == plan.PageOfColumns {
		page, next, err = t.columnPage(ctx, spec, at, size)
	} else {
		page, next, err = t.rowPage(ctx, spec, at, size)
	}
	if err != nil {
		return nil, err
	}
	if next != nil {
		page.Next = next.Token(kind, print)
	}
	return page, nil
}

// rowPage reads a page of rows. next is nil when it is the last.
func (t *Table) rowPage(ctx context.Context, spec *plan.Spec, at plan.Position, size int) (page *Page, next *plan.Position, err error) {
	if at.Key != "" {
		spec.GoOn(at.Key)
	}
	last := at.Left > 0 && at.Left <= size
	if last {
		size = at.Left
	}
	spec.Limit = size
	if !last {
		spec.Limit++ // one more, to know whether there is one
	}
	r, err := t.openReader(ctx, nil, spec)
	if err != nil {
		return nil, nil, err
	}
	defer r.close()
	page = new(Page)
	for len(page.Rows) < size {
		row, err := r.next(ctx)
		if err != nil {
			return nil, nil, err
		}
		if row == nil {
			return page, nil, nil
		}
		page.Rows = append(page.Rows, row)
	}
	if last {
		return page, nil, nil
	}
	more, err := r.more(ctx)
	if err != nil || !more {
		return page, nil, err
	}
	next = &plan.Position{Key: page.Rows[size-1].Key()}
	if at.Left > 0 {
		next.Left = at.Left - size
	}
	return page, next, nil
}

// more reports whether there is another row. It may be called once; it ends the
// read.
func (r *reader) more(ctx context.Context) (bool, error) {
	if r.exact && r.skip == 0 {
		return !r.done && r.lead() != nil, nil
	}
	returned := r.returned
	row, err := r.next(ctx)
	r.returned = returned
	return row != nil, err
}

// columnPage reads a page of the columns of one row: one family after the other,
// and of each as many as still fit.
func (t *Table) columnPage(ctx context.Context, spec *plan.Spec, at plan.Position, size int) (page *Page, next *plan.Position, err error) {
	page = new(Page)
	if spec.Offset > 0 {
		return page, nil, nil // it passes over the only row
	}
	w, err := t.openRow(ctx, spec)
	if err != nil {
		return nil, nil, err
	}
	defer w.close()
	if at.Family == "" {
		at.Left = w.spec.CellsPerRow
	}
	row := &Row{key: w.key}
	defer func() {
		if len(row.parts) > 0 {
			page.Rows = []*Row{row}
			w.rows = 1
		}
	}()
	left := size
	for i := range w.scans {
		s := &w.scans[i]
		if s.Family < at.Family || s.Family == at.Family && !s.StartBehind(at.Qualifier) {
			continue
		}
		if left > 0 {
			if left, err = w.takeColumns(ctx, s, row, &at, left); err != nil {
				return nil, nil, err
			}
			if at.Left < 0 {
				return page, nil, nil // all cells that were wanted
			}
		}
		if left > 0 || s.Family == at.Family && !s.StartBehind(at.Qualifier) {
			continue
		}
		if more, err := w.any(ctx, s); err != nil || more {
			return page, &at, err
		}
	}
	return page, nil, nil
}

// takeColumns reads up to that many columns of a family into row and returns how
// many are still to be taken. It moves at behind them. A negative number of cells
// left means that no further columns follow.
func (w *rowWalk) takeColumns(ctx context.Context, s *plan.FamilyScan, row *Row, at *plan.Position, columns int) (left int, err error) {
	scan := s.Scan
	scan.Filter.ColumnsPerRow, scan.Filter.CellsPerRow = columns, at.Left
	scan.Hint = columns
	c, err := w.open(ctx, s, scan)
	if err != nil {
		return 0, err
	}
	defer w.shut(c)
	in := &stream{family: s.Family, store: s.Scan.Family, cursor: c, room: &w.room}
	if err := in.load(ctx); err != nil || in.block == nil {
		return columns, err
	}
	from, cells := len(row.parts), 0
	if err := in.take(ctx, row); err != nil {
		return 0, err
	}
	for _, p := range row.parts[from:] {
		cells += len(p.cells)
		for i := range p.cells {
			if q := p.block.Qualifier(&p.cells[i]); s.Family != at.Family || q != at.Qualifier {
				at.Family, at.Qualifier = s.Family, q
				columns--
			}
		}
	}
	if at.Left > 0 {
		if at.Left -= cells; at.Left == 0 {
			at.Left = -1
		}
	}
	return columns, nil
}
