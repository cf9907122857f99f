package sql

import (
	"math"
	"math/big"
	"strings"

	"github.com/smolwc/smolwc/sql/parse"
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
	make     func(x *execution) accumulator
}

// An accumulator computes an aggregate of one group.
type accumulator interface {
	add(v any) error
	result() (any, error)
}

func (a *aggregate) start(x *execution) accumulator {
	acc := a.make(x)
	if a.distinct {
		room := math.MaxInt
		if x.root().files {
			room = distinctMemory
		}
		return &distinctValues{keySet: keySet{x: x, room: room}, of: acc, ordered: len(a.by) > 0}
	}
	return acc
}

// argument is the value that the function takes of a tuple.
func (a *aggregate) argument(t *tuple) (any, error) {
	if a.star {
		return true, nil
	}
	v, err := a.args[0].eval(t)
	if len(a.by) == 0 || err != nil || v == nil && !a.nulls {
		return v, err
	}
	by, err := evalAll(a.by, t)
	return append(value.Struct{v}, by...), err
}

func (a *aggregate) add(acc accumulator, v any) error {
	if v == nil && !a.nulls {
		return nil
	}
	return acc.add(v)
}

// distinctValues passes each value on once.
type distinctValues struct {
	keySet
	of      accumulator
	ordered bool // a value is a struct of itself and of what it is ordered by
	row     [1]any
}

func (d *distinctValues) add(v any) error {
	d.row[0] = v
	key := d.row[:]
	if d.ordered {
		key = v.(value.Struct)[:1]
	}
	if added, err := d.keySet.add(d.row[:], key); !added || err != nil {
		return err
	}
	return d.of.add(v)
}

func (d *distinctValues) result() (any, error) {
	if err := d.rest(func(values []any) error { return d.of.add(values[0]) }); err != nil {
		return nil, err
	}
	return d.of.result()
}

// fixed reports whether an accumulator takes no more memory with more values.
func fixed(acc accumulator) bool {
	switch acc.(type) {
	case *counter, *countIf, *intSum, *floatSum, *average, *folded:
		return true
	}
	return false
}

// A merger is an accumulator that takes the part that another one of its kind has
// computed. That part is of later tuples.
type merger interface{ merge(part accumulator) error }

func (c *counter) merge(part accumulator) error { c.n += part.(*counter).n; return nil }

func (c *countIf) merge(part accumulator) error { c.n += part.(*countIf).n; return nil }

func (f *folded) merge(part accumulator) error {
	if v := part.(*folded).v; v != nil {
		return f.add(v)
	}
	return nil
}

func (s *intSum) merge(part accumulator) error {
	other := part.(*intSum)
	some := s.some || other.some
	err := s.add(other.sum)
	s.high, s.some = s.high+other.high, some
	return err
}

// aggregate compiles a call of an aggregate function.
func (p *Plan) aggregate(n *parse.Node) (*aggregate, error) {
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
	return a, p.arrange(whole, a)
}

func (p *Plan) argument(n *parse.Node, a *aggregate, want value.Kind) (err error) {
	a.args[0], err = p.typed(n.Args[0], want, "the argument of "+n.Text)
	return err
}

type counter struct{ n int64 }

func (c *counter) add(any) error        { c.n++; return nil }
func (c *counter) result() (any, error) { return c.n, nil }

func (p *Plan) countOf(_ *parse.Node, a *aggregate) error {
	a.typ = value.Type{Kind: value.TypeInt64}
	a.make = func(*execution) accumulator { return &counter{} }
	return nil
}

// folded keeps one value; the function joins it with the next.
type folded struct {
	v    any
	join func(old, v any) (any, error)
}

func (f *folded) add(v any) (err error) {
	if f.v == nil {
		f.v = value.Clone(v)
		return nil
	}
	f.v, err = f.join(f.v, v)
	return err
}

func (f *folded) result() (any, error) { return f.v, nil }

