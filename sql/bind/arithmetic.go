package bind

import (
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/value"
)

// compileBinary compiles an operation of two operands. INT64 overflows with an error, and so
// does NUMERIC, and FLOAT64 when its operands are finite; / is of FLOAT64 or NUMERIC and refuses zero.
// https://cloud.google.com/bigquery/docs/reference/standard-sql/operators#arithmetic_operators
func compileBinary(p *planner, n *parse.Node) (*expr, error) {
	parts := make([]*expr, 2)
	for i, of := range n.Args {
		var err error
		if parts[i], err = p.compile(of); err != nil {
			return nil, err
		}
	}
	arithmetic := strings.Contains("+-*/", n.Text)
	if arithmetic {
		if e, err := compileShifted(p, n, parts); e != nil || err != nil {
			return e, err
		}
	}
	t, err := operands(p, n, parts)
	switch {
	case err != nil:
		return nil, err
	case n.Text == "||":
		return compileJoined(p, n, parts, t)
	case arithmetic:
		return compileArithmetic(p, n, parts, t)
	}
	for i, part := range parts {
		if part.typ.Kind != value.TypeInt64 && part.typ.Kind != value.TypeNull {
			return nil, p.Errorf(n.Args[i].Pos, "%s takes INT64, not %s", n.Text, part.typ)
		}
	}
	return combined(parts, value.Type{Kind: value.TypeInt64}, func(v []any) (any, error) {
		return computedBits(p, n, v[0].(int64), v[1].(int64))
	}), nil
}

// compileArithmetic compiles an operation of two numbers, which have a type together.
func compileArithmetic(p *planner, n *parse.Node, parts []*expr, t value.Type) (*expr, error) {
	if t.Kind == value.TypeNull {
		t.Kind = value.TypeInt64
	}
	switch {
	case !t.Numeric():
		return nil, p.Errorf(n.Pos, "%s cannot be computed of %s and %s", n.Text, parts[0].typ, parts[1].typ)
	case t.Kind == value.TypeNumeric:
		return combined(parts, t, func(v []any) (any, error) { return computedNumerics(p, n, v[0].(value.Numeric), v[1].(value.Numeric)) }), nil
	case t.Kind != value.TypeInt64 || n.Text == "/":
		return combined(parts, value.Type{Kind: value.TypeFloat64}, func(v []any) (any, error) {
			return computedFloats(p, n, value.ToFloat(v[0]), value.ToFloat(v[1]))
		}), nil
	}
	return combined(parts, t, func(v []any) (any, error) { return computedInts(p, n, v[0].(int64), v[1].(int64)) }), nil
}

// operands finds the type that both operands have together, and converts what is not of it.
func operands(p *planner, n *parse.Node, parts []*expr) (t value.Type, err error) {
	if err = p.decimals(n.Args, parts); err != nil {
		return t, err
	}
	t = parts[0].typ
	switch other := parts[1].typ; {
	case t.Kind == value.TypeNull:
		t = other
	case other.Kind == value.TypeNull || other.Kind == t.Kind:
	case t.Numeric() && other.Numeric():
		t = value.Type{Kind: value.TypeFloat64}
	case n.Text == "||":
		for i := range parts {
			if parts[i], err = p.coerced(n.Args[i], parts[i], value.Type{Kind: value.TypeBytes}); err != nil {
				return t, err
			}
		}
		t = value.Type{Kind: value.TypeBytes}
	default:
		t = value.Type{Kind: value.TypeStruct}
	}
	return t, nil
}

