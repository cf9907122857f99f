package function

import (
	"math"
	"math/big"

	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/value"
)

// numbers are the mathematical functions.
// https://cloud.google.com/bigquery/docs/reference/standard-sql/mathematical_functions
var numbers = []declaration{
	{"ABS(INT64) INT64", func(v []any) (any, error) {
		n := v[0].(int64)
		if n == math.MinInt64 {
			return nil, parse.Invalid("int64 overflow: ABS(%d)", n)
		}
		return max(n, -n), nil
	}},
	{"ABS(FLOAT64) FLOAT64", float(math.Abs)},
	{"ABS(FLOAT32) FLOAT32", short(math.Abs)},
	{"ABS(NUMERIC) NUMERIC", func(v []any) (any, error) {
		if n := v[0].(value.Numeric); n.Sign() < 0 {
			return n.Negated(), nil
		}
		return v[0], nil
	}},
	{"SIGN(INT64) INT64", func(v []any) (any, error) { return max(min(v[0].(int64), 1), -1), nil }},
	{"ROUND(FLOAT64) FLOAT64", float(math.Round)},
	{"ROUND(FLOAT32) FLOAT32", short(math.Round)},
	{"ROUND(FLOAT64, INT64) FLOAT64", digits("ROUND", 0.5)},
	{"ROUND(FLOAT32, INT64) FLOAT32", shortDigits("ROUND", 0.5)},
	{"ROUND(NUMERIC[INT64]) NUMERIC", whole("ROUND", toNearest)},
	{"TRUNC(FLOAT64) FLOAT64", float(math.Trunc)},
	{"TRUNC(FLOAT32) FLOAT32", short(math.Trunc)},
	{"TRUNC(FLOAT64, INT64) FLOAT64", digits("TRUNC", 0)},
	{"TRUNC(FLOAT32, INT64) FLOAT32", shortDigits("TRUNC", 0)},
	{"TRUNC(NUMERIC[INT64]) NUMERIC", whole("TRUNC", toZero)},
	{"CEIL(FLOAT64) FLOAT64", float(math.Ceil)},
	{"CEIL(FLOAT32) FLOAT32", short(math.Ceil)},
	{"CEIL(NUMERIC) NUMERIC", whole("CEIL", up)},
	{"CEILING(FLOAT64) FLOAT64", float(math.Ceil)},
	{"CEILING(FLOAT32) FLOAT32", short(math.Ceil)},
	{"CEILING(NUMERIC) NUMERIC", whole("CEILING", up)},
	{"FLOOR(FLOAT64) FLOAT64", float(math.Floor)},
	{"FLOOR(FLOAT32) FLOAT32", short(math.Floor)},
	{"FLOOR(NUMERIC) NUMERIC", whole("FLOOR", down)},
	{"SQRT(FLOAT64) FLOAT64", func(v []any) (any, error) {
		if f := v[0].(float64); f < 0 {
			return nil, parse.Invalid("SQRT(%v) is not defined", f)
		}
		return math.Sqrt(v[0].(float64)), nil
	}},
	{"LN(FLOAT64) FLOAT64", within("LN", math.Log, func(f float64) bool { return f > 0 })},
	{"LOG10(FLOAT64) FLOAT64", within("LOG10", math.Log10, func(f float64) bool { return f > 0 })},
	{"EXP(FLOAT64) FLOAT64", func(v []any) (any, error) { return finite("EXP", math.Exp(v[0].(float64)), v) }},
	{"POW(FLOAT64, FLOAT64) FLOAT64", power},
	{"POWER(FLOAT64, FLOAT64) FLOAT64", power},
	{"MOD(INT64, INT64) INT64", func(v []any) (any, error) {
		if v[1] == int64(0) {
			return nil, parse.Invalid("division by zero: MOD(%d, 0)", v[0])
		}
		if v[1] == int64(-1) {
			return int64(0), nil
		}
		return v[0].(int64) % v[1].(int64), nil
	}},
	{"MOD(NUMERIC, NUMERIC) NUMERIC", divided("MOD", func(a, b *big.Int) *big.Int { return a.Rem(a, b) })},
	{"DIV(INT64, INT64) INT64", func(v []any) (any, error) {
		a, b := v[0].(int64), v[1].(int64)
		if b == 0 {
			return nil, parse.Invalid("division by zero: DIV(%d, 0)", a)
		}
		if a == math.MinInt64 && b == -1 {
			return nil, parse.Invalid("int64 overflow: DIV(%d, %d)", a, b)
		}
		return a / b, nil
	}},
	{"DIV(NUMERIC, NUMERIC) NUMERIC", divided("DIV", func(a, b *big.Int) *big.Int { return a.Mul(a.Quo(a, b), billion) })},
	{"IEEE_DIVIDE(FLOAT64, FLOAT64) FLOAT64", func(v []any) (any, error) { return v[0].(float64) / v[1].(float64), nil }},
	{"SAFE_DIVIDE(FLOAT64, FLOAT64) FLOAT64", func(v []any) (any, error) {
		a, b := v[0].(float64), v[1].(float64)
		if r := a / b; b != 0 && (!math.IsInf(r, 0) || math.IsInf(a, 0)) {
			return r, nil
		}
		return nil, nil
	}},
	{"SAFE_DIVIDE(NUMERIC, NUMERIC) NUMERIC", func(v []any) (any, error) {
		a, b := v[0].(value.Numeric), v[1].(value.Numeric)
		if b.Sign() != 0 {
			if r, ok := a.Over(b); ok {
				return r, nil
			}
		}
		return nil, nil
	}},
	{"IS_NAN(FLOAT64) BOOL", func(v []any) (any, error) { return math.IsNaN(v[0].(float64)), nil }},
	{"IS_INF(FLOAT64) BOOL", func(v []any) (any, error) { return math.IsInf(v[0].(float64), 0), nil }},
}

