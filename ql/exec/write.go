package exec

import (
	"cmp"
	"context"
	"fmt"

	"github.com/smolwc/smolwc/internal/humanize"
	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

func (r *Runner) put(ctx context.Context, st *ql.Put) (Result, error) {
	t, err := r.table(st.Table)
	if err != nil {
		return nil, err
	}
	m, err := r.mutation(t, st.Cells)
	if err != nil {
		return nil, err
	}
	return r.apply(ctx, t.Name, st.Key, m, "put "+humanize.Count(len(st.Cells), "cell"))
}

func (r *Runner) mutation(t schema.Table, list []ql.Assignment) (*write.Mutation, error) {
	m := write.NewMutation()
	for _, a := range list {
		if err := r.set(m, t, a); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (r *Runner) set(m *write.Mutation, t schema.Table, a ql.Assignment) error {
	f, err := column(t, a.Column)
	if err != nil {
		return err
	}
	if f.Aggregate != schema.NoAggregate {
		return lex.ErrorAt(a.Column.Pos, "family %s has the aggregate %s: write its cells with add, not with put", f.Name, f.Aggregate)
	}
	v, err := valueFor(f, a.Value.ValueAs)
	if err != nil {
		return err
	}
	if a.At == nil {
		m.Set(f.Name, a.Column.Qualifier, v)
		return nil
	}
	ts, err := r.resolve(a.At, 0)
	m.SetAt(f.Name, a.Column.Qualifier, ts, v)
	return err
}

func (r *Runner) delete(ctx context.Context, st *ql.Delete) (Result, error) {
	t, err := r.table(st.Table)
	if err != nil {
		return nil, err
	}
	m, err := r.deletion(t, st)
	if err != nil {
		return nil, err
	}
	return r.apply(ctx, t.Name, st.Key, m, "deleted")
}

// deletion is the mutation that deletes the columns of a row, or all of it without columns.
func (r *Runner) deletion(t schema.Table, st *ql.Delete) (*write.Mutation, error) {
	m := write.NewMutation()
	if len(st.Columns) == 0 {
		m.DeleteRow()
	}
	for _, d := range st.Columns {
		if err := r.deleteColumn(m, t, st, d); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (r *Runner) deleteColumn(m *write.Mutation, t schema.Table, st *ql.Delete, d ql.DeleteColumn) error {
	f, err := column(t, d.Column)
	if err != nil {
		return err
	}
	switch {
	case d.Column.Kind == ql.ColumnFamily:
		m.DeleteCellsInFamily(f.Name)
	case d.At != nil:
		ts, err := r.resolve(d.At, 0)
		m.DeleteCell(f.Name, d.Column.Qualifier, ts)
		return err
	default:
		since, until, err := r.timeRange(st.Since, st.Until)
		m.DeleteTimestampRange(f.Name, d.Column.Qualifier, since, until)
		return err
	}
	return nil
}

func (r *Runner) deleteRange(ctx context.Context, st *ql.DeleteRange) (Result, error) {
	t, err := r.table(st.Table)
	if err != nil {
		return nil, err
	}
	rows := read.Range(st.Start, st.End)
	what := fmt.Sprintf("all rows of %s from %s to before %s", t.Name, bound(st, st.Start, "the first"), bound(st, st.End, "the end"))
	switch {
	case st.TuplePrefix:
		rows = tuplePrefix(st.Prefix)
		text, _ := ql.TupleText(st.Prefix)
		what = fmt.Sprintf("all rows of %s whose keys are tuples that begin with %s", t.Name, cmp.Or(text, "()"))
	case st.Prefix != "":
		rows = read.Prefix(st.Prefix)
		what = fmt.Sprintf("all rows of %s that begin with %s", t.Name, lex.QuoteKey(st.Prefix))
	}
	if err := r.confirmRows(ctx, st, st.Yes, "delete "+what, deletes, t.Name, rows); err != nil {
		return nil, err
	}
	if err := r.Database().Table(t.Name).DeleteRange(ctx, rows); err != nil {
		return nil, err
	}
	return &Done{"deleted " + what}, nil
}

func bound(st ql.Statement, key, none string) string {
	if key == "" {
		return none
	}
	return ql.QuoteKeyOf(st, key)
}

// A pending is an open batch: begun, and neither committed nor aborted.
type pending struct {
	begun      lex.Pos
	batch      *write.Batch
	statements int
	spoilt     error // the error of a failed statement that may have been part of the batch
}

// InBatch reports whether a batch is open.
func (r *Runner) InBatch() bool { return r != nil && r.pending != nil }

// Batches returns the number of batches begun so far.
func (r *Runner) Batches() int {
	return r.batches
}

// SpoilBatch records that a statement failed that may have been meant for the batch.
// Commit then refuses to write the batch.
func (r *Runner) SpoilBatch(err error) {
	if r.InBatch() && r.pending.spoilt == nil {
		r.pending.spoilt = err
	}
}

// DropBatch ends the batch without writing it. The error says so, at the place where the
// batch was begun; it is nil if there was no batch.
func (r *Runner) DropBatch() error {
	if !r.InBatch() {
		return nil
	}
	p := r.pending
	r.pending = nil
	return lex.ErrorAt(p.begun, "this batch has no commit; nothing of it was written")
}

func (r *Runner) begin(_ context.Context, st *ql.Begin) (Result, error) {
	if r.pending != nil {
		return nil, lex.ErrorAt(st.Pos, "a batch is open already, begun at %s; batches do not nest", r.pending.begun)
	}
	r.pending = &pending{begun: st.Pos, batch: write.NewBatch()}
	r.batches++
	return &Done{"began a batch"}, nil
}

func (r *Runner) commit(ctx context.Context, st *ql.Commit) (Result, error) {
	p := r.pending
	if p == nil {
		return nil, lex.ErrorAt(st.Pos, "there is no batch to commit; begin starts one")
	}
	r.pending = nil
	if p.spoilt != nil {
		return nil, lex.ErrorAt(st.Pos, "nothing of the batch was written, because a statement in it failed: %s", lex.Escape(p.spoilt.Error()))
	}
	if p.statements > 0 { // an empty batch is not an error
		if err := r.Database().Apply(ctx, p.batch); err != nil {
			return nil, err
		}
	}
	return &Done{"committed " + humanize.Count(p.statements, "statement")}, nil
}

func (r *Runner) abort(_ context.Context, st *ql.Abort) (Result, error) {
	if r.pending == nil {
		return nil, lex.ErrorAt(st.Pos, "there is no batch to abort; begin starts one")
	}
	n := r.pending.statements
	r.pending = nil
	return &Done{"dropped " + humanize.Count(n, "statement")}, nil
}

// apply writes a mutation, or adds it to the batch if one is open.
func (r *Runner) apply(ctx context.Context, table, key string, m *write.Mutation, did string) (Result, error) {
	if p := r.pending; p != nil {
		p.batch.Add(table, key, m)
		p.statements++
		return &Done{"in the batch: " + did}, nil
	}
	if err := r.Database().Table(table).Apply(ctx, key, m); err != nil {
		return nil, err
	}
	return &Done{did}, nil
}
