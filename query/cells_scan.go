package query

import (
	"context"
	"errors"
	"iter"
	"strconv"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/query/internal/plan"
	"github.com/smolwc/smolwc/query/read"
)

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
		err := t.scanCells(ctx, func(c RowCell) bool { return yield(c, nil) }, opts)
		if err != nil && err != errEnough {
			yield(RowCell{}, fail("scan cells", t.Name(), "", err))
		}
	}
}

// errEnough ends a scan of cells whose caller has left the loop.
var errEnough = errors.New("the caller has enough")

func (t *Table) scanCells(ctx context.Context, yield func(RowCell) bool, opts []read.Option) error {
	spec, err := t.readSpec(ctx, opts)
	if err != nil {
		return err
	}
	if spec.Reverse || spec.KeysOnly {
		return fault.Errorf(fault.InvalidArgument, "Reverse and KeysOnly cannot be given to a scan of cells")
	}
	if spec.MaxBytes == 0 {
		spec.MaxBytes = scanRowBytes
	}
	snap, err := t.db.store.Snapshot(ctx)
	if err != nil {
		return err
	}
	defer snap.Close()
	s := &cellScan{t: t, snap: snap, now: t.db.clock.Now(), yield: yield}
	for {
		large, err := s.rows(ctx, spec)
		if large == "" || err != nil {
			return err
		}
		next := *spec // what is left behind the row
		next.Ranges = cf.ClipRanges(append([]cf.Range(nil), spec.Ranges...), cf.Range{Start: large + "\x00"})
		if spec.Limit > 0 {
			if next.Limit -= int(s.read); next.Limit <= 0 {
				return nil
			}
		}
		next.Offset = 0
		spec, s.read = &next, 0
	}
}

// scanRowBytes is the size from which ScanCells does not hold a row as a whole.
const scanRowBytes = 16 << 20

// A cellScan is what the parts of a ScanCells share.
type cellScan struct {
	t     *Table
	snap  cf.Snapshot
	now   cells.Timestamp
	yield func(RowCell) bool
	read  int64 // rows of the current part
}

// rows reads row by row up to a row that is too large. It reads that row cell by
// cell and returns its key; "" at the end.
func (s *cellScan) rows(ctx context.Context, spec *plan.Spec) (large string, err error) {
	r, err := s.t.openReaderAt(ctx, s.snap, spec, s.now)
	if err != nil {
		return "", err
	}
	defer r.close()
	for {
		row, err := r.next(ctx)
		if err != nil && fault.KindOf(err) == fault.ResourceExhausted && r.filter == nil && r.skip == 0 {
			key := r.rows.next(r.ready()).key // the row that was being put together
			s.read = r.returned + 1
			return key, s.row(ctx, spec, key)
		}
		if row == nil || err != nil {
			return "", err
		}
		for c := range row.Cells() {
			if !s.yield(RowCell{row.Key(), c}) {
				return "", errEnough
			}
		}
	}
}

// row reads one row cell by cell, unless conditions leave it out.
func (s *cellScan) row(ctx context.Context, spec *plan.Spec, key string) error {
	one := *spec
	one.Ranges, one.Limit, one.Offset = []cf.Range{cf.Single(key)}, 0, 0
	if conditions := spec.Where; len(conditions) > 0 {
		holds, err := s.t.satisfies(ctx, s.snap, key, &read.Request{Where: conditions, Versions: 1})
		if err != nil || !holds {
			return err
		}
	}
	pushed, p, err := s.t.plan(&one, s.now)
	if err != nil {
		return err
	}
	w := &rowWalk{key: key, spec: pushed, snap: s.snap}
	left, enough := pushed.CellsPerRow, false
	for i := range p.Scans {
		if p.Scans[i].Guard {
			continue
		}
		more, err := w.yieldCells(ctx, &p.Scans[i], &left, func(c cells.Cell) bool {
			enough = !s.yield(RowCell{key, c})
			return !enough
		})
		if enough {
			return errEnough
		}
		if err != nil || !more {
			return err
		}
	}
	return nil
}
