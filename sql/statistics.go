package sql

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/value"
)

// pairs makes the two arguments of an aggregate function one, a struct that is NULL where
// one of them is.
func (p *Plan) pairs(n *parse.Node, a *aggregate, kinds ...value.Kind) error {
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

// spread is the statistics of pairs of numbers: their number, their means, and the sums of
// the products of what they differ from their means. Each is changed by a pair at a time.
// https://en.wikipedia.org/wiki/Algorithms_for_calculating_variance
type spread struct {
	n                    float64
	x, y                 scaled
	squareX, squareY, xy float64 // in the units of x and y
	of                   string
}

// scaled is the mean of numbers in units of a power of two in which none is more than 1, so
// that no square of theirs overflows, or is lost.
type scaled struct {
	mean float64
	exp  int // a unit is 2^exp; math.MinInt until a number is not 0
}

// unit is a number in the units, which become larger for a large one: what was counted in
// them before has to be multiplied by shrinks for each unit.
func (s *scaled) unit(f float64) (in, shrinks float64) {
	shrinks = 1
	if _, exp := math.Frexp(f); f != 0 && !math.IsInf(f, 0) && !math.IsNaN(f) && exp > s.exp {
		if s.exp != math.MinInt {
			shrinks = math.Ldexp(1, s.exp-exp)
		}
		s.mean *= shrinks
		s.exp = exp
	}
	if s.exp == math.MinInt {
		return f, shrinks
	}
	return math.Ldexp(f, -s.exp), shrinks
}

func newSpread(of string) *spread {
	return &spread{of: of, x: scaled{exp: math.MinInt}, y: scaled{exp: math.MinInt}}
}

func (s *spread) add(v any) error {
	pair, ok := v.(value.Struct)
	if !ok {
		pair = value.Struct{v, v}
	}
	x, shrinkX := s.x.unit(value.ToFloat(pair[0]))
	y, shrinkY := s.y.unit(value.ToFloat(pair[1]))
	s.squareX *= shrinkX * shrinkX
	s.squareY *= shrinkY * shrinkY
	s.xy *= shrinkX * shrinkY
	s.n++
	dx, dy := x-s.x.mean, y-s.y.mean
	s.x.mean += dx / s.n
	s.y.mean += dy / s.n
	s.squareX += dx * (x - s.x.mean)
	s.squareY += dy * (y - s.y.mean)
	s.xy += dx * (y - s.y.mean)
	return nil
}

func (s *spread) result() (any, error) {
	least := 1.0
	if s.of == "CORR" || strings.HasSuffix(s.of, "_SAMP") {
		least = 2
	}
	if s.n < least {
		return nil, nil
	}
	if s.of == "CORR" {
		return s.xy / math.Sqrt(s.squareX*s.squareY), nil
	}
	of := s.xy / (s.n - least + 1)
	exp := 0
	if s.x.exp != math.MinInt && s.y.exp != math.MinInt {
		exp = s.x.exp + s.y.exp
	}
	if strings.HasPrefix(s.of, "STDDEV") {
		return math.Ldexp(math.Sqrt(of), exp/2), nil
	}
	return math.Ldexp(of, exp), nil
}

// statistic compiles the functions of the spread of numbers, and of pairs of them.
func (p *Plan) statistic(n *parse.Node, a *aggregate) error {
	of := n.Text
	if of == "STDDEV" || of == "VARIANCE" {
		of += "_SAMP"
	}
	a.typ = value.Type{Kind: value.TypeFloat64}
	a.make = func(*execution) accumulator { return newSpread(of) }
	if of == "CORR" || strings.HasPrefix(of, "COVAR") {
		if a.distinct {
			return p.Errorf(n.Pos, "%s does not take DISTINCT", n.Text)
		}
		return p.pairs(n, a, value.TypeFloat64, value.TypeFloat64)
	}
	return p.numbers(n, a)
}

// A ranking counts the values of APPROX_TOP_COUNT, or sums their weights for
// APPROX_TOP_SUM. Both are exact.
type ranking struct {
	x      *execution
	byKey  map[string]*ranked
	all    []*ranked
	weighs bool
	number func() (int, error)
}

type ranked struct {
	v any
	// n is the number or the sum of the weights, NULL if all are.
	n any
}

func (r *ranking) add(v any) error {
	var weight any = int64(1)
	if r.weighs {
		v, weight = v.(value.Struct)[0], v.(value.Struct)[1]
	}
	key := string(value.AppendKey(nil, v))
	found := r.byKey[key]
	if found == nil {
		found = &ranked{v: value.Clone(v)}
		r.byKey[key] = found
		r.all = append(r.all, found)
		if err := r.x.hold(2*len(key) + 150); err != nil {
			return err
		}
	}
	if weight != nil && !(value.ToFloat(weight) >= 0) {
		return &Error{Message: fmt.Sprintf("a weight of APPROX_TOP_SUM is %v; it must not be negative or NaN", weight)}
	}
	switch w := weight.(type) {
	case int64:
		sum, _ := found.n.(int64)
		if added := sum + w; added >= sum {
			found.n = added
			return nil
		}
		return &Error{Message: "INT64 overflow in APPROX_TOP_SUM"}
	case float64:
		sum, _ := found.n.(float64)
		found.n = sum + w
	}
	return nil
}

func (r *ranking) result() (any, error) {
	n, err := r.number()
	if err != nil || len(r.all) == 0 {
		return nil, err
	}
	slices.SortStableFunc(r.all, func(a, b *ranked) int {
		return compareNulls(a.n, b.n, parse.Order{Desc: true, NullsLast: true})
	})
	top := value.Array{}
	for _, of := range r.all[:min(n, len(r.all))] {
		top = append(top, value.Struct{of.v, of.n})
	}
	return top, nil
}

// top compiles APPROX_TOP_COUNT(x, n) and APPROX_TOP_SUM(x, weight, n).
func (p *Plan) top(n *parse.Node, a *aggregate) error {
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
	number := p.numberOf(n, a.args[last])
	if sums {
		weight := a.args[1]
		if weight.typ.Kind == value.TypeNull {
			weight = &expr{typ: value.Type{Kind: value.TypeInt64}, eval: weight.eval}
		}
		if !weight.typ.Numeric() {
			return p.Errorf(n.Args[1].Pos, "a weight of %s is a number, not %s", n.Text, weight.typ)
		}
		counted = value.Field{Name: "sum", Type: weight.typ}
		if weight.typ.Kind == value.TypeFloat32 {
			counted.Type.Kind = value.TypeFloat64
			weight = mapped(weight, counted.Type, func(v any) (any, error) { return value.ToFloat(v), nil })
		}
		parts := []*expr{a.args[0], weight}
		a.args = []*expr{{typ: value.Type{Kind: value.TypeStruct}, eval: func(t *tuple) (any, error) {
			values, err := evalAll(parts, t)
			return value.Struct(values), err
		}}}
	}
	a.typ = value.ArrayOf(value.Type{Kind: value.TypeStruct, Fields: []value.Field{{Name: "value", Type: of}, counted}})
	a.make = func(x *execution) accumulator {
		return &ranking{x: x, byKey: map[string]*ranked{}, weighs: sums, number: number}
	}
	return nil
}

// numberOf is the last argument of an approximate function.
func (p *Plan) numberOf(n *parse.Node, number *expr) func() (int, error) {
	return func() (int, error) {
		v, err := number.eval(nil)
		if count, ok := v.(int64); ok && count > 0 && count <= maxQuantiles {
			return int(count), nil
		}
		if err == nil {
			err = p.Errorf(n.Args[len(n.Args)-1].Pos, "the last argument of %s must be from 1 to %d", n.Text, maxQuantiles)
		}
		return 0, err
	}
}

// arrayConcatAggregate joins arrays. NULL is left out.
type arrayConcatAggregate struct{ arrayAggregate }

func (s *arrayConcatAggregate) add(v any) error {
	if s.all == nil {
		s.all = value.Array{}
	}
	for _, e := range v.(value.Array) {
		if err := s.arrayAggregate.add(e); err != nil {
			return err
		}
	}
	return nil
}

func (p *Plan) arrayConcatAgg(n *parse.Node, a *aggregate) error {
	if a.typ = a.args[0].typ; a.typ.Kind == value.TypeNull {
		a.typ = anyOfKind(value.TypeArray)
	}
	if a.typ.Kind != value.TypeArray {
		return p.Errorf(n.Args[0].Pos, "ARRAY_CONCAT_AGG takes arrays, not %s", a.typ)
	}
	a.make = func(x *execution) accumulator { return &arrayConcatAggregate{arrayAggregate{x: x}} }
	return nil
}

// An arranged accumulator passes values on in the order of ORDER BY, up to LIMIT. A value is
// a struct of itself and of what it is ordered by.
type arranged struct {
	x     *execution
	of    accumulator
	order []parse.Order
	limit func() (uint64, error)
	rows  []sortRow
}

func (s *arranged) add(v any) error {
	row := sortRow{values: []any{v}}
	if len(s.order) > 0 {
		all := value.CloneAll(v.(value.Struct))
		row = sortRow{values: all[:1], by: all[1:]}
	} else if limit, err := s.limit(); err != nil || uint64(len(s.rows)) >= limit {
		return err
	}
	s.rows = append(s.rows, row)
	return s.x.hold(48 + value.Size(value.Array(row.values)) + value.Size(value.Array(row.by)))
}

func (s *arranged) result() (any, error) {
	limit, err := s.limit()
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(s.rows, func(a, b sortRow) int {
		for i, o := range s.order {
			if c := compareNulls(a.by[i], b.by[i], o); c != 0 {
				return c
			}
		}
		return 0
	})
	for _, row := range s.rows[:min(limit, uint64(len(s.rows)))] {
		if err := s.of.add(row.values[0]); err != nil {
			return nil, err
		}
	}
	return s.of.result()
}

// arrange compiles IGNORE NULLS, ORDER BY and LIMIT of an aggregate function, whose
// arguments are the first of the call, and the expressions of ORDER BY the rest.
func (p *Plan) arrange(n *parse.Node, a *aggregate) error {
	of := functions().named(n.Text)
	if n.RespectNulls && !of.respectNulls {
		return p.Errorf(n.Pos, "%s does not take RESPECT NULLS; %s does", n.Text, functions().list(func(b *builtin) bool { return b.respectNulls }))
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
		return p.Errorf(n.Pos, "%s takes no ORDER BY and no LIMIT; %s do", n.Text, functions().list(func(b *builtin) bool { return b.ordered }))
	}
	orders := n.Args[len(n.Args)-len(n.Order):]
	for _, by := range orders {
		e, err := p.orderable(by)
		if err != nil {
			return err
		}
		if a.distinct && !p.alikeWritten(by, n.Args[0]) {
			return p.Errorf(by.Pos, "ORDER BY of %s(DISTINCT …) takes the argument itself", n.Text)
		}
		a.by = append(a.by, e)
	}
	limit, err := p.rowCount(n.Limit, "LIMIT")
	if err != nil {
		return err
	}
	made := a.make
	a.make = func(x *execution) accumulator {
		return &arranged{x: x, of: made(x), order: n.Order, limit: func() (uint64, error) { return rowCount(limit, math.MaxInt64, "LIMIT") }}
	}
	return nil
}

// alikeWritten reports whether two expressions are written alike.
func (p *Plan) alikeWritten(a, b *parse.Node) bool {
	g := &grouping{nodes: map[*parse.Node]int{}, seen: map[string]int{}}
	return g.number(p, a) == g.number(p, b)
}
