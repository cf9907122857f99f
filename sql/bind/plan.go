// Package bind makes plans of parsed queries: it looks the names of tables, columns and
// functions up, checks types, chooses the rows to read, and compiles expressions. Package run
// carries the plans out.
package bind

import (
	"time"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/run"
)

// A Query is a parsed query without logical views, and descriptions of its tables.
type Query struct {
	Parsed   *parse.Query
	Sources  map[string]Source // the tables and materialized views by their names in the query
	Now      time.Time         // of CURRENT_TIMESTAMP; zero: the time of Plan
	InMemory bool              // it writes no temporary files
	// Through are the logical views that were expanded.
	Through []string
}

// Plan looks up the query's names and checks its types.
func (q *Query) Plan(params Params) (*run.Plan, error) {
	w := &whole{query: q, params: params, now: q.Now, functions: allFunctions()}
	if w.now.IsZero() {
		w.now = time.Now()
	}
	p, err := w.block(&q.Parsed.Block)
	if err != nil {
		return nil, err
	}
	if len(q.Through) > 0 {
		for _, of := range w.planners {
			of.Source = parse.Nowhere // values are computed in several texts
		}
	}
	p.plan.Analyze, p.plan.Explain, p.plan.Size, p.plan.Queries = q.Parsed.Analyze, q.Parsed.Explain, w.size, w.queries
	return p.plan, nil
}

// outputsOf are what runs need of columns.
func outputsOf(all []output) (list []run.Output) {
	for _, o := range all {
		list = append(list, run.Output{Column: run.Column{Name: o.name, Type: o.expr.typ}, Eval: o.expr.eval})
	}
	return list
}

// condition is what runs need of a condition on the rows of the table.
func (e *expr) condition() *run.Condition {
	if e == nil {
		return nil
	}
	c := &run.Condition{Eval: e.eval, Stored: e.stored}
	if e.keys != nil {
		c.Keys = func(t *run.Tuple) []cf.Range { return e.keys(t) }
	}
	return c
}

// pushes reports whether only the columns that the query names are read. A row without
// any of them would not be seen, so the condition must exclude such rows.
func (p *planner) pushes() bool {
	return len(p.plan.Reads) > 0 && p.where != nil && (p.where.strict || p.where.rejects)
}