func foldedBy(join func(old, v any) (any, error)) func(*execution) accumulator {
	return func(*execution) accumulator { return &folded{join: join} }
}

type countIf struct{ counter }

func (c *countIf) add(v any) error {
	if v == true {
		c.n++
	}
	return nil
}

func (p *Plan) countIf(n *parse.Node, a *aggregate) error {
	a.typ = value.Type{Kind: value.TypeInt64}
	a.make = func(*execution) accumulator { return &countIf{} }
	return p.argument(n, a, value.TypeBool)
}

// intSum adds exactly: only the sum of all values must be an INT64.
type intSum struct {
	sum, high int64
	some      bool
	fail      func(what string) error
}

func (s *intSum) add(v any) error {
	n := v.(int64)
	sum := s.sum + n
	if n >= 0 && sum < s.sum {
		s.high++
	} else if n < 0 && sum > s.sum {
		s.high--
	}
	s.sum, s.some = sum, true
	return nil
}

func (s *intSum) result() (any, error) {
	if !s.some {
		return nil, nil
	}
	if s.high != 0 {
		return nil, s.fail("INT64")
	}
	return s.sum, nil
}

func (s *intSum) float() float64 {
	exact := new(big.Int).Lsh(big.NewInt(s.high), 64)
	f, _ := new(big.Float).SetInt(exact.Add(exact, big.NewInt(s.sum))).Float64()
	return f
}

type floatSum struct {
	sum    float64
	small  float64 // the sum of the values times smallest, which does not overflow
	n      int64
	finite bool // all values are
	fail   func(what string) error
}

func (s *floatSum) add(v any) error {
	f := value.ToFloat(v)
	s.finite = s.finite && !math.IsInf(f, 0) && !math.IsNaN(f)
	s.sum += f
	s.small += f * smallest
	s.n++
	return nil
}

// smallest is less than one divided by the number of values.
const smallest = 1.0 / (1 << 63)

func (s *floatSum) result() (any, error) {
	if s.n == 0 {
		return nil, nil
	}
	if s.finite && math.IsInf(s.sum, 0) {
		return nil, s.fail("FLOAT64")
	}
	return s.sum, nil
}

func (p *Plan) numbers(n *parse.Node, a *aggregate) error {
	if !a.args[0].typ.Numeric() && a.args[0].typ.Kind != value.TypeNull {
		return p.Errorf(n.Args[0].Pos, "%s takes numbers, not %s", n.Text, a.args[0].typ)
	}
	return nil
}

func (p *Plan) overflow(n *parse.Node) func(string) error {
	return func(what string) error { return p.Errorf(n.Pos, "%s overflow in %s", what, n.Text) }
}

func (p *Plan) sum(n *parse.Node, a *aggregate) error {
	a.typ = value.Type{Kind: value.TypeFloat64}
	if k := a.args[0].typ.Kind; k == value.TypeInt64 || k == value.TypeNull {
		a.typ.Kind = value.TypeInt64
		a.make = func(*execution) accumulator { return &intSum{fail: p.overflow(n)} }
	} else {
		a.make = func(*execution) accumulator { return &floatSum{finite: true, fail: p.overflow(n)} }
	}
	return p.numbers(n, a)
}

type average struct {
	ints   intSum
	floats floatSum
	n      int64
}

func (s *average) add(v any) error {
	s.n++
	if _, ok := v.(int64); ok {
		return s.ints.add(v)
	}
	return s.floats.add(v)
}

func (s *average) result() (any, error) {
	switch {
	case s.n == 0:
		return nil, nil
	case s.ints.some:
		return s.ints.float() / float64(s.n), nil
	}
	if s.floats.finite && math.IsInf(s.floats.sum, 0) { // the mean is not
		return s.floats.small / float64(s.n) / smallest, nil
	}
	return s.floats.sum / float64(s.n), nil
}

func (p *Plan) average(n *parse.Node, a *aggregate) error {
	a.typ = value.Type{Kind: value.TypeFloat64}
	a.make = func(*execution) accumulator {
		return &average{floats: floatSum{finite: true, fail: p.overflow(n)}}
	}
	return p.numbers(n, a)
}

