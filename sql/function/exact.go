package function

import (
	"math/big"
	"sync"

	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/value"
)

// exacts are mathematical functions of NUMERIC, whose results are rounded half away from zero.
// https://cloud.google.com/bigquery/docs/reference/standard-sql/mathematical_functions
var exacts = []declaration{
	{"SQRT(NUMERIC) NUMERIC", func(v []any) (any, error) {
		n := v[0].(value.Numeric)
		if n.Sign() < 0 {
			return nil, parse.Invalid("SQRT(%s) is not defined", n)
		}
		return roundedTo("SQRT", bigOf(n).Sqrt(bigOf(n)))
	}},
	{"CBRT(NUMERIC) NUMERIC", func(v []any) (any, error) {
		n := v[0].(value.Numeric)
		size := bigOf(n)
		if n.Sign() == 0 {
			return n, nil
		}
		root := exponential(size.Quo(logarithm(size.Abs(size)), big.NewFloat(3)))
		if n.Sign() < 0 {
			root.Neg(root)
		}
		return roundedTo("CBRT", root)
	}},
	{"LN(NUMERIC) NUMERIC", func(v []any) (any, error) { return logOf("LN", v[0].(value.Numeric), nil) }},
	{"LOG10(NUMERIC) NUMERIC", func(v []any) (any, error) { return logOf("LOG10", v[0].(value.Numeric), value.NumericOf(10)) }},
	{"LOG(NUMERIC[NUMERIC]) NUMERIC", func(v []any) (any, error) {
		if len(v) == 1 {
			return logOf("LOG", v[0].(value.Numeric), nil)
		}
		return logOf("LOG", v[0].(value.Numeric), v[1])
	}},
	{"EXP(NUMERIC) NUMERIC", func(v []any) (any, error) { return roundedTo("EXP", exponential(bigOf(v[0].(value.Numeric)))) }},
	{"POW(NUMERIC, NUMERIC) NUMERIC", exactPower},
	{"POWER(NUMERIC, NUMERIC) NUMERIC", exactPower},
}

// precision is the bits of numbers on the way to a NUMERIC, which has 127.
const precision = 384

func bigOf(n value.Numeric) *big.Float { return new(big.Float).SetPrec(precision).SetRat(n.Rat()) }

// roundedTo is a number as a NUMERIC. Its error is far below a billionth.
func roundedTo(name string, f *big.Float) (any, error) {
	if f != nil && (f.Sign() == 0 || f.MantExp(nil) < 200) {
		of, _ := f.Rat(nil)
		if n, ok := value.NumericOfRat(of); ok {
			return n, nil
		}
	}
	return nil, parse.Invalid("NUMERIC overflow in %s", name)
}

// logOf is a logarithm, of a base or a natural one.
func logOf(name string, n value.Numeric, base any) (any, error) {
	if n.Sign() <= 0 {
		return nil, parse.Invalid("%s(%s) is not defined", name, n)
	}
	log := logarithm(bigOf(n))
	if base == nil {
		return roundedTo(name, log)
	}
	b := base.(value.Numeric)
	if b.Sign() <= 0 || b.Compare(value.NumericOf(1)) == 0 {
		return nil, parse.Invalid("%s(%s, %s) is not defined", name, n, b)
	}
	return roundedTo(name, nearestWhole(log.Quo(log, logarithm(bigOf(b)))))
}

// nearestWhole is a number, or the integer that it misses by the error of its computation.
func nearestWhole(f *big.Float) *big.Float {
	half := big.NewFloat(0.5)
	if f.Sign() < 0 {
		half.Neg(half)
	}
	whole, _ := new(big.Float).Add(f, half).Int(nil)
	near := new(big.Float).SetPrec(precision).SetInt(whole)
	if miss := new(big.Float).Sub(f, near); miss.Sign() == 0 || miss.MantExp(nil) < -precision/2 {
		return near
	}
	return f
}

