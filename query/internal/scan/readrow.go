package scan

import (
	"context"
	"sync"
	"time"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/internal/bytere"
	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/query/internal/plan"
	"github.com/smolwc/smolwc/query/read"
)

// ReadRow reads one row, nil when there is no cell to return.
func (src *Source) ReadRow(ctx context.Context, key string, opts []read.Option) (*Row, error) {
	rr := rowReads.Get().(*rowRead)
	if err := rr.spec.SetRow(key, opts); err != nil {
		return nil, err
	}
	src.mark(&rr.spec)
	spec, err := rr.plan.Make(src.Table, &rr.spec, src.Now)
	if err != nil {
		return nil, err
	}
	if !rr.plan.IsSmall(spec) {
		return src.readFirst(ctx, spec, &rr.plan)
	}
	row, err := src.ReadAtOnce(ctx, spec, &rr.plan.Scans[0])
	rr.release()
	return row, err
}

// A rowRead is the memory of a read of one row, which is used again if the row was small.
type rowRead struct {
	spec plan.Spec
	plan plan.Plan
}

var rowReads = sync.Pool{New: func() any { return new(rowRead) }}

func (rr *rowRead) release() {
	rr.clear()
	rowReads.Put(rr)
}

func (rr *rowRead) clear() {
	rr.spec = plan.Spec{}
	rr.plan.Clear()
}

// An ownRead is the memory of an update's read of one row. It is always used again,
// because the result does not share it.
type ownRead struct {
	rowRead
	reader Reader
	row    [1]Row // that it reads
}

var ownReads = sync.Pool{New: func() any { return new(ownRead) }}

func (rr *ownRead) release() {
	rr.clear()
	rr.reader, rr.row = Reader{}, [1]Row{}
	ownReads.Put(rr)
}

// open opens the read on a snapshot. The reader must be closed before the memory is
// released.
func (rr *ownRead) open(ctx context.Context, src *Source, snap cf.Snapshot) (*Reader, error) {
	spec, err := rr.plan.Make(src.Table, &rr.spec, src.Now)
	if err != nil {
		return nil, err
	}
	rr.reader.rows.free = rr.row[:]
	return &rr.reader, src.openIn(ctx, &rr.reader, snap, spec, &rr.plan)
}

// A Prepared read is already planned.
type Prepared struct {
	Spec *plan.Spec
	Plan *plan.Plan

	memory *rowRead
}

// Prepare plans a read.
func (src *Source) Prepare(opts []read.Option) (p Prepared, err error) {
	rr := rowReads.Get().(*rowRead)
	p.Plan, p.memory = &rr.plan, rr
	if err = rr.spec.SetUnpaged(opts); err == nil {
		src.mark(&rr.spec)
		p.Spec, err = rr.plan.Make(src.Table, &rr.spec, src.Now)
	}
	return p, err
}

// Release gives the memory of a finished read to other reads. A read that is not released
// leaves it to the garbage collector.
func (p Prepared) Release() { p.memory.release() }

func (src *Source) readFirst(ctx context.Context, spec *plan.Spec, p *plan.Plan) (*Row, error) {
	r, err := src.OpenPlan(ctx, nil, spec, p)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return r.Next(ctx)
}

// A rowInBlocks is a row and the blocks that its cells are in, in one allocation.
type rowInBlocks struct {
	row    Row
	blocks cf.Answer
}

