package scan

import (
	"context"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/internal/catalog"
	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/query/internal/plan"
	"github.com/smolwc/smolwc/query/read"
)

// A rowWalk reads one row, one family after the other.
type rowWalk struct {
	key   string
	spec  *plan.Spec
	snap  cf.Snapshot
	scans []plan.FamilyScan
	room  rowRoom // for the row, or a page of it
	rows  int64   // returned, for the cost
	cost  read.Cost
	began time.Time
	span  trace.Span // nil without
}

func (w *rowWalk) close() {
	if w.snap != nil {
		w.snap.Close()
		w.snap = nil
	}
	w.cost.Rows, w.cost.Elapsed = w.rows, time.Since(w.began)
	if w.spec.Cost != nil {
		*w.spec.Cost = w.cost
	}
	endSpan(w.span, &w.cost)
}

func (w *rowWalk) open(ctx context.Context, s *plan.FamilyScan, scan cf.Scan) (cf.Cursor, error) {
	c, err := w.snap.Scan(ctx, scan)
	if err != nil {
		return nil, err
	}
	return s.Of.Readable(c), nil
}

func (w *rowWalk) shut(c cf.Cursor) {
	addCost(&w.cost, c.Cost())
	c.Close()
}

// any reports whether a scan would find a cell.
func (w *rowWalk) any(ctx context.Context, s *plan.FamilyScan) (bool, error) {
	scan := s.Scan
	scan.Filter.KeysOnly, scan.Hint = true, 1
	c, err := w.open(ctx, s, scan)
	if err != nil {
		return false, err
	}
	defer w.shut(c)
	b, err := c.Next(ctx)
	return b != nil, err
}

// yieldCells yields the cells of a family. It subtracts their number from left,
// unless left is 0; more is false when no further cell is wanted.
func (w *rowWalk) yieldCells(ctx context.Context, s *plan.FamilyScan, left *int, yield func(cells.Cell) bool) (more bool, err error) {
	scan := s.Scan
	scan.Filter.CellsPerRow = *left
	c, err := w.open(ctx, s, scan)
	if err != nil {
		return false, err
	}
	defer w.shut(c)
	for {
		b, err := c.Next(ctx)
		if b == nil || err != nil {
			return true, err
		}
		w.rows = 1
		if err := checkBlock(s, w.key, b); err != nil {
			return false, err
		}
		p := part{family: s.Family, block: b, cells: b.Cells}
		for i := range p.cells {
			if !yield(p.cell(i)) {
				return false, nil
			}
		}
		if *left > 0 {
			if *left -= len(p.cells); *left == 0 {
				return false, nil
			}
		}
	}
}

// checkBlock finds values that do not decode.
func checkBlock(s *plan.FamilyScan, row string, b *cf.Block) error {
	for i := range b.Cells {
		c := &b.Cells[i]
		if err := cells.CheckEncoding(b.Value(c)); err != nil {
			return &cf.CorruptCell{Family: s.Scan.Family, Key: cf.AppendCellKey(nil, row, b.Qualifier(c), c.Timestamp), Err: err}
		}
	}
	return nil
}

// openRow opens a read of the row of spec. A row that does not satisfy the
// conditions is left without scans.
func (src *Source) openRow(ctx context.Context, spec *plan.Spec) (*rowWalk, error) {
	began := time.Now()
	key := spec.Ranges[0].Start
	conditions := spec.Where
	spec, p, err := src.Plan(spec)
	switch {
	case err != nil:
		return nil, err
	case spec.Filter != nil:
		return nil, fault.Errorf(fault.InvalidArgument, "filter %s needs whole rows; it cannot be used to read a row in cells or columns", spec.Filter)
	}
	w := &rowWalk{key: key, spec: spec, room: newRowRoom(ctx, spec.RowBytes()), began: began}
	if len(spec.Ranges) == 0 {
		return w, nil
	}
	if w.snap, err = src.Store.Snapshot(ctx); err != nil {
		return nil, err
	}
	_, w.span = src.span(ctx)
	if len(conditions) > 0 {
		holds, err := src.Satisfies(ctx, w.snap, key, &read.Request{Where: conditions, Versions: 1})
		if err != nil || !holds {
			w.close()
			return w, err
		}
	}
	for _, s := range p.Scans {
		if s.Scan.Filter.Where = nil; !s.Guard { // judged above
			w.scans = append(w.scans, s)
		}
	}
	return w, nil
}

// cellsOf is a read of one row's cells.
func (src *Source) cellsOf(key string, opts []read.Option) (*plan.Spec, error) {
	spec, err := src.Spec(opts)
	if err != nil {
		return nil, err
	}
	if err := spec.ChoosesNoRows("the key of a row"); err != nil {
		return nil, err
	}
	if spec.KeysOnly || spec.EveryRow {
		return nil, fault.Errorf(fault.InvalidArgument, "KeysOnly and EveryRow cannot be given to a read of cells")
	}
	spec.Ranges = []cf.Range{cf.Single(key)}
	return spec, catalog.CheckRowKey(key)
}

// ReadCells reads the cells of one row one by one, until yield returns false.
func (src *Source) ReadCells(ctx context.Context, key string, opts []read.Option, yield func(cells.Cell) bool) error {
	spec, err := src.cellsOf(key, opts)
	if err != nil || spec.TakesNone() {
		return err
	}
	w, err := src.openRow(ctx, spec)
	if err != nil {
		return err
	}
	defer w.close()
	left := w.spec.CellsPerRow
	for i := range w.scans {
		more, err := w.yieldCells(ctx, &w.scans[i], &left, yield)
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// A Stored is a read of the stored cells of columns of a row, those that retention hides
// among them.
type Stored struct {
	src   *Source
	spec  *plan.Spec
	scans []plan.FamilyScan
}

// Stored plans a read of the stored cells of columns, or without any of a whole row.
func (src *Source) Stored(key string, columns []read.ColumnSpec) (*Stored, error) {
	opts := make([]read.Option, len(columns))
	for i, c := range columns {
		opts[i] = c
	}
	spec, err := src.cellsOf(key, opts)
	if err != nil {
		return nil, err
	}
	spec.HasLimits = true // none
	_, p, err := src.Plan(spec)
	return &Stored{src, spec, p.Scans}, err
}

// Has reports whether a column is one of the read.
func (r *Stored) Has(family, qualifier string) bool {
	return slices.ContainsFunc(r.scans, func(s plan.FamilyScan) bool { return s.Family == family && s.Reads(qualifier) })
}

// HasFamily reports whether columns of a family are among those of the read.
func (r *Stored) HasFamily(name string) bool {
	return slices.ContainsFunc(r.scans, func(s plan.FamilyScan) bool { return s.Family == name })
}

// Each yields the cells one by one, until yield returns false.
func (r *Stored) Each(ctx context.Context, yield func(*catalog.Family, cells.Cell) bool) error {
	w, err := r.src.openRow(ctx, r.spec)
	if err != nil {
		return err
	}
	defer w.close()
	for i := range w.scans {
		s := &w.scans[i]
		more, err := w.yieldCells(ctx, s, new(int), func(c cells.Cell) bool { return yield(s.Of, c) })
		if err != nil || !more {
			return err
		}
	}
	return nil
}
