package scan

import (
	"context"
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

// ReadCells reads the cells of one row one by one, until yield returns false.
func (src *Source) ReadCells(ctx context.Context, key string, opts []read.Option, yield func(cells.Cell) bool) error {
	spec, err := src.Spec(opts)
	if err != nil {
		return err
	}
	if err := spec.ChoosesNoRows("the key of a row"); err != nil {
		return err
	}
	if spec.KeysOnly || spec.EveryRow {
		return fault.Errorf(fault.InvalidArgument, "KeysOnly and EveryRow cannot be given to a read of cells")
	}
	if err := catalog.CheckRowKey(key); err != nil {
		return err
	}
	if spec.Ranges = []cf.Range{cf.Single(key)}; spec.TakesNone() {
		return nil
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
