package bind

import (
	"slices"
	"strings"

	"github.com/smolwc/smolwc/sql/function"
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/value"
)

var interval = value.Type{Kind: value.TypeInterval}

// compileInterval compiles INTERVAL: a number of a part, or a text of a part or of several.
func compileInterval(p *planner, n *parse.Node) (*expr, error) {
	e, err := p.compile(n.Args[0])
	if err != nil {
		return nil, err
	}
	from, to, several := strings.Cut(n.Text, " TO ")
	if several && !value.HasIntervalParts(from, to) {
		return nil, p.Errorf(n.Pos, "an INTERVAL cannot have the parts %s; they go from YEAR by MONTH, DAY, HOUR and MINUTE to SECOND", n.Text)
	}
	if _, err := value.IntervalOfPart(0, from); err != nil {
		return nil, p.placed(err, n.Pos)
	}
	if e.literal && e.typ.Kind == value.TypeString {
		v, err := e.eval(nil)
		if err != nil {
			return nil, err
		}
		of, err := value.ReadIntervalParts(v.(string), from, to)
		return fixedExpr(interval, of), p.placed(err, n.Args[0].Pos)
	}
	if several {
		return nil, p.Errorf(n.Args[0].Pos, "INTERVAL … %s needs a literal STRING", n.Text)
	}
	if e, err = p.coerced(n.Args[0], e, value.Type{Kind: value.TypeInt64}); err != nil {
		return nil, err
	}
	if e.typ.Kind != value.TypeInt64 {
		return nil, p.Errorf(n.Args[0].Pos, "INTERVAL takes an INT64 or a literal STRING, not %s", e.typ)
	}
	return mapped(e, interval, func(v any) (any, error) {
		i, err := value.IntervalOfPart(v.(int64), from)
		return i, p.placed(err, n.Pos)
	}), nil
}

// compileIntervalPart compiles EXTRACT of an INTERVAL.
func compileIntervalPart(p *planner, n *parse.Node, of *expr, part string) (*expr, error) {
	if _, ok := (value.Interval{}).Extract(part); !ok {
		return nil, p.Errorf(n.Args[0].Pos, "EXTRACT takes no %s of INTERVAL", part)
	}
	if len(n.Args) > 2 {
		return nil, p.Errorf(n.Args[2].Pos, "an INTERVAL has no time zone")
	}
	return mapped(of, value.Type{Kind: value.TypeInt64}, func(v any) (any, error) {
		number, _ := v.(value.Interval).Extract(part)
		return number, nil
	}), nil
}

// compileShifted compiles +, -, * and / of times and intervals. It is nil for other operands.
func compileShifted(p *planner, n *parse.Node, parts []*expr) (*expr, error) {
	nodes := n.Args
	isTime := func(e *expr) bool { return e.typ.Kind.Temporal() }
	isInterval := func(e *expr) bool { return e.typ.Kind == value.TypeInterval }
	if !slices.ContainsFunc(parts, isTime) && !slices.ContainsFunc(parts, isInterval) {
		return nil, nil
	}
	if n.Text == "+" && (isTime(parts[1]) && !isTime(parts[0]) || isInterval(parts[0]) && !isInterval(parts[1])) || n.Text == "*" && isInterval(parts[1]) {
		parts, nodes = []*expr{parts[1], parts[0]}, []*parse.Node{nodes[1], nodes[0]}
	}
	a, b := parts[0].typ.Kind, parts[1].typ.Kind
	// computed is a function of both values.
	computed := func(t value.Type, f func(x, y any) (any, error)) (*expr, error) {
		return combined(parts, t, func(v []any) (any, error) {
			r, err := f(v[0], v[1])
			return r, p.placed(err, n.Pos)
		}), nil
	}
	sums, sign := n.Text == "+" || n.Text == "-", int64(1)
	if n.Text == "-" {
		sign = -1
	}
	switch {
	case sums && a == value.TypeDate && b == value.TypeInterval: // as in GoogleSQL
		made, err := p.castTo(&parse.Node{Op: parse.OpCast, Pos: n.Pos}, parts[0], datetime)
		if err != nil {
			return nil, err
		}
		parts = []*expr{made, parts[1]}
		fallthrough
	case sums && (a == value.TypeTimestamp || a == value.TypeDatetime || a == value.TypeNull) && (b == value.TypeInterval || b == value.TypeNull):
		t := parts[0].typ
		if a == value.TypeNull {
			t.Kind = value.TypeTimestamp
		}
		return computed(t, func(x, y any) (any, error) { return function.AddInterval(x, y.(value.Interval), sign) })
	case n.Text == "-" && a == b && isTime(parts[0]):
		return computed(interval, function.Difference)
	case sums && a == value.TypeDate:
		number, err := p.coerced(nodes[1], parts[1], value.Type{Kind: value.TypeInt64})
		if err == nil && number.typ.Kind != value.TypeInt64 {
			err = p.Errorf(nodes[1].Pos, "what is added to a DATE is %s; it must be INT64 or INTERVAL", number.typ)
		}
		if err != nil {
			return nil, err
		}
		name := map[int64]string{1: "DATE_ADD", -1: "DATE_SUB"}[sign]
		return compileApplied(p, n, name, []*expr{parts[0], number, fixedExpr(value.Type{Kind: value.TypeString}, "DAY")}, false)
	case sums && a == value.TypeInterval && (b == value.TypeInterval || b == value.TypeNull):
		return computed(interval, func(x, y any) (any, error) {
			by := y.(value.Interval)
			if sign < 0 {
				by = by.Negated()
			}
			return x.(value.Interval).Plus(by)
		})
	case n.Text == "*" && a == value.TypeInterval && (b == value.TypeInt64 || b == value.TypeNull):
		return computed(interval, func(x, y any) (any, error) { return x.(value.Interval).Times(y.(int64)) })
	case n.Text == "/" && a == value.TypeInterval && (b == value.TypeInt64 || b == value.TypeNull):
		return computed(interval, func(x, y any) (any, error) {
			if y == int64(0) {
				return nil, parse.Invalid("division by zero: INTERVAL / 0")
			}
			return x.(value.Interval).Over(y.(int64))
		})
	}
	return nil, nil
}
