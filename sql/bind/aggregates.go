package bind

import (
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/run"
	"github.com/smolwc/smolwc/sql/value"
)

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
	}
	return of
}

// aggregate compiles a call of an aggregate function.
func (p *planner) aggregate(n *parse.Node) (*aggregate, error) {
	of, whole := functions().named(n.Text), n
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
			if hasAggregate(arg) {
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

func completeCount(p *planner, _ *parse.Node, a *aggregate) error {
	a.typ = value.Type{Kind: value.TypeInt64}
	a.make = run.Count()
	return nil
}

func completeCountIf(p *planner, n *parse.Node, a *aggregate) error {
	a.typ = value.Type{Kind: value.TypeInt64}
	a.make = run.CountIf()
	return typeArgument(p, n, a, value.TypeBool)
}

func takesNumbers(p *planner, n *parse.Node, a *aggregate) error {
	if !a.args[0].typ.Numeric() && a.args[0].typ.Kind != value.TypeNull {
		return p.Errorf(n.Args[0].Pos, "%s takes numbers, not %s", n.Text, a.args[0].typ)
	}
	return nil
}

func overflow(p *planner, n *parse.Node) func(string) error {
	return func(what string) error { return p.Errorf(n.Pos, "%s overflow in %s", what, n.Text) }
}

func completeSum(p *planner, n *parse.Node, a *aggregate) error {
	a.typ = value.Type{Kind: value.TypeFloat64}
	if k := a.args[0].typ.Kind; k == value.TypeInt64 || k == value.TypeNull {
		a.typ.Kind = value.TypeInt64
		a.make = run.IntSum(overflow(p, n))
	} else {
		a.make = run.FloatSum(overflow(p, n))
	}
	return takesNumbers(p, n, a)
}

func completeAverage(p *planner, n *parse.Node, a *aggregate) error {
	a.typ = value.Type{Kind: value.TypeFloat64}
	a.make = run.Average(overflow(p, n))
	return takesNumbers(p, n, a)
}

func completeMin(p *planner, n *parse.Node, a *aggregate) error { return completeExtreme(p, n, a, -1) }

func completeMax(p *planner, n *parse.Node, a *aggregate) error { return completeExtreme(p, n, a, 1) }

// completeExtreme compiles MIN and MAX, which are NaN when a value is.
func completeExtreme(p *planner, n *parse.Node, a *aggregate, sign int) error {
	a.typ = a.args[0].typ
	if !a.typ.Comparable() {
		return p.Errorf(n.Args[0].Pos, "%s cannot compare values of type %s", n.Text, a.typ)
	}
	a.make = run.Fold(func(old, v any) (any, error) {
		if more(v, old, sign) {
			return value.Clone(v), nil
		}
		return old, nil
	})
	return nil
}

func completeAnyValue(p *planner, _ *parse.Node, a *aggregate) error {
	a.typ = a.args[0].typ
	a.make = run.Fold(func(old, _ any) (any, error) { return old, nil })
	return nil
}

func completeLogical(p *planner, n *parse.Node, a *aggregate) error {
	or := n.Text == "LOGICAL_OR"
	a.typ = value.Type{Kind: value.TypeBool}
	a.make = run.Fold(func(old, v any) (any, error) {
		if v == or {
			return or, nil
		}
		return old, nil
	})
	return typeArgument(p, n, a, value.TypeBool)
}

func completeBits(p *planner, n *parse.Node, a *aggregate) error {
	join := map[string]func(x, y int64) int64{
		"BIT_AND": func(x, y int64) int64 { return x & y },
		"BIT_OR":  func(x, y int64) int64 { return x | y },
		"BIT_XOR": func(x, y int64) int64 { return x ^ y },
	}[n.Text]
	a.typ = value.Type{Kind: value.TypeInt64}
	a.make = run.Fold(func(old, v any) (any, error) { return join(old.(int64), v.(int64)), nil })
	return typeArgument(p, n, a, value.TypeInt64)
}

func completeArrayAgg(p *planner, n *parse.Node, a *aggregate) error {
	a.nulls = true
	a.typ = value.ArrayOf(a.args[0].typ)
	a.make = run.Elements()
	if k := a.args[0].typ.Kind; k == value.TypeArray || k == value.TypeMap {
		return p.Errorf(n.Args[0].Pos, "an array cannot have elements of type %s", a.args[0].typ)
	}
	return nil
}

func completeStringAgg(p *planner, n *parse.Node, a *aggregate) error {
	a.typ = a.args[0].typ
	if a.typ.Kind == value.TypeNull {
		a.typ.Kind = value.TypeString
	}
	if k := a.typ.Kind; k != value.TypeString && k != value.TypeBytes {
		return p.Errorf(n.Args[0].Pos, "STRING_AGG takes STRING or BYTES, not %s", a.typ)
	}
	separator := fixedExpr(value.Type{Kind: value.TypeString}, ",")
	if len(n.Args) == 2 {
		var err error
		if separator, err = p.typed(n.Args[1], a.typ.Kind, "the separator of STRING_AGG"); err != nil {
			return err
		}
		if !separator.fixed {
			return p.Errorf(n.Args[1].Pos, "the separator of STRING_AGG must be the same for every row")
		}
	}
	a.make = run.Text(separator.eval, a.typ.Kind == value.TypeBytes)
	return nil
}