func (p *Plan) least(n *parse.Node, a *aggregate) error { return p.extreme(n, a, -1) }

func (p *Plan) greatest(n *parse.Node, a *aggregate) error { return p.extreme(n, a, 1) }

// extreme compiles MIN and MAX, which are NaN when a value is.
func (p *Plan) extreme(n *parse.Node, a *aggregate, sign int) error {
	a.typ = a.args[0].typ
	if !a.typ.Comparable() {
		return p.Errorf(n.Args[0].Pos, "%s cannot compare values of type %s", n.Text, a.typ)
	}
	a.make = foldedBy(func(old, v any) (any, error) {
		if more(v, old, sign) {
			return value.Clone(v), nil
		}
		return old, nil
	})
	return nil
}

func (p *Plan) anyValue(_ *parse.Node, a *aggregate) error {
	a.typ = a.args[0].typ
	a.make = foldedBy(func(old, _ any) (any, error) { return old, nil })
	return nil
}

func (p *Plan) logical(n *parse.Node, a *aggregate) error {
	or := n.Text == "LOGICAL_OR"
	a.typ = value.Type{Kind: value.TypeBool}
	a.make = foldedBy(func(old, v any) (any, error) {
		if v == or {
			return or, nil
		}
		return old, nil
	})
	return p.argument(n, a, value.TypeBool)
}

func (p *Plan) bits(n *parse.Node, a *aggregate) error {
	join := map[string]func(x, y int64) int64{
		"BIT_AND": func(x, y int64) int64 { return x & y },
		"BIT_OR":  func(x, y int64) int64 { return x | y },
		"BIT_XOR": func(x, y int64) int64 { return x ^ y },
	}[n.Text]
	a.typ = value.Type{Kind: value.TypeInt64}
	a.make = foldedBy(func(old, v any) (any, error) { return join(old.(int64), v.(int64)), nil })
	return p.argument(n, a, value.TypeInt64)
}

// arrayAggregate keeps every value.
type arrayAggregate struct {
	x   *execution
	all value.Array
}

func (s *arrayAggregate) add(v any) error {
	v = value.Clone(v)
	s.all = append(s.all, v)
	return s.x.hold(value.Size(v))
}

func (s *arrayAggregate) result() (any, error) {
	if s.all == nil {
		return nil, nil
	}
	return s.all, nil
}

func (p *Plan) arrayAgg(n *parse.Node, a *aggregate) error {
	a.nulls = true
	a.typ = value.ArrayOf(a.args[0].typ)
	a.make = func(x *execution) accumulator { return &arrayAggregate{x: x} }
	if k := a.args[0].typ.Kind; k == value.TypeArray || k == value.TypeMap {
		return p.Errorf(n.Args[0].Pos, "an array cannot have elements of type %s", a.args[0].typ)
	}
	return nil
}

type stringAggregate struct {
	x         *execution
	text      strings.Builder
	some      bool
	bytes     bool
	separator string
}

func (s *stringAggregate) add(v any) error {
	if err := s.x.hold(len(value.TextOf(v)) + len(s.separator)); err != nil {
		return err
	}
	if s.some {
		s.text.WriteString(s.separator)
	}
	s.some = true
	s.text.WriteString(value.TextOf(v))
	return nil
}

func (s *stringAggregate) result() (any, error) {
	switch {
	case !s.some:
		return nil, nil
	case s.bytes:
		return []byte(s.text.String()), nil
	}
	return s.text.String(), nil
}

func (p *Plan) stringAgg(n *parse.Node, a *aggregate) error {
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
	a.make = func(x *execution) accumulator {
		v, err := separator.eval(nil)
		if v == nil || err != nil {
			v = ""
		}
		return &stringAggregate{x: x, bytes: a.typ.Kind == value.TypeBytes, separator: value.TextOf(v)}
	}
	return nil
}
