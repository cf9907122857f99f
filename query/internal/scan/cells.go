package scan

import (
	"context"
	"errors"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/query/internal/plan"
	"github.com/smolwc/smolwc/query/read"
)

// scanRowBytes is the size from which ScanCells does not hold a row as a whole.
const scanRowBytes = 16 << 20

// A cellScan is what the parts of a ScanCells share.
type cellScan struct {
	src   *Source
	snap  cf.Snapshot
	yield func(key string, c cells.Cell) bool
	read  int64 // rows of the current part
}

// rows reads row by row up to a row that is too large. It reads that row cell by
// cell and returns its key; "" at the end.
func (s *cellScan) rows(ctx context.Context, spec *plan.Spec) (large string, err error) {
	r, err := s.src.Open(ctx, s.snap, spec)
	if err != nil {
		return "", err
	}
	defer r.Close()
	for {
		row, err := r.Next(ctx)
		if err != nil && fault.KindOf(err) == fault.ResourceExhausted && r.filter == nil && r.skip == 0 {
			key := r.rows.next(r.ready()).key // the row that was being put together
			s.read = r.returned + 1
			return key, s.row(ctx, spec, key)
		}
		if row == nil || err != nil {
			return "", err
		}
		for c := range row.Cells() {
			if !s.yield(row.Key(), c) {
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
		holds, err := s.src.Satisfies(ctx, s.snap, key, &read.Request{Where: conditions, Versions: 1})
		if err != nil || !holds {
			return err
		}
	}
	pushed, p, err := s.src.Plan(&one)
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
			enough = !s.yield(key, c)
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

// ScanCells reads the cells of rows one by one, until yield returns false.
func (src *Source) ScanCells(ctx context.Context, opts []read.Option, yield func(key string, c cells.Cell) bool) error {
	err := src.scanCells(ctx, opts, yield)
	if err == errEnough {
		return nil
	}
	return err
}

func (src *Source) scanCells(ctx context.Context, opts []read.Option, yield func(string, cells.Cell) bool) error {
	spec, err := src.Spec(opts)
	if err != nil {
		return err
	}
	if spec.Reverse || spec.KeysOnly || spec.EveryRow {
		return fault.Errorf(fault.InvalidArgument, "Reverse, KeysOnly and EveryRow cannot be given to a scan of cells")
	}
	if spec.MaxBytes == 0 {
		spec.MaxBytes = scanRowBytes
	}
	snap, err := src.Store.Snapshot(ctx)
	if err != nil {
		return err
	}
	defer snap.Close()
	s := &cellScan{src: src, snap: snap, yield: yield}
	for {
		large, err := s.rows(ctx, spec)
		if large == "" || err != nil {
			return err
		}
		next := *spec // what is left after the row
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

// errEnough ends a scan of cells whose caller left the loop.
var errEnough = errors.New("the caller has enough")
