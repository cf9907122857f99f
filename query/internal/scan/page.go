package scan

import (
	"context"

	"github.com/smolwc/smolwc/query/internal/plan"
	"github.com/smolwc/smolwc/query/read"
)

// ReadPage reads a page, and gives the token of the next one, "" after the last page.
func (src *Source) ReadPage(ctx context.Context, opts []read.Option) (rows []*Row, token string, err error) {
	spec, err := plan.NewPageSpec(opts)
	if err != nil {
		return nil, "", err
	}
	size := spec.PageSize
	if size == 0 {
		size = read.DefaultPageSize
	}
	kind := plan.PageOfRows
	if spec.SingleRow() && !spec.KeysOnly {
		kind = plan.PageOfColumns
	}
	print := spec.Fingerprint(src.Table.Name, kind)
	at := plan.Position{Left: spec.Limit}
	if spec.PageToken != "" {
		if at, err = plan.ParseToken(spec.PageToken, kind, print); err != nil {
			return nil, "", err
		}
	}
	var next *plan.Position
	if kind == plan.PageOfColumns {
		rows, next, err = src.columnPage(ctx, spec, at, size)
	} else {
		rows, next, err = src.rowPage(ctx, spec, at, size)
	}
	if err != nil || next == nil {
		return rows, "", err
	}
	return rows, next.Token(kind, print), nil
}

// rowPage reads a page of rows. next is nil when it is the last.
func (src *Source) rowPage(ctx context.Context, spec *plan.Spec, at plan.Position, size int) (rows []*Row, next *plan.Position, err error) {
	if at.Key != "" {
		spec.GoOn(at.Key)
	}
	last := at.Left > 0 && at.Left <= size
	if last {
		size = at.Left
	}
	spec.Limit = size
	if !last {
		spec.Limit++ // one more, to learn whether another page follows
	}
	r, err := src.Open(ctx, nil, spec)
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	for len(rows) < size {
		row, err := r.Next(ctx)
		if err != nil {
			return nil, nil, err
		}
		if row == nil {
			return rows, nil, nil
		}
		rows = append(rows, row)
	}
	if last {
		return rows, nil, nil
	}
	more, err := r.more(ctx)
	if err != nil || !more {
		return rows, nil, err
	}
	next = &plan.Position{Key: rows[size-1].Key()}
	if at.Left > 0 {
		next.Left = at.Left - size
	}
	return rows, next, nil
}

// more reports whether there is another row. It may be called once; it ends the
// read.
func (r *Reader) more(ctx context.Context) (bool, error) {
	if r.exact && r.skip == 0 {
		return !r.done && r.lead() != nil, nil
	}
	returned := r.returned
	row, err := r.Next(ctx)
	r.returned = returned
	return row != nil, err
}

// columnPage reads a page of the columns of one row: one family after the other, and of
// each family as many columns as still fit.
func (src *Source) columnPage(ctx context.Context, spec *plan.Spec, at plan.Position, size int) (rows []*Row, next *plan.Position, err error) {
	if spec.Offset > 0 {
		return rows, nil, nil // it passes over the only row
	}
	w, err := src.openRow(ctx, spec)
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
			rows = []*Row{row}
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
				return rows, nil, nil // all its cells are read
			}
		}
		if left > 0 || s.Family == at.Family && !s.StartBehind(at.Qualifier) {
			continue
		}
		if more, err := w.any(ctx, s); err != nil || more {
			return rows, &at, err
		}
	}
	return rows, nil, nil
}

// takeColumns reads up to the given number of columns of a family into row and returns
// how many are still to be taken. It moves at past them. A negative number of cells
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
