package query

import (
	"context"
	"iter"
	"slices"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/internal/plan"
	"github.com/smolwc/smolwc/query/internal/scan"
	"github.com/smolwc/smolwc/query/read"
)

// ReadRow reads one row. A row without a cell that the options select is nil, which
// has no cells. One of more than [MaxRowBytes] is an error; [Table.ReadCells] and
// [Table.ReadPage] read rows of any size.
func (t *Table) ReadRow(ctx context.Context, key string, opts ...read.Option) (*Row, error) {
	src, err := t.source(ctx)
	if err != nil {
		return nil, fail("read row", t.Name(), key, err)
	}
	row, err := src.ReadRow(ctx, key, opts)
	return (*Row)(row), fail("read row", t.name, key, err)
}

// ReadRows reads rows in key order, all of one snapshot: all rows of the table,
// or those of the RowSets among the options. Leaving the loop ends the read. An
// error also ends it: it comes last, with a nil row.
//
// The context is checked between blocks of some thousand cells.
func (t *Table) ReadRows(ctx context.Context, opts ...read.Option) iter.Seq2[*Row, error] {
	const op = "read rows"
	return func(yield func(*Row, error) bool) {
		src, spec, p, err := t.planRows(ctx, opts)
		if err != nil {
			yield(nil, fail(op, t.Name(), "", err))
			return
		}
		if p.IsSmall(spec) {
			row, err := src.ReadAtOnce(ctx, spec, &p.Scans[0])
			if err != nil || row != nil {
				yield((*Row)(row), fail(op, t.name, "", err))
			}
			return
		}
		r, err := src.OpenPlan(ctx, nil, spec, p)
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

func (t *Table) planRows(ctx context.Context, opts []read.Option) (src scan.Source, spec *plan.Spec, p *plan.Plan, err error) {
	if src, err = t.source(ctx); err != nil {
		return src, nil, nil, err
	}
	if spec, err = src.Spec(opts); err != nil {
		return src, nil, nil, err
	}
	spec, p, err = src.Plan(spec)
	return src, spec, p, err
}

// MaxRowBytes is how much memory a row may take when it is read as a whole: the
// bytes of its qualifiers and encoded values and 24 more for each cell. A read
// fails at a larger row, with the kind [KindResourceExhausted].
const MaxRowBytes = plan.MaxRowBytes

// ReadRowList reads the rows with these keys, all of one snapshot, and returns
// them in the order of keys, which may repeat: rows[i] is the row of keys[i], nil
// when it has no selected cell. The options may not choose rows themselves or
// limit their number.
func (t *Table) ReadRowList(ctx context.Context, keys []string, opts ...read.Option) ([]*Row, error) {
	rows, err := t.readRowList(ctx, keys, opts)
	return rows, fail("read row list", t.Name(), "", err)
}

func (t *Table) readRowList(ctx context.Context, keys []string, opts []read.Option) ([]*Row, error) {
	src, err := t.source(ctx)
	if err != nil {
		return nil, err
	}
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

// A Holding counts the bytes that reads hold in memory.
type Holding = cf.Holding

// WithHolding returns a context for reads, and for the reads of
// [Table.ApplyReadModifyWrite] and of conditions. They tell h the bytes that they
// hold in memory, before they hold them: for each block of cells; for a row that lies
// in several blocks, and grows by a MiB; and for values of several MiB, which the
// engine holds a second time.
//
// After an error of Hold the read holds no more. It returns the error if it needs the
// bytes; otherwise it continues with small blocks and does not read ahead. So a
// caller can bound the bytes that many reads hold together. An error for a negative n
// is ignored; n is 0 when a read asks whether it may read ahead. A read does not read
// a value that is larger than Room. With a nil h nothing is counted.
func WithHolding(ctx context.Context, h Holding) context.Context {
	if ctx == nil || h == nil {
		return ctx
	}
	return cf.WithHolding(ctx, h)
}