// exactPower is POW of NUMERIC.
func exactPower(v []any) (any, error) {
	x, y := v[0].(value.Numeric), v[1].(value.Numeric)
	whole, isWhole := y.Int()
	isWhole = isWhole && y.Compare(value.NumericOf(whole)) == 0
	switch {
	case y.Sign() == 0:
		return value.NumericOf(1), nil
	case x.Sign() == 0 && y.Sign() < 0, x.Sign() < 0 && !isWhole:
		return nil, parse.Invalid("POW(%s, %s) is not defined", x, y)
	case x.Sign() == 0:
		return x, nil
	}
	const few = 256 // their result is computed without error
	if isWhole && whole >= -few && whole <= few {
		of, times := x.Rat(), big.NewInt(max(whole, -whole))
		if whole < 0 {
			of.Inv(of)
		}
		power := func(n *big.Int) *big.Int { return new(big.Int).Exp(n, times, nil) }
		if n, ok := value.NumericOfRat(new(big.Rat).SetFrac(power(of.Num()), power(of.Denom()))); ok {
			return n, nil
		}
		return nil, parse.Invalid("NUMERIC overflow in POW")
	}
	size := bigOf(x)
	power := exponential(new(big.Float).Mul(logarithm(size.Abs(size)), bigOf(y)))
	if x.Sign() < 0 && whole%2 != 0 && power != nil {
		power.Neg(power)
	}
	return roundedTo("POW", power)
}

// inverseTangent is twice the inverse hyperbolic tangent of a number of up to 1/3.
func inverseTangent(t *big.Float) *big.Float {
	square := new(big.Float).SetPrec(precision).Mul(t, t)
	sum, power := new(big.Float).SetPrec(precision), new(big.Float).SetPrec(precision).Set(t)
	for n := int64(1); power.Sign() != 0 && power.MantExp(nil) > -precision; n += 2 {
		sum.Add(sum, new(big.Float).SetPrec(precision).Quo(power, new(big.Float).SetInt64(n)))
		power.Mul(power, square)
	}
	return sum.Add(sum, sum)
}

var log2 = sync.OnceValue(func() *big.Float {
	third := new(big.Float).SetPrec(precision).Quo(big.NewFloat(1), big.NewFloat(3))
	return inverseTangent(third)
})

// logarithm is the natural logarithm of a number above 0.
func logarithm(x *big.Float) *big.Float {
	m := new(big.Float).SetPrec(precision)
	exponent := x.MantExp(m) // m is from 1/2 on and below 1
	one := big.NewFloat(1)
	t := new(big.Float).SetPrec(precision).Quo(new(big.Float).SetPrec(precision).Sub(m, one), new(big.Float).SetPrec(precision).Add(m, one))
	log := inverseTangent(t)
	return log.Add(log, new(big.Float).SetPrec(precision).Mul(log2(), new(big.Float).SetInt64(int64(exponent))))
}

// exponential is e to the power of a number; nil: it is too large for a NUMERIC.
func exponential(x *big.Float) *big.Float {
	switch most := big.NewFloat(100); {
	case x.Cmp(most) > 0:
		return nil
	case x.Cmp(most.Neg(most)) < 0:
		return new(big.Float).SetPrec(precision)
	}
	times, _ := new(big.Float).SetPrec(precision).Quo(x, log2()).Int64()
	rest := new(big.Float).SetPrec(precision).Sub(x, new(big.Float).SetPrec(precision).Mul(log2(), new(big.Float).SetInt64(times)))
	sum, term := new(big.Float).SetPrec(precision).SetInt64(1), new(big.Float).SetPrec(precision).SetInt64(1)
	for n := int64(1); term.Sign() != 0 && term.MantExp(nil) > -precision; n++ {
		term.Mul(term, rest)
		term.Quo(term, new(big.Float).SetInt64(n))
		sum.Add(sum, term)
	}
	return sum.SetMantExp(sum, int(times))
}
