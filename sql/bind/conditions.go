package bind

import (
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/run"
	"github.com/smolwc/smolwc/sql/value"
)

func compileCompare(p *planner, n *parse.Node) (*expr, error) {
	a, err := p.compile(n.Args[0])
	if err != nil {
		return nil, err
	}
	b, err := p.compile(n.Args[1])
	if err != nil {
		return nil, err
	}
	if a, b, err = p.comparable(n, a, b); err != nil {
		return nil, err
	}
	e := &expr{typ: value.Type{Kind: value.TypeBool}, fixed: a.fixed && b.fixed, strict: a.strict || b.strict, eval: func(r *run.Tuple) (any, error) {
		x, y, err := both(a, b, r)
		if err != nil {
			return nil, err
		}
		return holds(n.Text, x, y), nil
	}}
	limitRows(p, e, n.Text, a, b)
	return e, nil
}

// compileBetween compiles x BETWEEN a AND b, which is x >= a AND x <= b with one value of x.
func compileBetween(p *planner, n *parse.Node) (*expr, error) {
	x, err := p.compile(n.Args[0])
	if err != nil {
		return nil, err
	}
	bounds, limited := make([]*expr, 2), make([]*expr, 2)
	for i, op := range []string{">=", "<="} {
		bound, err := p.compile(n.Args[1+i])
		if err != nil {
			return nil, err
		}
		of := &parse.Node{Op: parse.OpCompare, Text: op, Pos: n.Pos, Args: []*parse.Node{n.Args[0], n.Args[1+i]}}
		if x, bounds[i], err = p.comparable(of, x, bound); err != nil {
			return nil, err
		}
	}
	for i, op := range []string{">=", "<="} {
		limited[i] = &expr{typ: value.Type{Kind: value.TypeBool}, fixed: x.fixed && bounds[i].fixed, strict: x.strict || bounds[i].strict}
		limitRows(p, limited[i], op, x, bounds[i])
	}
	e := joint(p, parse.OpAnd, limited)
	e.eval = func(t *run.Tuple) (any, error) {
		v, err := x.eval(t)
		if err != nil {
			return nil, err
		}
		var result any = true
		for i, op := range []string{">=", "<="} {
			bound, err := bounds[i].eval(t)
			if err != nil {
				return nil, err
			}
			switch holds(op, v, bound) {
			case false:
				return false, nil
			case nil:
				result = nil
			}
		}
		return result, nil
	}
	return e, nil
}

// holds reports whether a comparison of two values is true; it is nil for NULL. NaN differs
// from all values.
func holds(op string, a, b any) any {
	if op == "=" || op == "!=" {
		equal := value.Equal(a, b)
		if op == "!=" && equal != nil {
			return equal == false
		}
		return equal
	}
	if a == nil || b == nil {
		return nil
	}
	order, ok := value.Compare(a, b)
	switch op {
	case "<":
		return ok && order < 0
	case "<=":
		return ok && order <= 0
	case ">":
		return ok && order > 0
	}
	return ok && order >= 0
}

// compileJunction compiles AND and OR. NULL is neither true nor false.
func compileJunction(p *planner, n *parse.Node) (*expr, error) {
	args := gathered(p, n)
	parts := make([]*expr, len(args))
	for i, arg := range args {
		var err error
		if parts[i], err = p.condition(arg); err != nil {
			return nil, err
		}
	}
	return joint(p, n.Op, parts), nil
}

// joint joins conditions by AND or OR.
func joint(p *planner, op parse.Operator, parts []*expr) *expr {
	e := &expr{typ: value.Type{Kind: value.TypeBool}, fixed: true}
	byKey, strict, rejects := 0, 0, 0
	for _, part := range parts {
		e.fixed = e.fixed && part.fixed
		if part.keys != nil {
			byKey++
		}
		if part.strict {
			strict++
		}
		if part.strict || part.rejects {
			rejects++
		}
	}
	decides := op == parse.OpOr // the value that decides the result alone
	e.strict = strict == len(parts)
	e.rejects = rejects == len(parts) || op == parse.OpAnd && rejects > 0
	e.eval = func(r *run.Tuple) (any, error) {
		var result any = !decides
		for _, part := range parts {
			v, err := part.eval(r)
			switch {
			case err != nil:
				return nil, err
			case v == decides:
				return decides, nil
			case v == nil:
				result = nil
			}
		}
		return result, nil
	}
	for _, part := range parts {
		if op == parse.OpAnd {
			e.fields = append(e.fields, part.fields...)
		}
	}
	if op == parse.OpOr && len(parts[0].fields) == 1 {
		e.fields = anyField(parts)
	}
	e.stored = storedBy(op, parts)
	switch {
	case op == parse.OpAnd && byKey > 0:
		e.keys = func(t *run.Tuple) keyRanges {
			all := []keyRanges{p.keysOn(t, e.fields)}
			for _, part := range parts {
				if part.keys != nil {
					all = append(all, part.keys(t))
				}
			}
			return intersectionOf(all)
		}
	case op == parse.OpOr && byKey == len(parts):
		e.keys = func(t *run.Tuple) keyRanges {
			var rs keyRanges
			for _, part := range parts {
				rs = append(rs, part.keys(t)...)
			}
			return unionOf(rs)
		}
	}
	return e
}

// compileIs compiles IS NULL, IS TRUE and IS FALSE, which are not NULL for any value.
func compileIs(p *planner, n *parse.Node) (*expr, error) {
	compile, want := p.condition, any(n.Text == "TRUE")
	if n.Text == "NULL" {
		compile, want = p.compile, nil
	}
	e, err := compile(n.Args[0])
	if err != nil {
		return nil, err
	}
	is := &expr{typ: value.Type{Kind: value.TypeBool}, fixed: e.fixed, eval: func(r *run.Tuple) (any, error) {
		v, err := e.eval(r)
		return v == want, err
	}}
	if n.Text == "NULL" {
		is.lacks = e.strict
	} else {
		is.rejects = e.strict || e.rejects && want == true
	}
	return is, nil
}

// compileSame compiles IS NOT DISTINCT FROM, which is an = for which NULL equals NULL and NaN equals
// NaN.
func compileSame(p *planner, n *parse.Node) (*expr, error) {
	all, err := p.compared(n, n.Args)
	if err != nil {
		return nil, err
	}
	a, b := all[0], all[1]
	return &expr{typ: value.Type{Kind: value.TypeBool}, fixed: a.fixed && b.fixed, eval: func(t *run.Tuple) (any, error) {
		x, y, err := both(a, b, t)
		return err == nil && value.Order(x, y) == 0, err
	}}, nil
}

// compileNot compiles NOT x.
func compileNot(p *planner, n *parse.Node) (*expr, error) {
	e, err := p.condition(n.Args[0])
	if err != nil {
		return nil, err
	}
	not := mapped(e, value.Type{Kind: value.TypeBool}, func(v any) (any, error) { return !v.(bool), nil })
	not.rejects = e.lacks
	return not, nil
}
