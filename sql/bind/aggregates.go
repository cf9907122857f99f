package bind

import (
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/run"
	"github.com/smolwc/smolwc/sql/value"
)

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
		if a.args[0].typ.Kind == value.TypeBytes {
			return p.Errorf(n.Args[0].Pos, "%s takes numbers, not %s; %s", n.Text, a.args[0].typ, bytesAsNumbers)
		}
		return p.Errorf(n.Args[0].Pos, "%s takes numbers, not %s", n.Text, a.args[0].typ)
	}
	return nil
}

func overflow(p *planner, n *parse.Node) func(string) error {
	return func(what string) error { return p.Errorf(n.Pos, "%s overflow in %s", what, n.Text) }
}

func completeSum(p *planner, n *parse.Node, a *aggregate) error {
	a.typ = value.Type{Kind: value.TypeFloat64}
	switch k := a.args[0].typ.Kind; k {
	case value.TypeNumeric, value.TypeInterval:
		return completeExact(p, n, a)
	case value.TypeInt64, value.TypeNull:
		a.typ.Kind = value.TypeInt64
		a.make = run.IntSum(overflow(p, n))
	default:
		a.make = run.FloatSum(overflow(p, n))
	}
	return takesNumbers(p, n, a)
}

func completeAverage(p *planner, n *parse.Node, a *aggregate) error {
	if k := a.args[0].typ.Kind; k == value.TypeNumeric || k == value.TypeInterval {
		return completeExact(p, n, a)
	}
	a.typ = value.Type{Kind: value.TypeFloat64}
	a.make = run.Average(overflow(p, n))
	return takesNumbers(p, n, a)
}

// completeExact compiles SUM and AVG of NUMERIC and INTERVAL, which are of that type.
func completeExact(p *planner, n *parse.Node, a *aggregate) error {
	a.typ = a.args[0].typ
	if a.typ.Kind == value.TypeInterval {
		a.make = run.IntervalSum(n.Text == "AVG", func(err error) error { return p.placed(err, n.Pos) })
	} else {
		a.make = run.NumericSum(n.Text == "AVG", overflow(p, n))
	}
	return nil
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
