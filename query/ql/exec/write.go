package exec

import (
	"cmp"
	"context"
	"fmt"

	"github.com/smolwc/smolwc/query/ql"
	"github.com/smolwc/smolwc/query/ql/lex"
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
	return r.apply(ctx, t.Name, st.Key, m, "put "+plural(len(st.Cells), "cell"))
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
	v, err := valueFor(f, a.Value, a.Value.ValueAs)
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
	m := write.NewMutation()
	if len(st.Columns) == 0 {
		m.DeleteRow()
	}
	for _, d := range st.Columns {
		if err := r.deleteColumn(m, t, st, d); err != nil {
			return nil, err
		}
	}
	return r.apply(ctx, t.Name, st.Key, m, "deleted")
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
	if err := r.confirm(st, st.Yes, "delete "+what+"?"); err != nil {
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

// plural formats a count of things; many is the plural if it is irregular.
func plural[N int | int64](n N, one string, many ...string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, append(many, one+"s")[0])
}
