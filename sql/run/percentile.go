package run

import (
	"math/big"
	"slices"

	"github.com/smolwc/smolwc/sql/value"
)

// A Percentile is PERCENTILE_CONT or PERCENTILE_DISC.
type Percentile struct {
	At      Eval // a FLOAT64 or NUMERIC from 0 to 1, the same for every row
	Between bool // PERCENTILE_CONT, which computes values between those of the rows
	Nulls   bool // NULLs come before the values, and are not left out
	Refused func(v any) error
}

// Make begins the function in a partition, whose values it sorts in memory.
func (of Percentile) Make(p *partition, c *WindowCall) (windowFunction, error) {
	at, err := of.at(p.x)
	if err != nil {
		return nil, err
	}
	rows, nulls := p.cursor(), 0
	own := p.x.child()
	defer func() { own.release(own.held) }()
	var all []any
	for i := range p.n {
		if i%rowsBetween == 0 && own.ctx.Err() != nil {
			return nil, own.ctx.Err()
		}
		v, err := rows.arg(i, c)
		if err != nil {
			return nil, err
		}
		if v == nil {
			nulls++
			continue
		}
		if err := own.hold(16 + value.Size(v)); err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	if !of.Nulls {
		nulls = 0
	}
	if err := sortValues(own, all); err != nil {
		return nil, err
	}
	v := value.Clone(of.of(all, nulls, at))
	return func(int) (any, error) { return v, nil }, nil
}

// at is the place that is asked for.
func (of Percentile) at(x *execution) (*big.Rat, error) {
	v, err := of.At(x.tuple(nil))
	if err != nil {
		return nil, err
	}
	switch f := v.(type) {
	case float64:
		if f >= 0 && f <= 1 {
			return new(big.Rat).SetFloat64(f), nil
		}
	case value.Numeric:
		if f.Sign() >= 0 && f.Compare(value.NumericOf(1)) <= 0 {
			return f.Rat(), nil
		}
	}
	return nil, of.Refused(v)
}

// sortValues sorts values as ORDER BY does, until the context ends.
func sortValues(x *execution, all []any) error {
	compared, stopped := 0, false
	slices.SortFunc(all, func(a, b any) int {
		if compared++; compared%rowsBetween == 0 && x.ctx.Err() != nil {
			stopped = true
		}
		if stopped { // what is equal is sorted at once
			return 0
		}
		return value.Order(a, b)
	})
	return x.ctx.Err()
}

// of is the result of sorted values and so many NULLs before them.
func (of Percentile) of(all []any, nulls int, at *big.Rat) any {
	if len(all) == 0 {
		return nil
	}
	last := int64(len(all) + nulls)
	if of.Between {
		last--
	}
	at = new(big.Rat).Mul(at, big.NewRat(last, 1))
	whole := new(big.Int).Quo(at.Num(), at.Denom())
	rest := at.Sub(at, new(big.Rat).SetInt(whole))
	i := int(whole.Int64()) - nulls
	switch exact := rest.Sign() == 0; {
	case !of.Between && exact && i+nulls > 0:
		i--
		fallthrough
	case !of.Between || exact:
		if i < 0 {
			return nil
		}
		return all[i]
	case i < -1:
		return nil
	case i < 0: // between NULL and a value is the value
		return all[0]
	}
	return between(all[i], all[i+1], rest)
}

// between is the number that divides the way from a to b.
func between(a, b any, rest *big.Rat) any {
	other := new(big.Rat).Sub(big.NewRat(1, 1), rest)
	if x, ok := a.(value.Numeric); ok {
		sum := new(big.Rat).Mul(x.Rat(), other)
		sum.Add(sum, new(big.Rat).Mul(b.(value.Numeric).Rat(), rest))
		n, _ := value.NumericOfRat(sum) // it is between two of them
		return n
	}
	left, _ := other.Float64()
	right, _ := rest.Float64()
	if left < right { // the larger part has less loss this way
		right = 1 - left
	} else {
		left = 1 - right
	}
	return a.(float64)*left + b.(float64)*right
}
