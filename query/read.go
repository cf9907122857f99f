package query

import (
	"context"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/query/internal/plan"
	"github.com/smolwc/smolwc/query/read"
)

// ReadRow reads one row. A row without a cell that the options select is nil, which
// has no cells. One of more than [MaxRowBytes] is an error; [Table.ReadCells] and
// [Table.ReadPage] read rows of any size.
func (t *Table) ReadRow(ctx context.Context, key string, opts ...read.Option) (*Row, error) {
	row, err := t.readRow(ctx, key, opts)
	return row, fail("read row", t.Name(), key, err)
}

func (t *Table) readRow(ctx context.Context, key string, opts []read.Option) (*Row, error) {
	if err := t.database().ready(ctx); err != nil {
		return nil, err
	}
	rr := rowReads.Get().(*rowRead)
	if err := rr.spec.SetRow(key, opts); err != nil {
		return nil, err
	}
	rr.spec.Unpushed, rr.spec.MaxBytes = t.unpushed, t.maxBytes
	spec, err := t.planTo(&rr.plan, &rr.spec, t.db.clock.Now())
	if err != nil {
		return nil, err
	}
	var row *Row
	if rr.plan.IsSmall(spec) {
		row, err = t.readAtOnce(ctx, spec, &rr.plan.Scans[0])
		rr.release()
	} else {
		row, err = t.readFirst(ctx, spec, &rr.plan)
	}
	return row, err
}

// A rowRead is a read of one row. Its memory is used again when the row was
// small, or when it was a read of an update: the result of such a read does not
// share it.
type rowRead struct {
	spec plan.Spec
	plan plan.Plan
}

var rowReads = sync.Pool{New: func() any { return new(rowRead) }}

// release gives the memory back.
func (rr *rowRead) release() {
	*rr = rowRead{}
	rowReads.Put(rr)
}

// open opens the read on a snapshot. The reader has to be closed before the
// rowRead is released.
func (rr *rowRead) open(ctx context.Context, t *Table, snap cf.Snapshot) (*reader, error) {
	spec, err := t.planTo(&rr.plan, &rr.spec, t.db.clock.Now())
	if err != nil {
		return nil, err
	}
	return t.openPlan(ctx, snap, spec, &rr.plan)
}

func (t *Table) readFirst(ctx context.Context, spec *plan.Spec, p *plan.Plan) (*Row, error) {
	r, err := t.openPlan(ctx, nil, spec, p)
	if err != nil {
		return nil, err
	}
	defer r.close()
	return r.next(ctx)
}

// readAtOnce reads one row of one family without a snapshot.
func (t *Table) readAtOnce(ctx context.Context, spec *plan.Spec, s *plan.FamilyScan) (*Row, error) {
	var began time.Time
	if spec.Cost != nil {
		began = time.Now()
	}
	blocks, cost, err := t.db.store.Read(ctx, s.Scan)
	if spec.Cost != nil {
		*spec.Cost = read.Cost{Rows: cost.Rows, Elapsed: time.Since(began)}
		addCost(spec.Cost, cost)
	}
	if err != nil || len(blocks) == 0 {
		return nil, err
	}
	row := new(Row)
	row.parts = row.one[:0]
	room := newRowRoom(ctx, spec.RowBytes())
	in := stream{family: s.Family, store: s.Scan.Family, room: &room}
	for _, b := range blocks {
		in.block = b
		in.stand(0)
		row.key = in.key
		if err := in.addPart(row); err != nil {
			return nil, err
		}
	}
	if err := room.settle(); err != nil {
		return nil, err
	}
	return row, nil
}

// ReadRows reads rows in key order, all of one snapshot: all rows of the table,
// or those of the RowSets among the options. Leaving the loop ends the read. An
// error also ends it: it comes last, with a nil row.
//
// The context is checked between blocks of some thousand cells.
func (t *Table) ReadRows(ctx context.Context, opts ...read.Option) iter.Seq2[*Row, error] {
	const op = "read rows"
	return func(yield func(*Row, error) bool) {
		spec, p, err := t.planRows(ctx, opts)
		if err != nil {
			yield(nil, fail(op, t.Name(), "", err))
			return
		}
		if p.IsSmall(spec) {
			row, err := t.readAtOnce(ctx, spec, &p.Scans[0])
			if err != nil || row != nil {
				yield(row, fail(op, t.name, "", err))
			}
			return
		}
		r, err := t.openPlan(ctx, nil, spec, p)
		if err != nil {
			yield(nil, fail(op, t.name, "", err))
			return
		}
		defer r.close()
		for {
			row, err := r.next(ctx)
			if err != nil {
				yield(nil, fail(op, t.name, "", err))
				return
			}
			if row == nil || !yield(row, nil) {
				return
			}
		}
	}
}

func (t *Table) planRows(ctx context.Context, opts []read.Option) (*plan.Spec, *plan.Plan, error) {
	spec, err := t.readSpec(ctx, opts)
	if err != nil {
		return nil, nil, err
	}
	return t.plan(spec, t.db.clock.Now())
}

const cellBytes = 24 // the memory of a cell besides its qualifier and value

// MaxRowBytes is how much memory a row may take when it is read as a whole: the
// bytes of its qualifiers and encoded values and 24 more for each cell. A read
// fails at a larger row, with the kind [KindResourceExhausted].
const MaxRowBytes = plan.MaxRowBytes

func rowTooLarge(key string) error {
	return fault.Errorf(fault.ResourceExhausted, "row %q takes more than %d MiB; read it with ReadCells, or in pages of columns with ReadPage", fault.Shorten(key), plan.MaxRowBytes>>20)
}

// ReadRowList reads the rows with these keys, all of one snapshot, and returns
// them in the order of keys, which may repeat: rows[i] is the row of keys[i], nil
// when it has no selected cell. The options may not choose rows themselves or
// limit their number.
func (t *Table) ReadRowList(ctx context.Context, keys []string, opts ...read.Option) ([]*Row, error) {
	rows, err := t.readRowList(ctx, keys, opts)
	return rows, fail("read row list", t.Name(), "", err)
}

func (t *Table) readRowList(ctx context.Context, keys []string, opts []read.Option) ([]*Row, error) {
	spec, err := t.readSpec(ctx, opts)
	if err != nil {
		return nil, err
	}
	if err := spec.ChoosesNoRows("a list of keys"); err != nil {
		return nil, err
	}
	r, err := t.newReader(ctx, append(slices.Clip(opts), read.Key(keys...)))
	if err != nil {
		return nil, err
	}
	defer r.close()
	found := make(map[string]*Row, len(keys))
	for {
		row, err := r.next(ctx)
		if err != nil {
			return nil, err
		}
		if row == nil {
			break
		}
		found[row.key] = row
	}
	rows := make([]*Row, len(keys))
	for i, k := range keys {
		rows[i] = found[k]
	}
	return rows, nil
}
