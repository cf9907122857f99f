package sql

import (
	"errors"
	"slices"
	"strings"

	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/value"
)

// maxViewDepth bounds the logical views that read each other.
const maxViewDepth = 16

// Expand puts the queries of logical views in the place of their names. view is the text
// of a view's query; ok is false for a name that is not that of a logical view.
func (q *Query) Expand(view func(name string) (text string, ok bool)) (*Query, error) {
	parsed := q.parsed
	var through []string
	for {
		name := parsed.From.Table
		text, ok := view(name)
		switch {
		case name == "" || !ok:
			return &Query{parsed: parsed, through: through}, nil
		case slices.Contains(through, name):
			return nil, q.parsed.Errorf(q.parsed.From.Pos, "logical view %s reads itself", name)
		case len(through) == maxViewDepth:
			return nil, q.parsed.Errorf(q.parsed.From.Pos, "logical views read each other more than %d levels deep", maxViewDepth)
		case len(parsed.From.Options) > 0:
			return nil, q.parsed.Errorf(q.parsed.From.Pos, "%s is a view; options such as with_history stand in the query of the view", name)
		case parsed.From.Unpack != nil:
			return nil, q.parsed.Errorf(q.parsed.From.Pos, "%s is a view; UNPACK takes a table", name)
		}
		inner, err := parse.Parse(text)
		if err != nil {
			return nil, ofView(name, err)
		}
		parsed = parse.Inline(parsed, inner, name)
		through = append(through, name)
	}
}

// Through are the logical views between the query and its table.
func (q *Query) Through() []string { return q.through }

// ofView is an error in the query of a view. Its place is in another text.
func ofView(name string, err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		return &Error{Message: "view " + name + ": " + e.Message}
	}
	return err
}

// OfView is the query with the rows of a materialized view, whose name is that of its
// table.
func (q *Query) OfView(m *Materialized) *Query {
	return &Query{parsed: q.parsed, through: q.through, bundles: q.bundles, view: m}
}

// ofRecords makes the columns of a materialized view the columns of the query.
func (p *Plan) ofRecords(m *Materialized) {
	p.table = schema.Table{Name: p.table.Name}
	p.scope.table, p.scope.slots = false, len(m.columns)
	for i, c := range m.columns {
		p.scope.named(slotName{c.name, c.expr.typ, i})
	}
	p.opts, p.cells = append(p.opts, read.Family(RecordFamily)), true
	p.steps = append(p.steps, step{name: "take the columns of the view", alone: true, run: func(_ *execution, next sink) sink {
		return sink{push: func(t *tuple) error {
			c, ok := t.row.Cell(RecordFamily, "")
			if !ok {
				return nil
			}
			b, _ := c.Value.AsBytes()
			values, err := value.ReadRecord(b)
			if err == nil && len(values) != len(m.columns) {
				err = parse.Invalid("the record of a row of the view has %d values, not %d", len(values), len(m.columns))
			}
			if err != nil {
				return err
			}
			return next.push(&tuple{slots: values, ctx: t.ctx})
		}, end: next.end}
	}})
}

// keysOfView narrows a read of a materialized view to the rows whose key begins with the
// values that the condition demands.
func (p *Plan) keysOfView(m *Materialized, where *parse.Node) {
	if where == nil || !p.params.bound() {
		return
	}
	demanded := map[string]*parse.Node{}
	p.equalities(where, demanded)
	var values []any
	for _, i := range m.keys {
		n := demanded[strings.ToLower(m.columns[i].name)]
		if n == nil {
			break
		}
		e, err := p.compile(n)
		if err == nil {
			e, err = p.coerced(n, e, m.columns[i].expr.typ)
		}
		if err != nil || !e.fixed || e.typ.Kind != m.columns[i].expr.typ.Kind {
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
	case len(values) == len(m.keys):
		if key, ok := value.RowKey(values); ok {
			p.within = keysThat("=", key)
		}
	default:
		if prefix, ok := value.RowKeyPrefix(values); ok {
			p.within = keysWith(prefix)
		}
	}
}

// equalities collects the columns that a condition compares with a value.
func (p *Plan) equalities(n *parse.Node, found map[string]*parse.Node) {
	switch {
	case n.Op == parse.OpAnd:
		for _, part := range n.Args {
			p.equalities(part, found)
		}
	case n.Op == parse.OpCompare && n.Text == "=":
		for i, side := range n.Args {
			if of := p.unqualified(side); of.Op == parse.OpName {
				found[strings.ToLower(of.Text)] = n.Args[1-i]
			}
		}
	}
}
