package run

import (
	"math"
	"math/big"
	"strings"

	"github.com/smolwc/smolwc/sql/value"
)

// An Aggregate is a call of an aggregate function.
type Aggregate struct {
	Type     value.Type // of the result
	ArgType  value.Type // of Arg
	Arg      Eval       // nil: the call is COUNT(*)
	Cell     *Cell      // that Arg is; nil: it is not a single cell
	Nulls    bool       // NULLs are not ignored
	Distinct bool
	By       []Eval // of ORDER BY
	Make     Make
}

// A Cell is the newest cell of a column as a value of a kind.
type Cell struct {
	Family, Qualifier string
	Of                value.Kind
}

// A Make makes the accumulator of a group.
type Make func(x *execution) accumulator

// An accumulator computes an aggregate of one group.
type accumulator interface {
	add(v any) error
	result() (any, error)
}

func (a *Aggregate) start(x *execution) accumulator {
	acc := a.Make(x)
	if a.Distinct {
		room := math.MaxInt
		if x.root().files {
			room = x.root().limits.Distinct
		}
		return &distinctValues{keySet: keySet{x: x, room: room}, of: acc, ordered: len(a.By) > 0}
	}
	return acc
}

// argument is the value that the function takes of a tuple.
func (a *Aggregate) argument(t *Tuple) (any, error) {
	if a.Arg == nil {
		return true, nil
	}
	v, err := a.Arg(t)
	if len(a.By) == 0 || err != nil || v == nil && !a.Nulls {
		return v, err
	}
	by, err := All(a.By, t)
	return append(value.Struct{v}, by...), err
}

// take adds what the function takes of a tuple.
func (a *Aggregate) take(acc accumulator, t *Tuple) error {
	if a.Cell != nil && a.takeCell(acc, t) {
		return nil
	}
	v, err := a.argument(t)
	if err != nil {
		return err
	}
	return a.add(acc, v)
}

// takeCell is take for usual cells and functions, without an interface for the value, which
// takes memory. Otherwise it does nothing and returns false.
func (a *Aggregate) takeCell(acc accumulator, t *Tuple) bool {
	switch acc.(type) {
	case *counter, *intSum, *average:
	default:
		return false
	}
	c, ok := t.Row.Cell(a.Cell.Family, a.Cell.Qualifier)
	if !ok { // NULL, which they ignore
		return true
	}
	n, number := c.Value.Int()
	number = number && a.Cell.Of == value.TypeInt64
	switch acc := acc.(type) {
	case *counter:
		_, text := c.Value.AsString()
		if number || a.Cell.Of == value.TypeBytes || text && a.Cell.Of == value.TypeString {
			acc.n++
			return true
		}
	case *intSum:
		if number {
			acc.addInt(n)
		}
	case *average:
		if number {
			acc.n++
			acc.ints.addInt(n)
		}
	}
	return number
}

func (a *Aggregate) add(acc accumulator, v any) error {
	if v == nil && !a.Nulls {
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
	case *counter, *countIf, *intSum, *floatSum, *numericSum, *intervalSum, *average, *folded:
		return true
	}
	return false
}

// A merger is an accumulator that merges a part computed by another one of its kind. That
// part is of later tuples.
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
	s.addInt(other.sum)
	s.high, s.some = s.high+other.high, some
	return nil
}

type counter struct{ n int64 }

func (c *counter) add(any) error { c.n++; return nil }

func (c *counter) result() (any, error) { return c.n, nil }

// Count counts values.
func Count() Make { return func(*execution) accumulator { return &counter{} } }

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

// Fold keeps one value of a group, which join joins with the next.
func Fold(join func(old, v any) (any, error)) Make {
	return func(*execution) accumulator { return &folded{join: join} }
}

type countIf struct{ counter }

func (c *countIf) add(v any) error {
	if v == true {
		c.n++
	}
	return nil
}

// CountIf counts values that are TRUE.
func CountIf() Make { return func(*execution) accumulator { return &countIf{} } }

