package bind

import (
	"strings"

	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/run"
)

// A frame is a query in an expression while it is compiled. It sees the names at the place
// where it stands: what it takes of them are values of each run.
type frame struct {
	outer  *planner // in whose expression it stands; nil: the query itself
	hidden int      // above 0, names around are not seen: a view or a query of WITH is compiled
	size   run.Size // of outer, meanwhile
	taken  []*expr  // of outer
	slots  map[int]int
	numbering
}

// within compiles a query in an expression.
func (w *whole) within(outer *planner, compile func() error) (*frame, run.Size, error) {
	f := &frame{outer: outer, slots: map[int]int{}, numbering: newNumbering()}
	before := w.frame
	f.size, w.size, w.frame = w.size, run.Size{}, f
	err := compile()
	size := w.size
	w.size, w.frame = f.size, before
	return f, size, err
}

// sealed hides the names around, if on is set, until the result is called.
func (w *whole) sealed(on bool) func() {
	f := w.frame
	if !on || f == nil {
		return func() {}
	}
	f.hidden++
	return func() { f.hidden-- }
}

// around compiles a name that the query lacks and one around it has, or a column of it; nil for
// other expressions.
func (p *planner) around(n *parse.Node) (*expr, error) {
	switch n.Op {
	case parse.OpName, parse.OpField, parse.OpIndex:
	default:
		return nil, nil
	}
	if p.frame == nil || !p.outward(n) {
		return nil, nil
	}
	f, w := p.frame, p.whole
	inner, size, hidden := w.frame, w.size, f.hidden
	w.frame, w.size = f.outer.frame, f.size
	e, err := f.outer.compile(n)
	f.size = w.size
	w.frame, w.size, f.hidden = inner, size, hidden
	if err != nil {
		return nil, err
	}
	id := f.number(f.outer, n)
	i, ok := f.slots[id]
	if !ok {
		i = len(f.taken)
		f.slots[id], f.taken = i, append(f.taken, e)
	}
	return &expr{typ: e.typ, fixed: true, eval: run.Around(i, p.places(n.Pos))}, nil
}

// outward reports whether only a query around this one has the name that an expression begins
// with.
func (p *planner) outward(n *parse.Node) bool {
	f := p.frame
	return f != nil && f.outer != nil && f.hidden == 0 && !p.has(n) && (f.outer.has(n) || f.outer.outward(n))
}

// has reports whether the planner itself has the name that an expression begins with.
func (p *planner) has(n *parse.Node) bool {
	switch n.Op {
	case parse.OpName:
		return p.hasName(n.Text)
	case parse.OpField:
		if of := n.Args[0]; of.Op == parse.OpName {
			return p.qualifies(of.Text) || p.hasName(of.Text)
		}
		return p.has(n.Args[0])
	case parse.OpIndex:
		if n.Args[1].Op == parse.OpLiteral {
			return p.has(n.Args[0])
		}
	}
	return true
}

func (p *planner) hasName(name string) bool {
	if p.isLambdaArgument(name) || p.scope.isSide(name) || p.functions.named(strings.ToUpper(name)).bare {
		return true
	}
	if _, two := p.scope.ambiguous[strings.ToLower(name)]; two {
		return true
	}
	if _, ok := p.computed(name); ok {
		return true
	}
	if !p.scope.table {
		return false
	}
	if of, ok := p.spelling[strings.ToLower(name)]; ok {
		name = of
	}
	_, family := p.table.Family(name)
	_, _, field := p.rowKeys.Field(name)
	return name == parse.RowKey || family || field
}
