package function

import (
	"math"

	"github.com/smolwc/smolwc/server/sql/parse"
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
	{"SIGN(INT64) INT64", func(v []any) (any, error) { return max(min(v[0].(int64), 1), -1), nil }},
	{"ROUND(FLOAT64) FLOAT64", float(math.Round)},
	{"TRUNC(FLOAT64) FLOAT64", float(math.Trunc)},
	{"CEIL(FLOAT64) FLOAT64", float(math.Ceil)},
	{"CEILING(FLOAT64) FLOAT64", float(math.Ceil)},
	{"FLOOR(FLOAT64) FLOAT64", float(math.Floor)},
	{"SQRT(FLOAT64) FLOAT64", within("SQRT", math.Sqrt, func(f float64) bool { return f >= 0 })},
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
	{"IEEE_DIVIDE(FLOAT64, FLOAT64) FLOAT64", func(v []any) (any, error) { return v[0].(float64) / v[1].(float64), nil }},
	{"SAFE_DIVIDE(FLOAT64, FLOAT64) FLOAT64", func(v []any) (any, error) {
		a, b := v[0].(float64), v[1].(float64)
		if r := a / b; b != 0 && (!math.IsInf(r, 0) || math.IsInf(a, 0)) {
			return r, nil
		}
		return nil, nil
	}},
	{"IS_NAN(FLOAT64) BOOL", func(v []any) (any, error) { return math.IsNaN(v[0].(float64)), nil }},
	{"IS_INF(FLOAT64) BOOL", func(v []any) (any, error) { return math.IsInf(v[0].(float64), 0), nil }},
}

func float(f func(float64) float64) func([]any) (any, error) {
	return func(v []any) (any, error) { return f(v[0].(float64)), nil }
}

// within refuses arguments that the function is not defined for; NaN passes.
func within(name string, f func(float64) float64, defined func(float64) bool) func([]any) (any, error) {
	return func(v []any) (any, error) {
		x := v[0].(float64)
		if !math.IsNaN(x) && !defined(x) {
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