// intSum adds exactly: only the sum of all values must be an INT64.
type intSum struct {
	sum, high int64
	some      bool
	fail      func(what string) error
}

func (s *intSum) add(v any) error {
	s.addInt(v.(int64))
	return nil
}

func (s *intSum) addInt(n int64) {
	sum := s.sum + n
	if n >= 0 && sum < s.sum {
		s.high++
	} else if n < 0 && sum > s.sum {
		s.high--
	}
	s.sum, s.some = sum, true
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

// IntSum adds INT64s. overflow is the error of a sum beyond the type.
func IntSum(overflow func(what string) error) Make {
	return func(*execution) accumulator { return &intSum{fail: overflow} }
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

// FloatSum adds numbers as FLOAT64s. overflow is the error of a sum beyond the type.
func FloatSum(overflow func(what string) error) Make {
	return func(*execution) accumulator { return &floatSum{finite: true, fail: overflow} }
}

// numericSum adds NUMERICs exactly: only the result must be one.
type numericSum struct {
	sum  value.NumericSum
	n    int64
	mean bool
	fail func(what string) error
}

func (s *numericSum) add(v any) error {
	s.sum.Add(v.(value.Numeric))
	s.n++
	return nil
}

func (s *numericSum) merge(part accumulator) error {
	of := part.(*numericSum)
	s.sum.Merge(of.sum)
	s.n += of.n
	return nil
}

func (s *numericSum) result() (any, error) {
	if s.n == 0 {
		return nil, nil
	}
	r, ok := s.sum.Over(parts(s.n, s.mean))
	if !ok {
		return nil, s.fail("NUMERIC")
	}
	return r, nil
}

// parts is the number by which a sum is divided.
func parts(n int64, mean bool) int64 {
	if mean {
		return n
	}
	return 1
}

// NumericSum adds NUMERICs, or is their mean. overflow is the error of a result beyond the type.
func NumericSum(mean bool, overflow func(what string) error) Make {
	return func(*execution) accumulator { return &numericSum{mean: mean, fail: overflow} }
}

// intervalSum adds INTERVALs exactly: only the result must be one.
type intervalSum struct {
	sum  value.IntervalSum
	n    int64
	mean bool
	fail func(error) error
}

func (s *intervalSum) add(v any) error {
	s.sum.Add(v.(value.Interval))
	s.n++
	return nil
}

func (s *intervalSum) merge(part accumulator) error {
	of := part.(*intervalSum)
	s.sum.Merge(&of.sum)
	s.n += of.n
	return nil
}

func (s *intervalSum) result() (any, error) {
	if s.n == 0 {
		return nil, nil
	}
	r, err := s.sum.Over(parts(s.n, s.mean))
	if err != nil {
		return nil, s.fail(err)
	}
	return r, nil
}

// IntervalSum adds INTERVALs, or is their mean. failed places the error of a result out of range.
func IntervalSum(mean bool, failed func(error) error) Make {
	return func(*execution) accumulator { return &intervalSum{mean: mean, fail: failed} }
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

// Average is the mean of numbers.
func Average(overflow func(what string) error) Make {
	return func(*execution) accumulator { return &average{floats: floatSum{finite: true, fail: overflow}} }
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

// Elements makes an array of all values.
func Elements() Make { return func(x *execution) accumulator { return &arrayAggregate{x: x} } }

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

// Joined makes one array of arrays.
func Joined() Make {
	return func(x *execution) accumulator { return &arrayConcatAggregate{arrayAggregate{x: x}} }
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

// Text joins STRINGs, or BYTES, with a separator, which is the same for every row.
func Text(separator Eval, bytes bool) Make {
	return func(x *execution) accumulator {
		v, err := separator(x.tuple(nil))
		if v == nil || err != nil {
			v = ""
		}
		return &stringAggregate{x: x, bytes: bytes, separator: value.TextOf(v)}
	}
}
