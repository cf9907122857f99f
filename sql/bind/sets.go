package bind

import (
	"slices"
	"strings"

	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/run"
	"github.com/smolwc/smolwc/sql/value"
)

// groupBy begins the grouping of a stage, by the keys of its GROUP BY. With grouping sets a
// step before it makes a tuple of each set, and adds the keys to it, of which those that the
// set leaves out are NULL, and the number of the set: these are the keys.
func (p *planner) groupBy(s *parse.Stage, keys []*parse.Node) error {
	if s.Sets == nil {
		return p.group(keys)
	}
	before := p.scope
	if err := p.group(keys); err != nil {
		return err
	}
	g := p.scope.groups
	if len(g.keys) == 0 && len(s.Sets) == 1 { // one group, also of no rows
		return nil
	}
	at := make([]int, len(keys)) // of those written alike, one key
	for i, n := range keys {
		at[i] = g.at[g.number(p, n)]
	}
	for _, set := range s.Sets {
		var mask uint64
		for _, i := range set {
			mask |= 1 << at[i]
		}
		g.sets = append(g.sets, mask)
	}
	p.plan.Steps = append(p.plan.Steps, run.GroupingSets(evals(g.keys), g.sets))
	for i, e := range g.keys {
		g.keys[i] = slotExpr(e.typ, before.slots+i)
	}
	g.keys = append(g.keys, slotExpr(value.Type{Kind: value.TypeInt64}, before.slots+len(g.keys)))
	return nil
}

// compileGrouping compiles GROUPING(key): 1 where the grouping set leaves the key out, and
// otherwise 0.
func compileGrouping(p *planner, n *parse.Node) (*expr, error) {
	g := p.scope.groups
	if len(n.Args) != 1 || g == nil {
		return nil, p.Errorf(n.Pos, "GROUPING takes a key of GROUP BY")
	}
	at, ok := g.at[g.number(p, n.Args[0])]
	if !ok {
		return nil, p.Errorf(n.Args[0].Pos, "the argument of GROUPING is not a key of GROUP BY")
	}
	if g.sets == nil {
		return fixedExpr(value.Type{Kind: value.TypeInt64}, int64(0)), nil
	}
	set, sets := run.Slot(len(g.keys)-1), g.sets
	return &expr{typ: value.Type{Kind: value.TypeInt64}, eval: func(t *run.Tuple) (any, error) {
		v, err := set(t)
		if err != nil {
			return nil, err
		}
		return int64(^sets[v.(int64)] >> at & 1), nil
	}}, nil
}

// inferredKeys are the keys of GROUP BY ALL: the columns that depend on the row and have neither
// an aggregate nor a window function.
func (p *planner) inferredKeys(s *parse.Stage) (keys []*parse.Node, err error) {
	for _, c := range s.Columns {
		if c.Expr.Op == parse.OpFields {
			return nil, p.Errorf(c.Pos, "GROUP BY ALL does not take .*; name its columns")
		}
		if p.functions.hasAggregate(c.Expr) || c.Expr.Window() != nil {
			continue
		}
		e, err := p.compile(c.Expr)
		if err != nil {
			return nil, err
		}
		if e.fixed || c.Expr.Find(func(n *parse.Node) bool { return n.Op == parse.OpName }) == nil {
			continue
		}
		if n := p.functions.unsteady(c.Expr); n != nil {
			return nil, p.Errorf(n.Pos, "GROUP BY ALL cannot group by %s, whose value is not the same in every call", n.Text)
		}
		keys = append(keys, c.Expr)
	}
	return keys, nil
}

// spelledOut is a stage with GROUP BY ALL in which the names of columns stand in the place of *.
func (p *planner) spelledOut(s *parse.Stage) (*parse.Stage, error) {
	if !slices.ContainsFunc(s.Columns, func(c parse.Column) bool { return c.Expr == nil }) {
		return s, nil
	}
	of := *s
	of.Columns = nil
	for _, c := range s.Columns {
		if c.Expr != nil {
			of.Columns = append(of.Columns, c)
			continue
		}
		all, err := p.star(c) // which also checks EXCEPT and REPLACE
		if err != nil {
			return nil, err
		}
		sides := p.scope.inStar()
		if p.scope.table {
			sides = nil
		}
		for _, o := range all {
			n := &parse.Node{Op: parse.OpName, Pos: c.Pos, Text: o.name}
			if i := slices.IndexFunc(sides, func(s slotName) bool { return parse.Same(s.name, o.name) && !s.first }); i >= 0 && sides[i].of != "" {
				n = &parse.Node{Op: parse.OpField, Pos: c.Pos, Text: o.name, Args: []*parse.Node{{Op: parse.OpName, Pos: c.Pos, Text: sides[i].of}}}
				sides = slices.Delete(sides, i, i+1) // another side may have a column of this name
			}
			for _, r := range c.Replace {
				if strings.EqualFold(r.Name, o.name) {
					n = r.Expr
				}
			}
			if o.name == "" {
				return nil, p.Errorf(c.Pos, "GROUP BY ALL takes * of columns with names; AS gives one a name")
			}
			of.Columns = append(of.Columns, parse.Column{Name: o.name, Expr: n, Pos: c.Pos})
		}
	}
	return &of, nil
}