// compileJoined compiles || of strings, bytes or arrays.
func compileJoined(p *planner, n *parse.Node, parts []*expr, t value.Type) (*expr, error) {
	for _, part := range parts {
		if part.typ.Kind != t.Kind && part.typ.Kind != value.TypeNull || t.Kind == value.TypeArray && part.typ.Kind == value.TypeArray && part.typ.String() != t.String() {
			return nil, p.Errorf(n.Pos, "|| cannot join %s and %s", parts[0].typ, parts[1].typ)
		}
	}
	switch t.Kind {
	case value.TypeNull, value.TypeString:
		return p.counted(n, combined(parts, value.Type{Kind: value.TypeString}, func(v []any) (any, error) { return joinedText(p, n, v[0].(string), v[1].(string)) })), nil
	case value.TypeBytes:
		return p.counted(n, combined(parts, t, func(v []any) (any, error) {
			s, err := joinedText(p, n, value.TextOf(v[0]), value.TextOf(v[1]))
			return []byte(s), err
		})), nil
	case value.TypeArray:
		return p.counted(n, combined(parts, t, func(v []any) (any, error) {
			a, b := v[0].(value.Array), v[1].(value.Array)
			if len(a)+len(b) > maxElements {
				return nil, p.Errorf(n.Pos, "the array has more than %d elements", maxElements)
			}
			return slices.Concat(a, b), nil
		})), nil
	}
	return nil, p.Errorf(n.Pos, "|| joins STRING, BYTES or ARRAY, not %s", t)
}

// The bounds of a value that a query makes.
const (
	maxText     = 16 << 20
	maxElements = 1 << 20
)

func joinedText(p *planner, n *parse.Node, a, b string) (string, error) {
	if len(a)+len(b) > maxText {
		return "", p.Errorf(n.Pos, "the result of || is larger than 16 MiB")
	}
	return a + b, nil
}

func computedInts(p *planner, n *parse.Node, a, b int64) (any, error) {
	var r int64
	ok := true
	switch n.Text {
	case "+":
		r = a + b
		ok = (r > a) == (b > 0) || b == 0
	case "-":
		r = a - b
		ok = (r < a) == (b > 0) || b == 0
	default:
		hi, lo := bits.Mul64(uint64(a), uint64(b))
		hi -= uint64(a>>63)&uint64(b) + uint64(b>>63)&uint64(a) // of signed numbers
		r = int64(lo)
		ok = int64(hi) == r>>63
	}
	if !ok {
		return nil, p.Errorf(n.Pos, "int64 overflow: %d %s %d", a, n.Text, b)
	}
	return r, nil
}

func computedFloats(p *planner, n *parse.Node, a, b float64) (any, error) {
	var r float64
	switch n.Text {
	case "+":
		r = a + b
	case "-":
		r = a - b
	case "*":
		r = a * b
	default:
		if b == 0 {
			return nil, p.Errorf(n.Pos, "division by zero: %v / %v", a, b)
		}
		r = a / b
	}
	if math.IsInf(r, 0) && !math.IsInf(a, 0) && !math.IsInf(b, 0) {
		return nil, p.Errorf(n.Pos, "Floating point overflow: %v %s %v", a, n.Text, b)
	}
	return r, nil
}

func computedNumerics(p *planner, n *parse.Node, a, b value.Numeric) (any, error) {
	var r value.Numeric
	var ok bool
	switch n.Text {
	case "+":
		r, ok = a.Plus(b)
	case "-":
		r, ok = a.Plus(b.Negated())
	case "*":
		r, ok = a.Times(b)
	default:
		if b.Sign() == 0 {
			return nil, p.Errorf(n.Pos, "division by zero: %v / %v", a, b)
		}
		r, ok = a.Over(b)
	}
	if !ok {
		return nil, p.Errorf(n.Pos, "numeric overflow: %v %s %v", a, n.Text, b)
	}
	return r, nil
}

func computedBits(p *planner, n *parse.Node, a, b int64) (any, error) {
	switch n.Text {
	case "|":
		return a | b, nil
	case "&":
		return a & b, nil
	case "^":
		return a ^ b, nil
	}
	if b < 0 {
		return nil, p.Errorf(n.Pos, "%s by %d bits; the number of bits must not be negative", n.Text, b)
	}
	if n.Text == "<<" {
		return int64(uint64(a) << uint64(b)), nil
	}
	return int64(uint64(a) >> uint64(b)), nil // without the sign, as in GoogleSQL
}
