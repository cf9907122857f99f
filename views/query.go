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
	q, err := sql.Parse(text)
	if err != nil {
		return nil, named(op, err)
	}
	st, plan, err := v.planned(ctx, q, params, false)
	if err != nil {
		return nil, named(op, err)
	}
	return v.result(ctx, st, plan, nil), nil
}

// planned plans a query, and waits for the materialized views that it reads.
func (v *Views) planned(ctx context.Context, q *sql.Query, params []sql.Param, inMemory bool) (*Statement, *sql.Plan, error) {
	if err := v.Reload(ctx); err != nil {
		return nil, nil, err
	}
	st, err := v.Prepare(ctx, v.own, q)
	if err != nil {
		return nil, nil, err
	}
	bound, err := sql.ParamsOf(params...)
	if err != nil {
		return nil, nil, err
	}
	if st.Parsed = st.Parsed.At(v.db.Plumbing().Wall()); inMemory {
		st.Parsed = st.Parsed.InMemory()
	}
	plan, err := st.Parsed.Plan(bound)
	if err != nil {
		return nil, nil, err
	}
	return st, plan, st.CatchUp(ctx)
}

// result runs a plan while the caller ranges over it. What it reads counts for the meter, which
// can be nil.
func (v *Views) result(ctx context.Context, st *Statement, plan *sql.Plan, m *sql.Meter) *sql.Result {
	stored := map[string]string{}
	for _, r := range st.Reads {
		stored[r.Name] = r.Table.Stored
	}
	var tables sql.Tables = func(name string) sql.Table { return v.db.Table(stored[name]) }
	if m != nil {
		tables = m.Tables(tables)
	}
	return &sql.Result{Columns: plan.Columns(), Rows: func(yield func([]any, error) bool) {
		ctx, done, err := v.Moment(ctx, st)
		if err != nil {
			yield(nil, named("query", err))
			return
		}
		defer done()
		namedRows("query", plan.Result(ctx, tables).Rows)(yield)
	}}
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
