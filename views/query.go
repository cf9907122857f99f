package views

import (
	"context"
	"iter"

	"github.com/smolwc/smolwc/sql"
)

// Query runs a query of SQL, which reads tables and views of the instance whose tables have
// plain names. Each parameter @name of the query takes its value from params. The query runs
// while the caller ranges over the rows of the result. It sees all rows that were written
// before the call, through views too.
//
// A fault of the query is a [query.Error] of the kind KindInvalidArgument, which wraps a
// [sql.Error] with its place. A table or view that is dropped meanwhile ends the rows with an
// error of the kind KindNotFound.
func (v *Views) Query(ctx context.Context, text string, params ...sql.Param) (*sql.Result, error) {
	const op = "query"
	if err := v.Reload(ctx); err != nil {
		return nil, named(op, err)
	}
	q, err := sql.Parse(text)
	if err != nil {
		return nil, named(op, err)
	}
	st, err := v.Prepare(ctx, v.own, q)
	if err != nil {
		return nil, named(op, err)
	}
	bound, err := sql.ParamsOf(params...)
	if err != nil {
		return nil, named(op, err)
	}
	plan, err := st.Parsed.At(v.db.Plumbing().Wall()).Plan(bound)
	if err != nil {
		return nil, named(op, err)
	}
	if err := st.CatchUp(ctx); err != nil {
		return nil, named(op, err)
	}
	stored := map[string]string{}
	for _, r := range st.Reads {
		stored[r.Name] = r.Table.Stored
	}
	tables := func(name string) sql.Table { return v.db.Table(stored[name]) }
	return &sql.Result{Columns: plan.Columns(), Rows: func(yield func([]any, error) bool) {
		ctx, done, err := v.Moment(ctx, st)
		if err != nil {
			yield(nil, named(op, err))
			return
		}
		defer done()
		namedRows(op, plan.Result(ctx, tables).Rows)(yield)
	}}, nil
}

// Moment is the context of a run of a query, which sees all its tables at one moment. The
// caller calls done at the end.
func (v *Views) Moment(ctx context.Context, st *Statement) (at context.Context, done func(), err error) {
	if len(st.Reads) < 2 && !st.Parsed.Nested() {
		return ctx, func() {}, nil
	}
	return v.db.AtOneMoment(ctx)
}

func namedRows(op string, rows iter.Seq2[[]any, error]) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		for row, err := range rows {
			if !yield(row, named(op, err)) {
				return
			}
		}
	}
}
