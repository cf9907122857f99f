package bind

import (
	"slices"

	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/run"
	"github.com/smolwc/smolwc/sql/value"
)

// compileSwitch compiles CASE x WHEN a THEN …: the value of the first expression that x equals.
func compileSwitch(p *planner, n *parse.Node) (*expr, error) {
	last := len(n.Args) - 1
	compared, results := []*parse.Node{n.Args[0]}, []*parse.Node{}
	for i := 1; i < last; i += 2 {
		compared, results = append(compared, n.Args[i]), append(results, n.Args[i+1])
	}
	all, err := p.compared(n, compared)
	if err != nil {
		return nil, err
	}
	parts, t, err := p.alike(append(results, n.Args[last]), "the values of CASE")
	if err != nil {
		return nil, err
	}
	x, whens := all[0], all[1:]
	e := &expr{typ: t, fixed: allFixed(parts) && allFixed(all)}
	find := func(t *run.Tuple, v any) (int, error) {
		for i, when := range whens {
			w, err := when.eval(t)
			if err != nil || value.Equal(v, w) == true {
				return i, err
			}
		}
		return -1, nil
	}
	if s := p.searched(x, whens); allFixed(whens) {
		find = func(t *run.Tuple, v any) (int, error) {
			first, _, err := s.Find(t, v)
			return first, err
		}
	}
	e.eval = func(t *run.Tuple) (any, error) {
		v, err := x.eval(t)
		if err != nil {
			return nil, err
		}
		at, err := find(t, v)
		if err != nil {
			return nil, err
		}
		if at < 0 {
			at = len(whens)
		}
		return parts[at].eval(t)
	}
	return e, nil
}

// fewest is the number of comparisons that are worth a search.
const fewest = 8

// gathered are the operands of OR in which x = a OR x = b OR … is x IN (a, b, …), and of AND
// in which x != a AND x != b AND … is NOT x IN (a, b, …), if there are many of them.
func gathered(p *planner, n *parse.Node) []*parse.Node {
	if len(n.Args) < fewest {
		return n.Args
	}
	op := "="
	if n.Op == parse.OpAnd {
		op = "!="
	}
	g := newNumbering()
	lists := map[int]*parse.Node{}
	var args []*parse.Node
	for _, arg := range n.Args {
		if arg.Op != parse.OpCompare || arg.Text != op || isConstant(arg.Args[0]) || !isConstant(arg.Args[1]) {
			args = append(args, arg)
			continue
		}
		id := g.number(p, arg.Args[0])
		in := lists[id]
		if in == nil {
			in = &parse.Node{Op: parse.OpIn, Pos: arg.Pos, Args: arg.Args[:1:1]}
			lists[id] = in
			if args = append(args, in); op != "=" {
				args[len(args)-1] = &parse.Node{Op: parse.OpNot, Pos: arg.Pos, Args: []*parse.Node{in}}
			}
		}
		in.Args = append(in.Args, arg.Args[1])
	}
	return args
}

// asSwitch is CASE WHEN x = a THEN … WHEN x = b THEN … as CASE x WHEN a THEN … WHEN b THEN …,
// if there are many of them; nil: it is another CASE.
func asSwitch(p *planner, n *parse.Node) *parse.Node {
	if len(n.Args) < 2*fewest {
		return nil
	}
	g := newNumbering()
	of := &parse.Node{Op: parse.OpSwitch, Pos: n.Pos, Args: []*parse.Node{n.Args[0]}}
	last := len(n.Args) - 1
	for i := 0; i < last; i += 2 {
		when := n.Args[i]
		if when.Op != parse.OpCompare || when.Text != "=" || isConstant(when.Args[0]) || !isConstant(when.Args[1]) {
			return nil
		}
		if i == 0 {
			of.Args[0] = when.Args[0]
		}
		if g.number(p, when.Args[0]) != g.number(p, of.Args[0]) {
			return nil
		}
		of.Args = append(of.Args, when.Args[1], n.Args[i+1])
	}
	of.Args = append(of.Args, n.Args[last])
	return of
}