// ReadAtOnce reads one row of one family without a snapshot.
func (src *Source) ReadAtOnce(ctx context.Context, spec *plan.Spec, s *plan.FamilyScan) (*Row, error) {
	var began time.Time
	ctx, span := src.span(ctx)
	if spec.Cost != nil || span != nil {
		began = time.Now()
	}
	made := new(rowInBlocks)
	err := src.Store.Read(ctx, &s.Scan, &made.blocks)
	if !began.IsZero() {
		from := &made.blocks.Cost
		cost := read.Cost{Rows: from.Rows, Elapsed: time.Since(began)}
		addCost(&cost, *from)
		if spec.Cost != nil {
			*spec.Cost = cost
		}
		endSpan(span, &cost)
	}
	if err != nil || len(made.blocks.First.Rows) == 0 {
		return nil, err
	}
	row := &made.row
	row.parts = row.one[:0]
	room := newRowRoom(ctx, spec.RowBytes())
	in := stream{family: s.Family, store: s.Scan.Family}
	for b := range made.blocks.Blocks() {
		in.block = b
		in.stand(0)
		row.key = in.key
		size, err := in.addPart(row)
		if err == nil {
			err = room.take(size, row.key)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := room.settle(); err != nil {
		return nil, err
	}
	return row, nil
}

// Satisfies reports whether a row satisfies a predicate in a snapshot.
func (src *Source) Satisfies(ctx context.Context, snap cf.Snapshot, key string, predicate read.Option) (bool, error) {
	var opts []read.Option
	if predicate != nil {
		opts = append(opts, predicate)
	}
	rr := ownReads.Get().(*ownRead)
	defer rr.release()
	spec := &rr.spec
	if err := spec.SetRow(key, opts); err != nil {
		return false, err
	}
	// A read returns no row without a cell of a condition's column, but conditions may hold
	// for such a row too: they are judged here.
	conditions := spec.Where
	if len(conditions) == 0 || len(spec.Columns) > 0 {
		r, err := rr.open(ctx, src, snap)
		if err != nil {
			return false, err
		}
		defer r.Close()
		row, err := r.Next(ctx)
		return row != nil, err
	}
	all, err := plan.Conjuncts(src.Table, conditions)
	if err != nil {
		return false, err
	}
	row := new(Row)
	if spec.Where, spec.Columns = nil, plan.ColumnsOf(all); len(spec.Columns) > 0 {
		r, err := rr.open(ctx, src, snap)
		if err != nil {
			return false, err
		}
		defer r.Close()
		if found, err := r.Next(ctx); err != nil {
			return false, err
		} else if found != nil {
			row = found
		}
	}
	work := bytere.WorkOf(ctx)
	for i := range all {
		if holds, err := all[i].HoldsIn(work, key, row); !holds || err != nil {
			return false, conditionError(err, key)
		}
	}
	return true, nil
}

// Judge judges prepared conditions part by part on a row in a snapshot. The parts share the
// memory of the row. exists says that the row has a visible cell.
func (src *Source) Judge(ctx context.Context, snap cf.Snapshot, key string, prepared []read.Condition) (parts []read.Part, exists bool, err error) {
	row := new(Row)
	if columns := plan.ColumnsOf(prepared); len(columns) > 0 {
		r, err := src.Open(ctx, snap, &plan.Spec{Request: read.Request{Columns: columns, Versions: 1}, Ranges: []cf.Range{cf.Single(key)}})
		if err != nil {
			return nil, false, err
		}
		defer r.Close()
		if found, err := r.Next(ctx); err != nil {
			return nil, false, err
		} else if found != nil {
			row = found
		}
	}
	work := bytere.WorkOf(ctx)
	for i := range prepared {
		more, err := prepared[i].Judge(work, key, row)
		if err != nil {
			return nil, false, conditionError(err, key)
		}
		parts = append(parts, more...)
	}
	if row.Len() > 0 {
		return parts, true, nil
	}
	exists, err = src.Satisfies(ctx, snap, key, read.CellsPerRow(1))
	return parts, exists, err
}

// Bounded is a context that bounds the work of all reads with it, as one call's.
func Bounded(ctx context.Context) context.Context { return bytere.WorkOf(ctx) }

// What SatisfiesAtOnce may take: a millisecond or two.
const (
	onceSteps = 1 << 18
	onceBytes = 1 << 20
)

// SatisfiesAtOnce is Satisfies for callers that hold up others. ok is false when the predicate
// takes longer than they may.
func (src Source) SatisfiesAtOnce(ctx context.Context, snap cf.Snapshot, key string, predicate read.Option) (holds, ok bool, err error) {
	if src.MaxBytes == 0 || src.MaxBytes > onceBytes {
		src.MaxBytes = onceBytes
	}
	holds, err = src.Satisfies(bytere.NewWork(ctx, onceSteps), snap, key, predicate)
	if fault.KindOf(err) == fault.ResourceExhausted {
		return false, false, nil
	}
	return holds, true, err
}

// Newest calls use with the newest cells of columns of a row in a snapshot, nil if there
// are no such cells. The row is valid until use returns.
func (src *Source) Newest(ctx context.Context, snap cf.Snapshot, key string, columns []read.ColumnSpec, use func(*Row) error) error {
	rr := ownReads.Get().(*ownRead)
	defer rr.release()
	rr.spec.Columns, rr.spec.Versions = columns, 1
	if err := rr.spec.SetRow(key, nil); err != nil {
		return err
	}
	r, err := rr.open(ctx, src, snap)
	if err != nil {
		return err
	}
	defer r.Close()
	row, err := r.Next(ctx)
	if err != nil {
		return err
	}
	return use(row)
}
