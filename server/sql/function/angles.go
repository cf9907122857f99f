package function

import (
	"math"

	"github.com/smolwc/smolwc/server/sql/parse"
	"github.com/smolwc/smolwc/server/sql/value"
)

// angles are the functions of angles and the other transcendental functions.
// https://cloud.google.com/bigquery/docs/reference/standard-sql/mathematical_functions
var angles = []declaration{
	{"SIN(FLOAT64) FLOAT64", float(math.Sin)},
	{"COS(FLOAT64) FLOAT64", float(math.Cos)},
	{"TAN(FLOAT64) FLOAT64", float(math.Tan)},
	{"ASIN(FLOAT64) FLOAT64", within("ASIN", math.Asin, func(f float64) bool { return f >= -1 && f <= 1 })},
	{"ACOS(FLOAT64) FLOAT64", within("ACOS", math.Acos, func(f float64) bool { return f >= -1 && f <= 1 })},
	{"ATAN(FLOAT64) FLOAT64", float(math.Atan)},
	{"ATAN2(FLOAT64, FLOAT64) FLOAT64", func(v []any) (any, error) { return math.Atan2(v[0].(float64), v[1].(float64)), nil }},
	{"SINH(FLOAT64) FLOAT64", func(v []any) (any, error) { return finite("SINH", math.Sinh(v[0].(float64)), v) }},
	{"COSH(FLOAT64) FLOAT64", func(v []any) (any, error) { return finite("COSH", math.Cosh(v[0].(float64)), v) }},
	{"TANH(FLOAT64) FLOAT64", float(math.Tanh)},
	{"ASINH(FLOAT64) FLOAT64", float(math.Asinh)},
	{"ACOSH(FLOAT64) FLOAT64", within("ACOSH", math.Acosh, func(f float64) bool { return f >= 1 })},
	{"ATANH(FLOAT64) FLOAT64", within("ATANH", math.Atanh, func(f float64) bool { return f > -1 && f < 1 })},
	{"CBRT(FLOAT64) FLOAT64", float(math.Cbrt)},
	{"LOG(FLOAT64) FLOAT64", within("LOG", math.Log, func(f float64) bool { return f > 0 })},
	{"LOG(FLOAT64, FLOAT64) FLOAT64", func(v []any) (any, error) {
		x, base := v[0].(float64), v[1].(float64)
		if math.IsInf(x, -1) || math.IsInf(base, 0) {
			return math.NaN(), nil
		}
		if x <= 0 || base <= 0 || base == 1 {
			return nil, parse.Invalid("LOG(%v, %v) is not defined", x, base)
		}
		return math.Log(x) / math.Log(base), nil
	}},
	{"SAFE_ADD(INT64, INT64) INT64", func(v []any) (any, error) {
		a, b := v[0].(int64), v[1].(int64)
		if r := a + b; (r > a) == (b > 0) || b == 0 {
			return r, nil
		}
		return nil, nil
	}},
	{"SAFE_SUBTRACT(INT64, INT64) INT64", func(v []any) (any, error) {
		a, b := v[0].(int64), v[1].(int64)
		if r := a - b; (r < a) == (b > 0) || b == 0 {
			return r, nil
		}
		return nil, nil
	}},
	{"SAFE_NEGATE(INT64) INT64", func(v []any) (any, error) {
		if v[0] == int64(math.MinInt64) {
			return nil, nil
		}
		return -v[0].(int64), nil
	}},
	{"SIGN(FLOAT64) FLOAT64", float(sign)},
	{"SIGN(FLOAT32) FLOAT32", short(sign)},
	{"GENERATE_ARRAY(INT64, INT64[INT64]) ARRAY<INT64>", generate},
}

func sign(f float64) float64 {
	switch {
	case f > 0:
		return 1
	case f < 0:
		return -1
	}
	return f // 0 or NaN
}

// maxElements bounds the elements of an array that a function makes.
const maxElements = 1 << 20

func generate(v []any) (any, error) {
	from, to, step := v[0].(int64), v[1].(int64), int64(1)
	if len(v) == 3 {
		step = v[2].(int64)
	}
	if step == 0 {
		return nil, parse.Invalid("the step of GENERATE_ARRAY must not be 0")
	}
	all := value.Array{}
	for n := from; step > 0 && n <= to || step < 0 && n >= to; n += step {
		if len(all) == maxElements {
			return nil, parse.Invalid("GENERATE_ARRAY makes more than %d elements", maxElements)
		}
		all = append(all, n)
		if next := n + step; (next > n) != (step > 0) {
			break // the last INT64
		}
	}
	return all, nil
}
