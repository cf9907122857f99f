package run

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/smolwc/smolwc/internal/sketch"
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/value"
)

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
// them before must be multiplied by shrinks for each unit.
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

// Spread is a statistic of numbers, or of structs of two numbers: CORR, or a name that begins
// with COVAR, STDDEV or VAR and ends with _POP or _SAMP.
func Spread(of string) Make { return func(*execution) accumulator { return newSpread(of) } }

// A ranking counts the values of APPROX_TOP_COUNT, or sums their weights for
// APPROX_TOP_SUM. Both are exact.
type ranking struct {
	x      *execution
	byKey  map[string]*ranked
	all    []*ranked
	weighs bool
	number func(*Tuple) (int, error)
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
		return &parse.Error{Message: fmt.Sprintf("a weight of APPROX_TOP_SUM is %v; it must not be negative or NaN", weight)}
	}
	switch w := weight.(type) {
	case int64:
		sum, _ := found.n.(int64)
		if added := sum + w; added >= sum {
			found.n = added
			return nil
		}
		return &parse.Error{Message: "INT64 overflow in APPROX_TOP_SUM"}
	case float64:
		sum, _ := found.n.(float64)
		found.n = sum + w
	}
	return nil
}

func (r *ranking) result() (any, error) {
	n, err := r.number(r.x.tuple(nil))
	if err != nil || len(r.all) == 0 {
		return nil, err
	}
	slices.SortStableFunc(r.all, func(a, b *ranked) int { return value.Order(b.n, a.n) })
	top := value.Array{}
	for _, of := range r.all[:min(n, len(r.all))] {
		top = append(top, value.Struct{of.v, of.n})
	}
	return top, nil
}

// Top are the most frequent values, as many as number says, or those with the largest
// weights if values are structs of a value and its weight.
func Top(weighs bool, number func(*Tuple) (int, error)) Make {
	return func(x *execution) accumulator {
		return &ranking{x: x, byKey: map[string]*ranked{}, weighs: weighs, number: number}
	}
}

type quantileAggregate struct {
	arrayAggregate
	number func(*Tuple) (int, error)
}

func (q *quantileAggregate) result() (any, error) {
	n, err := q.number(q.x.tuple(nil))
	if err != nil || q.all == nil {
		return nil, err
	}
	if err := q.x.hold(24 * (n + 1)); err != nil {
		return nil, err
	}
	slices.SortFunc(q.all, value.Order)
	found := make(value.Array, n+1)
	for i := range found {
		found[i] = q.all[(i*(len(q.all)-1)+n/2)/n]
	}
	return found, nil
}

// Quantiles are values that part the values into as many parts as number says.
func Quantiles(number func(*Tuple) (int, error)) Make {
	return func(x *execution) accumulator { return &quantileAggregate{arrayAggregate{x: x}, number} }
}

// An arranged accumulator passes values on in the order of ORDER BY, up to LIMIT. A value is
// a struct of itself and of what it is ordered by.
type arranged struct {
	x     *execution
	of    accumulator
	order []parse.Order
	limit func() (uint64, error)
	rows  []arrangedRow
}

type arrangedRow struct {
	key []byte
	of  any
}

func (s *arranged) add(v any) error {
	var row arrangedRow
	if len(s.order) > 0 {
		all := v.(value.Struct)
		v = all[0]
		for i, o := range s.order {
			row.key = value.AppendSortKey(row.key, all[1+i], o.Desc, o.NullsLast)
		}
	} else if limit, err := s.limit(); err != nil || uint64(len(s.rows)) >= limit {
		return err
	}
	row.of = value.Clone(v)
	s.rows = append(s.rows, row)
	return s.x.hold(48 + value.Size(row.of) + cap(row.key))
}

func (s *arranged) result() (any, error) {
	limit, err := s.limit()
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(s.rows, func(a, b arrangedRow) int { return bytes.Compare(a.key, b.key) })
	for _, row := range s.rows[:min(limit, uint64(len(s.rows)))] {
		if err := s.of.add(row.of); err != nil {
			return nil, err
		}
	}
	return s.of.result()
}

// Arranged passes values on in an order, up to a limit; nil: all. A value is a struct of itself
// and of what it is ordered by, if there is an order.
func Arranged(of Make, order []parse.Order, limit Eval) Make {
	return func(x *execution) accumulator {
		most, err := rowCount(limit, math.MaxInt64, "LIMIT", x.tuple(nil))
		return &arranged{x: x, of: of(x), order: order, limit: func() (uint64, error) { return most, err }}
	}
}

// A hllAggregate is a sketch that grows.
type hllAggregate struct {
	x      *execution
	set    sketch.Set
	held   int
	add1   func(s *sketch.Set, v any) error
	counts bool // the result is the estimate
}

func (h *hllAggregate) add(v any) error {
	if err := h.add1(&h.set, v); err != nil {
		return err
	}
	return h.grown()
}

// grown counts the memory that the set took.
func (h *hllAggregate) grown() error {
	more := h.set.Size() - h.held
	h.held += more
	return h.x.hold(more)
}

func (h *hllAggregate) merge(part accumulator) error {
	if other := &part.(*hllAggregate).set; !other.Empty() {
		h.set.Merge(other.Stored())
	}
	return h.grown()
}

func (h *hllAggregate) result() (any, error) {
	switch {
	case h.counts && h.set.Empty():
		return int64(0), nil
	case h.set.Empty():
		return nil, nil
	case h.counts:
		n, _ := sketch.Estimate(h.set.Stored())
		return n, nil
	}
	return h.set.Stored()[1:], nil
}

// Sketch makes a sketch of distinct values, or counts them by it. add adds a value to it.
func Sketch(counts bool, add func(s *sketch.Set, v any) error) Make {
	return func(x *execution) accumulator { return &hllAggregate{x: x, counts: counts, add1: add} }
}
