// Package bind makes plans of parsed queries: it looks the names of tables, columns and
// functions up, checks types, chooses the rows to read, and compiles expressions. Package run
// carries the plans out.
package bind

import (
	"time"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/rowkey"
	"github.com/smolwc/smolwc/sql/run"
)

// A Query is a parsed query without logical views, and what is known of its table.
type Query struct {
	Parsed   *parse.Query
	RowKeys  *rowkey.Schema // nil: row keys have no fields
	Bundles  Bundles        // nil: no schema bundles
	View     *run.ViewPlan  // nil: the rows come from a table
	Now      time.Time      // of CURRENT_TIMESTAMP; zero: the time of Plan
	InMemory bool           // it writes no temporary files
	// Through are the logical views that were expanded.
	Through []string
}

// Plan looks up the query's names and checks its types. A query without a table
// gets the zero table.
func (q *Query) Plan(t schema.Table, params Params) (*run.Plan, error) {
	from := &q.Parsed.From
	t.Name = from.Table // as errors call it: the server stores other tables of that name
	p := &planner{Source: q.Parsed.Source, table: t, rowKeys: q.RowKeys, bundles: q.Bundles, params: params, now: q.Now, functions: allFunctions()}
	p.plan = &run.Plan{Table: t.Name, InMemory: q.InMemory, Explain: q.Parsed.Explain}
	if p.now.IsZero() {
		p.now = time.Now()
	}
	p.scope = scope{table: from.Table != "", alias: from.Alias}
	if err := compileOptions(p, from.Options); err != nil {
		return nil, err
	}
	if q.View != nil {
		readRecords(p, q.View)
		if len(from.Unnests) == 0 && len(q.Parsed.Stages) > 0 {
			keysInView(p, q.View, q.Parsed.Stages[0].Where)
		}
	}
	if err := compileStages(p, q.Parsed); err != nil {
		return nil, err
	}
	if len(q.Through) > 0 {
		p.Source = parse.Nowhere // values are computed in several texts
	}
	for _, c := range p.plan.Reads {
		p.plan.Options = append(p.plan.Options, c)
	}
	if p.plan.Pushed = p.pushes(); !p.plan.Pushed { // rows without any of the columns may be wanted too
		p.plan.Options = append(p.plan.Options, read.EveryRow())
	}
	p.plan.Families, p.plan.Columns, p.plan.Where = p.table.Families, outputsOf(p.columns), p.where.condition()
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
