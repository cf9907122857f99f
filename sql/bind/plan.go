// Package bind makes plans of parsed queries: it looks the names of tables, columns and
// functions up, checks types, chooses the rows to read, and compiles expressions. Package run
// carries the plans out.
package bind

import (
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/sql/run"
)

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
// any of them would not be seen, so the condition must exclude such rows, or they must change
// nothing.
func (p *planner) pushes() bool {
	return len(p.plan.Reads) > 0 && (p.valued || p.where != nil && (p.where.strict || p.where.rejects))
}

// finish completes the plan, once everything is compiled.
func (p *planner) finish() {
	if p.plan.From != nil {
		p.plan.Columns = outputsOf(p.columns)
		return
	}
	for _, c := range p.plan.Reads {
		p.plan.Options = append(p.plan.Options, c)
	}
	if p.plan.Pushed = p.pushes(); !p.plan.Pushed { // rows without any of the columns may be wanted too
		p.plan.Options = append(p.plan.Options, read.EveryRow())
	}
	p.plan.Families, p.plan.Columns, p.plan.Where = p.table.Families, outputsOf(p.columns), p.where.condition()
}
