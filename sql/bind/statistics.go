package bind

import (
	"strings"

	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/run"
	"github.com/smolwc/smolwc/sql/value"
)

// takesPairs makes the two arguments of an aggregate function one, a struct that is NULL where
// one of them is.
func takesPairs(p *planner, n *parse.Node, a *aggregate, kinds ...value.Kind) error {
	if len(n.Args) != 2 {
		return p.Errorf(n.Pos, "%s takes two arguments", n.Text)
	}
	for i, kind := range kinds {
		e, err := p.typed(n.Args[i], kind, "an argument of "+n.Text)
		if err != nil && a.args[i].typ.Numeric() {
			e, err = mapped(a.args[i], value.Type{Kind: kind}, func(v any) (any, error) { return value.ToFloat(v), nil }), nil
		}
		if err != nil {
			return err
		}
		a.args[i] = e
	}
	a.args = []*expr{combined(a.args, value.Type{Kind: value.TypeStruct}, func(v []any) (any, error) { return value.Struct(v), nil })}
	return nil
}

// completeStatistic compiles the functions of the spread of numbers, and of pairs of them.
func completeStatistic(p *planner, n *parse.Node, a *aggregate) error {
	of := n.Text
	if of == "STDDEV" || of == "VARIANCE" {
		of += "_SAMP"
	}
	a.typ = value.Type{Kind: value.TypeFloat64}
	a.make = run.Spread(of)
	if of == "CORR" || strings.HasPrefix(of, "COVAR") {
		if a.distinct {
			return p.Errorf(n.Pos, "%s does not take DISTINCT", n.Text)
		}
		return takesPairs(p, n, a, value.TypeFloat64, value.TypeFloat64)
	}
	return takesNumbers(p, n, a)
}

// completeTop compiles APPROX_TOP_COUNT(x, n) and APPROX_TOP_SUM(x, weight, n).
func completeTop(p *planner, n *parse.Node, a *aggregate) error {
	if a.distinct {
		return p.Errorf(n.Pos, "%s does not take DISTINCT", n.Text)
	}
	sums := n.Text == "APPROX_TOP_SUM"
	last := len(a.args) - 1
	if want := map[bool]int{false: 2, true: 3}[sums]; len(a.args) != want || a.args[last].typ.Kind != value.TypeInt64 || !a.args[last].fixed {
		return p.Errorf(n.Pos, "%s takes %d arguments, the last an INT64 that is the same for every row", n.Text, want)
	}
	of := a.args[0].typ
	if !of.Groupable() {
		return p.Errorf(n.Args[0].Pos, "%s cannot compare values of type %s", n.Text, of)
	}
	counted := value.Field{Name: "count", Type: value.Type{Kind: value.TypeInt64}}
	a.nulls = true
	number := numberOf(p, n, a.args[last])
	if sums {
		weight := a.args[1]
		if weight.typ.Kind == value.TypeNull {
			weight = &expr{typ: value.Type{Kind: value.TypeInt64}, eval: weight.eval}
		}
		if !weight.typ.Numeric() || weight.typ.Kind == value.TypeNumeric {
			return p.Errorf(n.Args[1].Pos, "a weight of %s is an INT64 or FLOAT64, not %s", n.Text, weight.typ)
		}
		counted = value.Field{Name: "sum", Type: weight.typ}
		if weight.typ.Kind == value.TypeFloat32 {
			counted.Type.Kind = value.TypeFloat64
			weight = mapped(weight, counted.Type, func(v any) (any, error) { return value.ToFloat(v), nil })
		}
		parts := []*expr{a.args[0], weight}
		a.args = []*expr{{typ: value.Type{Kind: value.TypeStruct}, eval: func(t *run.Tuple) (any, error) {
			values, err := evalAll(parts, t)
			return value.Struct(values), err
		}}}
	}
	a.typ = value.ArrayOf(value.Type{Kind: value.TypeStruct, Fields: []value.Field{{Name: "value", Type: of}, counted}})
	a.make = run.Top(sums, number)
	return nil
}

// numberOf is the last argument of an approximate function.
func numberOf(p *planner, n *parse.Node, number *expr) func(*run.Tuple) (int, error) {
	return func(t *run.Tuple) (int, error) {
		v, err := number.eval(t)
		if count, ok := v.(int64); ok && count > 0 && count <= maxQuantiles {
			return int(count), nil
		}
		if err == nil {
			err = p.Errorf(n.Args[len(n.Args)-1].Pos, "the last argument of %s must be from 1 to %d", n.Text, maxQuantiles)
		}
		return 0, err
	}
}

func completeArrayConcatAgg(p *planner, n *parse.Node, a *aggregate) error {
	if a.typ = a.args[0].typ; a.typ.Kind == value.TypeNull {
		a.typ = anyOfKind(value.TypeArray)
	}
	if a.typ.Kind != value.TypeArray {
		return p.Errorf(n.Args[0].Pos, "ARRAY_CONCAT_AGG takes arrays, not %s", a.typ)
	}
	a.make = run.Joined()
	return nil
}