// isConstant reports whether an expression is a literal or a parameter, as it is written.
func isConstant(n *parse.Node) bool {
	return n.Op <= parse.OpParam || n.Op == parse.OpCast && n.Args[0].Op == parse.OpLiteral
}

// compileCase compiles CASE, and IF(condition, a, b). Only the value that is chosen is
// evaluated.
func compileCase(p *planner, n *parse.Node) (*expr, error) {
	if of := asSwitch(p, n); of != nil {
		return compileSwitch(p, of)
	}
	var conditions []*expr
	var values []*parse.Node
	last := len(n.Args) - 1
	for i := 0; i < last; i += 2 {
		c, err := p.condition(n.Args[i])
		if err != nil {
			return nil, err
		}
		conditions = append(conditions, c)
		values = append(values, n.Args[i+1])
	}
	parts, t, err := p.alike(append(values, n.Args[last]), "the values of CASE")
	if err != nil {
		return nil, err
	}
	return &expr{typ: t, fixed: allFixed(parts) && allFixed(conditions), eval: func(r *run.Tuple) (any, error) {
		for i, c := range conditions {
			v, err := c.eval(r)
			if err != nil {
				return nil, err
			}
			if v == true {
				return parts[i].eval(r)
			}
		}
		return parts[len(conditions)].eval(r)
	}}, nil
}

// compileFirstOf compiles COALESCE and IFNULL: the first value that is not NULL.
func compileFirstOf(p *planner, n *parse.Node) (*expr, error) {
	if len(n.Args) == 0 || n.Text == "IFNULL" && len(n.Args) != 2 {
		return nil, p.Errorf(n.Pos, "%s takes other arguments: COALESCE(a, b, …), IFNULL(a, b)", n.Text)
	}
	parts, t, err := p.alike(n.Args, "the arguments of "+n.Text)
	if err != nil {
		return nil, err
	}
	e := &expr{typ: t, fixed: allFixed(parts), strict: !slices.ContainsFunc(parts, func(part *expr) bool { return !part.strict })}
	e.eval = func(r *run.Tuple) (any, error) {
		for _, part := range parts {
			if v, err := part.eval(r); v != nil || err != nil {
				return v, err
			}
		}
		return nil, nil
	}
	return e, nil
}

// compileNullIf compiles NULLIF(a, b): NULL when both are equal.
func compileNullIf(p *planner, n *parse.Node) (*expr, error) {
	if len(n.Args) != 2 {
		return nil, p.Errorf(n.Pos, "NULLIF takes two arguments")
	}
	all, err := p.compared(n, n.Args)
	if err != nil {
		return nil, err
	}
	a, b := all[0], all[1]
	return &expr{typ: a.typ, fixed: a.fixed && b.fixed, eval: func(t *run.Tuple) (any, error) {
		x, y, err := both(a, b, t)
		if err != nil || value.Equal(x, y) == true {
			return nil, err
		}
		return x, nil
	}}, nil
}

func compileIf(p *planner, n *parse.Node) (*expr, error) {
	if len(n.Args) != 3 {
		return nil, p.Errorf(n.Pos, "IF takes a condition and two values")
	}
	return compileCase(p, n)
}

// more reports whether a value comes before another one by a sign: 1 for a greater one. NaN
// comes before all.
func more(v, than any, sign int) bool {
	if value.IsNaN(v) || value.IsNaN(than) {
		return value.IsNaN(v)
	}
	return value.Order(v, than)*sign > 0
}

// compileExtremeOf compiles GREATEST and LEAST, which are NULL if an argument is.
func compileExtremeOf(p *planner, n *parse.Node) (*expr, error) {
	parts, t, err := p.alike(n.Args, "the arguments of "+n.Text)
	if err != nil {
		return nil, err
	}
	if len(parts) == 0 || !t.Comparable() && t.Kind != value.TypeNull {
		return nil, p.Errorf(n.Pos, "%s takes values that can be compared, not %s", n.Text, t)
	}
	sign := map[string]int{"LEAST": -1, "GREATEST": 1}[n.Text]
	return combined(parts, t, func(v []any) (any, error) {
		best := v[0]
		for _, other := range v[1:] {
			if more(other, best, sign) {
				best = other
			}
		}
		return best, nil
	}), nil
}
