package bind

import (
	"fmt"
	"slices"
	"strings"

	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/run"
	"github.com/smolwc/smolwc/sql/value"
)

// A grouping makes groups of tuples. The tuple of a group holds the keys, and
// then the results of the aggregate functions.
type grouping struct {
	before scope // of the tuples that are grouped
	keys   []*expr
	aggs   []*aggregate
	slots  map[int]*expr // by the number of a key or an aggregate call
	at     map[int]int   // of the keys, by their numbers
	sets   []uint64      // bits of the keys of each grouping set; nil: none
	numbering
}

// An aggregate is a call of an aggregate function.
type aggregate struct {
	call     *parse.Node
	typ      value.Type
	args     []*expr
	star     bool
	nulls    bool // NULLs are not ignored
	distinct bool
	by       []*expr // of ORDER BY
	make     run.Make
}

// run is what runs need of the call.
func (a *aggregate) run() *run.Aggregate {
	of := &run.Aggregate{Type: a.typ, Nulls: a.nulls, Distinct: a.distinct, By: evals(a.by), Make: a.make}
	if !a.star {
		of.Arg, of.ArgType = a.args[0].eval, a.args[0].typ
		if c := a.args[0].column; c != nil && !a.distinct && len(a.by) == 0 {
			of.Cell = &c.Cell
		}
	}
	return of
}

// aggregate compiles a call of an aggregate function.
func (p *planner) aggregate(n *parse.Node) (*aggregate, error) {
	of, whole := p.functions.named(n.Text), n
	a := &aggregate{call: n, distinct: n.Distinct}
	if len(n.Order) > 0 {
		call := *n
		call.Args = n.Args[:len(n.Args)-len(n.Order)]
		n = &call
	}
	if len(n.Args) == 1 && n.Args[0].Op == parse.OpStar {
		if n.Text != "COUNT" || n.Distinct {
			return nil, p.Errorf(n.Args[0].Pos, "only COUNT takes *")
		}
		a.star = true
	} else if len(n.Args) < 1 || len(n.Args) > of.most {
		return nil, p.Errorf(n.Pos, "%s takes 1 to %d arguments, not %d", n.Text, of.most, len(n.Args))
	} else {
		for _, arg := range n.Args {
			if p.functions.hasAggregate(arg) && !n.Windowed {
				return nil, p.Errorf(arg.Pos, "an aggregate function cannot be the argument of another")
			}
			e, err := p.compile(arg)
			if err != nil {
				return nil, err
			}
			a.args = append(a.args, e)
		}
		if n.Distinct && !a.args[0].typ.Groupable() {
			return nil, p.Errorf(n.Args[0].Pos, "DISTINCT cannot compare values of type %s", a.args[0].typ)
		}
	}
	if err := of.complete(p, n, a); err != nil {
		return nil, err
	}
	return a, arrange(p, whole, a)
}

