package bind

import (
	"fmt"
	"slices"
	"strings"

	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/run"
)

// A grouping makes groups of tuples. The tuple of a group has the values of the keys,
// and then those of the aggregate functions.
type grouping struct {
	before scope // of the tuples that are grouped
	keys   []*expr
	aggs   []*aggregate
	slots  map[int]*expr // by the number of a key or an aggregate call
	numbering
}

// A numbering numbers expressions: those that are written alike have the same number.
type numbering struct {
	nodes map[*parse.Node]int
	seen  map[string]int
}

func newNumbering() numbering { return numbering{map[*parse.Node]int{}, map[string]int{}} }

// run is what runs need of the groups.
func (g *grouping) run(inMemory bool) *run.Grouping {
	of := &run.Grouping{InMemory: inMemory}
	for _, e := range g.keys {
		key := run.Key{Eval: e.eval}
		if e.column != nil {
			key.Cell = &e.column.Cell
		}
		of.Keys = append(of.Keys, key)
	}
	for _, a := range g.aggs {
		of.Aggs = append(of.Aggs, a.run())
	}
	return of
}

// number is the same for expressions that are written alike.
func (g *numbering) number(p *planner, n *parse.Node) int {
	if id, ok := g.nodes[n]; ok {
		return id
	}
	of := p.unqualified(n)
	var b strings.Builder
	text := of.Text
	if of.Op == parse.OpName {
		text = strings.ToLower(text)
	}
	fmt.Fprintf(&b, "%d %d %t %t %q %q", of.Op, of.Kind, of.Distinct, of.IgnoreNulls, text, of.Names)
	for _, o := range of.Order {
		fmt.Fprintf(&b, " order %t %t", o.Desc, o.NullsLast)
	}
	if of.Limit != nil {
		fmt.Fprintf(&b, " limit %q", of.Limit.Text)
	}
	for _, arg := range of.Args {
		fmt.Fprintf(&b, " %d", g.number(p, arg))
	}
	id, ok := g.seen[b.String()]
	if !ok {
		id = len(g.seen)
		g.seen[b.String()] = id
	}
	g.nodes[n] = id
	return id
}

// group begins a grouping: from now on expressions are of groups.
func (p *planner) group(keys []*parse.Node) error {
	g := &grouping{before: p.scope, slots: map[int]*expr{}, numbering: newNumbering()}
	for _, n := range keys {
		e, err := p.compile(n)
		if err != nil {
			return err
		}
		if !e.typ.Groupable() {
			return p.Errorf(n.Pos, "%s cannot be grouped", e.typ)
		}
		g.slots[g.number(p, n)] = slotExpr(e.typ, len(g.keys))
		g.keys = append(g.keys, e)
	}
	p.scope.groups = g
	return nil
}

// ofGroup compiles an expression that is a key or an aggregate function; it is nil for
// any other.
func (p *planner) ofGroup(n *parse.Node) (*expr, error) {
	g := p.scope.groups
	if p.takesLambdaArgument(n) { // a key that is written alike has a column of this name
		if isAggregate(n) {
			return nil, p.Errorf(n.Pos, "%s cannot take an argument of a lambda", n.Text)
		}
		return nil, nil
	}
	id := g.number(p, n)
	if e, ok := g.slots[id]; ok {
		return e, nil
	}
	switch {
	case isAggregate(n):
		groups, lambdas := p.scope, p.lambdas
		p.scope, p.lambdas = g.before, nil
		a, err := p.aggregate(n)
		p.scope, p.lambdas = groups, lambdas
		if err != nil {
			return nil, err
		}
		e := slotExpr(a.typ, len(g.keys)+len(g.aggs))
		g.aggs = append(g.aggs, a)
		g.slots[id] = e
		return e, nil
	case p.unqualified(n).Op == parse.OpName:
		return nil, p.Errorf(n.Pos, "the column %s is neither grouped nor aggregated", p.unqualified(n).Text)
	}
	return nil, nil
}

func isAggregate(n *parse.Node) bool {
	return n.Op == parse.OpCall && functions().named(n.Text).complete != nil
}

// hasAggregate reports whether an expression has an aggregate function. It visits each
// node once: BETWEEN and IN have their operand twice.
func hasAggregate(n *parse.Node) bool {
	return n != nil && anyNode(n, map[*parse.Node]bool{}, isAggregate)
}

func anyNode(n *parse.Node, seen map[*parse.Node]bool, is func(*parse.Node) bool) bool {
	if seen[n] {
		return false
	}
	if len(n.Args) > 0 {
		seen[n] = true
	}
	return is(n) || slices.ContainsFunc(n.Args, func(arg *parse.Node) bool { return anyNode(arg, seen, is) })
}
