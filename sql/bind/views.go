package bind

import (
	"errors"
	"slices"
	"strings"

	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/run"
	"github.com/smolwc/smolwc/sql/value"
)

// maxViewDepth bounds the logical views that read each other.
const maxViewDepth = 16

// Expand puts the queries of logical views in the place of their names. view is the text
// of a view's query; ok is false if there is no such logical view.
func Expand(q *parse.Query, view func(name string) (text string, ok bool)) (*Query, error) {
	some := false
	q.EachFrom(func(f *parse.From) {
		if f.Table != "" {
			_, ok := view(f.Table)
			some = some || ok
		}
	})
	if !some {
		return &Query{Parsed: q}, nil
	}
	own, err := q.Again() // which changes
	if err != nil {
		return nil, err
	}
	e := &expansion{view: view, q: own}
	if err := e.expand(&own.Block, own.From.Pos, nil); err != nil {
		return nil, err
	}
	return &Query{Parsed: own, Through: e.through}, nil
}

// An expansion replaces the logical views of a query.
type expansion struct {
	q       *parse.Query
	view    func(name string) (text string, ok bool)
	through []string
	views   int
}

// maxViews bounds the queries of logical views in one query.
const maxViews = 100

// expand replaces the views that a query reads, which is that of the last of the views in path.
func (e *expansion) expand(b *parse.Block, pos int, path []string) (err error) {
	b.EachFrom(func(f *parse.From) {
		if err != nil || f.Table == "" {
			return
		}
		if len(path) == 0 {
			pos = f.Pos
		}
		name := f.Table
		text, ok := e.view(name)
		switch {
		case !ok:
			return
		case slices.Contains(path, name):
			err = e.q.Errorf(pos, "logical view %s reads itself", name)
		case len(path) == maxViewDepth:
			err = e.q.Errorf(pos, "logical views read each other more than %d levels deep", maxViewDepth)
		case len(f.Options) > 0:
			err = e.q.Errorf(pos, "%s is a view; options such as with_history stand in the query of the view", name)
		case f.Unpack != nil:
			err = e.q.Errorf(pos, "%s is a view; UNPACK takes a table", name)
		case e.views == maxViews:
			err = e.q.Errorf(pos, "the query reads more than %d logical views", maxViews)
		}
		if err != nil {
			return
		}
		e.views++
		inner, failed := parse.View(text)
		if failed != nil {
			err = ofView(name, failed)
			return
		}
		if !slices.Contains(e.through, name) {
			e.through = append(e.through, name)
		}
		if err = e.expand(&inner.Block, pos, append(slices.Clip(path), name)); err == nil {
			f.Table, f.Of, f.View = "", &inner.Block, name
		}
	})
	return err
}

// compileViewParameters compiles a call outside of the query of a logical view.
func compileViewParameters(p *planner, n *parse.Node) (*expr, error) {
	return nil, p.Errorf(n.Pos, "%s is allowed only in the query of a logical view", n.Text)
}

// compileViewParam compiles the value of a view parameter. A query that is only prepared has
// none.
func compileViewParam(p *planner, n *parse.Node) (*expr, error) {
	text, ok := p.params.view[n.Text]
	if !ok && p.params.bound() {
		return nil, p.Errorf(n.Pos, "the view parameter %q has no value", n.Text)
	}
	var v any
	if ok {
		v = text
	}
	return &expr{typ: value.Type{Kind: value.TypeString}, fixed: true, eval: func(*run.Tuple) (any, error) { return v, nil }}, nil
}

// ofView is an error in the query of a view. Its place is in another text.
func ofView(name string, err error) error {
	if e, ok := errors.AsType[*parse.Error](err); ok {
		return &parse.Error{Message: "view " + name + ": " + e.Message}
	}
	return err
}

// readRecords makes the columns of a materialized view the columns of the query.
func readRecords(p *planner, m *run.ViewPlan) {
	p.table = schema.Table{Name: p.table.Name}
	p.scope.table, p.scope.slots = false, len(m.Columns)
	for i, c := range m.Columns {
		p.scope.named(slotName{name: c.Name, typ: c.Type, slot: i})
	}
	p.plan.Options, p.plan.Cells = append(p.plan.Options, read.Family(run.RecordFamily)), true
	p.plan.Steps = append(p.plan.Steps, run.Records(len(m.Columns)))

}

// keysInView narrows a read of a materialized view to the rows whose key begins with the
// values that the condition demands.
func keysInView(p *planner, m *run.ViewPlan, where *parse.Node) {
	if where == nil || !p.params.bound() {
		return
	}
	demanded := map[string]*parse.Node{}
	equalities(p, where, demanded)
	var values []any
	for _, i := range m.Keys {
		n := demanded[strings.ToLower(m.Columns[i].Name)]
		if n == nil {
			break
		}
		e, err := p.compile(n)
		if err == nil {
			e, err = p.coerced(n, e, m.Columns[i].Type)
		}
		if err != nil || !e.fixed || e.typ.Kind != m.Columns[i].Type.Kind {
			break
		}
		v, err := e.eval(nil)
		if v == nil || err != nil {
			break
		}
		values = append(values, v)
	}
	switch {
	case len(values) == 0:
	case len(values) == len(m.Keys):
		if key, ok := value.RowKey(values); ok {
			p.plan.Within = keysThat("=", key)
		}
	default:
		if prefix, ok := value.RowKeyPrefix(values); ok {
			p.plan.Within = keysWith(prefix)
		}
	}
}

// equalities collects the columns that a condition compares with a value.
func equalities(p *planner, n *parse.Node, found map[string]*parse.Node) {
	switch {
	case n.Op == parse.OpAnd:
		for _, part := range n.Args {
			equalities(p, part, found)
		}
	case n.Op == parse.OpCompare && n.Text == "=":
		for i, side := range n.Args {
			if of := p.unqualified(side); of.Op == parse.OpName {
				found[strings.ToLower(of.Text)] = n.Args[1-i]
			}
		}
	}
}