func typeArgument(p *planner, n *parse.Node, a *aggregate, want value.Kind) (err error) {
	a.args[0], err = p.typed(n.Args[0], want, "the argument of "+n.Text)
	return err
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
	for number, set := range g.sets {
		if set == 0 {
			of.Totals = append(of.Totals, int64(number))
		}
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
	if of.Over != nil {
		fmt.Fprintf(&b, " over %d %q", of.Over.Partition, of.Over.Frame)
	}
	if of.Query != nil {
		fmt.Fprintf(&b, " query %p", of.Query)
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
	g := &grouping{before: p.scope, slots: map[int]*expr{}, at: map[int]int{}, numbering: newNumbering()}
	for _, n := range keys {
		e, err := p.compile(n)
		if err != nil {
			return err
		}
		if !e.typ.Groupable() {
			return p.Errorf(n.Pos, "%s cannot be grouped", e.typ)
		}
		id := g.number(p, n)
		if _, twice := g.at[id]; twice {
			continue
		}
		g.at[id], g.slots[id] = len(g.keys), slotExpr(e.typ, len(g.keys))
		g.keys = append(g.keys, e)
	}
	p.scope.groups = g
	return nil
}

// addGroups adds the step that makes the groups of the scope.
func (p *planner) addGroups() {
	g := p.scope.groups
	p.valued = p.valued || len(p.plan.Steps) == 0 && g.before.table && g.onlyOfValues()
	p.plan.Steps = append(p.plan.Steps, run.GroupBy(g.run(p.plan.InMemory)))
}

// onlyOfValues reports whether a row without any of the columns that the query reads changes
// nothing: there is one group, and its functions ignore NULLs.
func (g *grouping) onlyOfValues() bool {
	return len(g.keys) == 0 && g.sets == nil && !slices.ContainsFunc(g.aggs, func(a *aggregate) bool {
		return a.star || a.nulls || !a.args[0].strict
	})
}

// ofGroup compiles an expression that is a key or an aggregate function; it is nil for
// any other.
func (p *planner) ofGroup(n *parse.Node) (*expr, error) {
	g := p.scope.groups
	if p.takesLambdaArgument(n) { // an identical key is a column of this name
		if p.functions.isAggregate(n) {
			return nil, p.Errorf(n.Pos, "%s cannot take an argument of a lambda", n.Text)
		}
		return nil, nil
	}
	id := g.number(p, n)
	if e, ok := g.slots[id]; ok {
		return e, nil
	}
	switch {
	case p.functions.isAggregate(n):
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
		return nil, p.Errorf(n.Pos, "the column %s is neither grouped nor aggregated", shown(p.unqualified(n).Text))
	}
	return nil, nil
}

func (p *planner) orderable(n *parse.Node) (*expr, error) {
	e, err := p.compile(n)
	if err != nil {
		return nil, err
	}
	return p.ordered(n, e)
}

// ordered checks that rows can be ordered by a compiled expression.
func (p *planner) ordered(n *parse.Node, e *expr) (*expr, error) {
	if !e.typ.Comparable() {
		return nil, p.Errorf(n.Pos, "rows cannot be ordered by %s", e.typ)
	}
	return e, nil
}

// arrange compiles IGNORE NULLS, ORDER BY and LIMIT of an aggregate function, whose
// arguments are the first of the call, and the expressions of ORDER BY the rest.
func arrange(p *planner, n *parse.Node, a *aggregate) error {
	of := p.functions.named(n.Text)
	if n.RespectNulls && !of.respectNulls {
		return p.Errorf(n.Pos, "%s does not take RESPECT NULLS; %s does", n.Text, p.functions.list(func(b *builtin) bool { return b.respectNulls }))
	}
	if n.IgnoreNulls {
		if !of.ignoreNulls {
			return p.Errorf(n.Pos, "%s does not take IGNORE NULLS", n.Text)
		}
		a.nulls = false
	}
	if len(n.Order) == 0 && n.Limit == nil {
		return nil
	}
	if !of.ordered {
		return p.Errorf(n.Pos, "%s takes no ORDER BY and no LIMIT; %s do", n.Text, p.functions.list(func(b *builtin) bool { return b.ordered }))
	}
	orders := n.Args[len(n.Args)-len(n.Order):]
	for _, by := range orders {
		e, err := p.orderable(by)
		if err != nil {
			return err
		}
		if a.distinct && !alikeWritten(p, by, n.Args[0]) {
			return p.Errorf(by.Pos, "ORDER BY of %s(DISTINCT …) takes the argument itself", n.Text)
		}
		a.by = append(a.by, e)
	}
	limit, err := p.rowCount(n.Limit, "LIMIT")
	if err != nil {
		return err
	}
	a.make = run.Arranged(a.make, n.Order, limit)
	return nil
}

// alikeWritten reports whether two expressions are written alike.
func alikeWritten(p *planner, a, b *parse.Node) bool {
	g := newNumbering()
	return g.number(p, a) == g.number(p, b)
}

// grouped reports whether a SELECT makes groups.
func (p *planner) grouped(s *parse.Stage) bool {
	grouped := s.Grouped || p.functions.hasAggregate(s.Having) || p.functions.hasAggregate(s.Qualify)
	for _, c := range s.Columns {
		grouped = grouped || p.functions.hasAggregate(c.Expr)
	}
	for _, o := range s.Order {
		grouped = grouped || p.functions.hasAggregate(o.Expr)
	}
	return grouped
}