func float(f func(float64) float64) func([]any) (any, error) {
	return func(v []any) (any, error) { return f(v[0].(float64)), nil }
}

// short is a function of FLOAT32.
func short(f func(float64) float64) func([]any) (any, error) {
	return func(v []any) (any, error) { return float32(f(float64(v[0].(float32)))), nil }
}

// digits cuts numbers after a number of digits of their fraction, or before the point if it
// is negative, after adding half of such a digit. GoogleSQL computes it with 64 bits of
// precision, which decide between 1.005 and 1.01.
func digits(name string, half float64) func([]any) (any, error) {
	const precision, most = 64, 400 // more digits than most change no number
	return func(v []any) (any, error) {
		f, n := v[0].(float64), v[1].(int64)
		switch {
		case math.IsNaN(f) || math.IsInf(f, 0) || n > most:
			return f, nil
		case n < -most:
			return 0.0, nil
		}
		unit, ten := new(big.Float).SetPrec(precision).SetInt64(1), big.NewFloat(10)
		for range max(n, -n) {
			if n > 0 {
				unit.Quo(unit, ten)
			} else {
				unit.Mul(unit, ten)
			}
		}
		x := new(big.Float).SetPrec(precision).Quo(big.NewFloat(f), unit)
		whole, _ := new(big.Float).SetPrec(2*precision).Add(x, big.NewFloat(math.Copysign(half, f))).Int(nil)
		r, _ := unit.Mul(unit, new(big.Float).SetPrec(precision).SetInt(whole)).Float64()
		if math.IsInf(r, 0) {
			return nil, parse.Invalid("Floating point overflow in %s", name)
		}
		return r, nil
	}
}

// shortDigits is digits of a FLOAT32.
func shortDigits(name string, half float64) func([]any) (any, error) {
	of := digits(name, half)
	return func(v []any) (any, error) {
		given := float64(v[0].(float32))
		r, err := of([]any{given, v[1]})
		if err != nil {
			return nil, err
		}
		f := float32(r.(float64))
		if math.IsInf(float64(f), 0) && !math.IsInf(given, 0) {
			return nil, parse.Invalid("Floating point overflow in %s", name)
		}
		return f, nil
	}
}

// within refuses finite arguments that the function is not defined for. Of an infinity it
// is NaN there.
func within(name string, f func(float64) float64, defined func(float64) bool) func([]any) (any, error) {
	return func(v []any) (any, error) {
		x := v[0].(float64)
		if !math.IsNaN(x) && !math.IsInf(x, 0) && !defined(x) {
			return nil, parse.Invalid("%s(%v) is not defined", name, x)
		}
		return f(x), nil
	}
}

func power(v []any) (any, error) {
	a, b := v[0].(float64), v[1].(float64)
	r := math.Pow(a, b)
	if math.IsNaN(r) && !math.IsNaN(a) && !math.IsNaN(b) {
		return nil, parse.Invalid("POW(%v, %v) is not defined", a, b)
	}
	return finite("POW", r, v)
}

// finite refuses an overflow.
func finite(name string, r float64, v []any) (any, error) {
	for _, arg := range v {
		if math.IsInf(arg.(float64), 0) {
			return r, nil
		}
	}
	if math.IsInf(r, 0) {
		return nil, parse.Invalid("Floating point overflow in %s", name)
	}
	return r, nil
}

// billion is how many units a NUMERIC has for 1.
var billion = big.NewInt(1_000_000_000)

// rounding is a way to make whole units of a number.
type rounding func(n, unit *big.Int) *big.Int

func toNearest(n, unit *big.Int) *big.Int { return value.Quotient(n, unit) }

func toZero(n, unit *big.Int) *big.Int { return new(big.Int).Quo(n, unit) }

func down(n, unit *big.Int) *big.Int { // the units are positive
	return new(big.Int).Div(n, unit)
}

func up(n, unit *big.Int) *big.Int {
	less := new(big.Int).Neg(n)
	return less.Neg(less.Div(less, unit))
}

// whole makes whole units of a NUMERIC: digits of its fraction, or before the point if they are
// negative, as many as the second argument says; 0 without one.
func whole(name string, round rounding) func([]any) (any, error) {
	return func(v []any) (any, error) {
		n, digits := v[0].(value.Numeric), int64(0)
		if len(v) > 1 {
			digits = v[1].(int64)
		}
		if digits >= 9 {
			return n, nil
		}
		unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(9-max(digits, -30)), nil)
		units := round(n.Billionths(), unit)
		return numericOf(name, units.Mul(units, unit))
	}
}

func numericOf(name string, billionths *big.Int) (any, error) {
	n, ok := value.NumericOfBillionths(billionths)
	if !ok {
		return nil, parse.Invalid("numeric overflow in %s", name)
	}
	return n, nil
}

// divided is a function of the quotient of two NUMERICs.
func divided(name string, f func(a, b *big.Int) *big.Int) func([]any) (any, error) {
	return func(v []any) (any, error) {
		a, b := v[0].(value.Numeric), v[1].(value.Numeric)
		if b.Sign() == 0 {
			return nil, parse.Invalid("division by zero: %s(%v, 0)", name, a)
		}
		return numericOf(name, f(a.Billionths(), b.Billionths()))
	}
}
