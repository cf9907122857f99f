package function

import (
	"math"

	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/value"
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
	{"SIGN(NUMERIC) NUMERIC", func(v []any) (any, error) { return value.NumericOf(int64(v[0].(value.Numeric).Sign())), nil }},
	{"SAFE_MULTIPLY(INT64, INT64) INT64", func(v []any) (any, error) {
		a, b := v[0].(int64), v[1].(int64)
		if r := a * b; a == 0 || r/a == b && !(a == -1 && b == math.MinInt64) {
			return r, nil
		}
		return nil, nil
	}},
	{"SAFE_ADD(FLOAT64, FLOAT64) FLOAT64", safely(func(a, b float64) float64 { return a + b })},
	{"SAFE_SUBTRACT(FLOAT64, FLOAT64) FLOAT64", safely(func(a, b float64) float64 { return a - b })},
	{"SAFE_MULTIPLY(FLOAT64, FLOAT64) FLOAT64", safely(func(a, b float64) float64 { return a * b })},
	{"SAFE_NEGATE(FLOAT64) FLOAT64", float(func(f float64) float64 { return -f })},
	{"SAFE_ADD(NUMERIC, NUMERIC) NUMERIC", safelyDecimal(value.Numeric.Plus)},
	{"SAFE_SUBTRACT(NUMERIC, NUMERIC) NUMERIC", safelyDecimal(func(a, b value.Numeric) (value.Numeric, bool) { return a.Plus(b.Negated()) })},
	{"SAFE_MULTIPLY(NUMERIC, NUMERIC) NUMERIC", safelyDecimal(value.Numeric.Times)},
	{"SAFE_NEGATE(NUMERIC) NUMERIC", func(v []any) (any, error) { return v[0].(value.Numeric).Negated(), nil }},
	{"COT(FLOAT64) FLOAT64", inverse("COT", math.Tan)},
	{"CSC(FLOAT64) FLOAT64", inverse("CSC", math.Sin)},
	{"SEC(FLOAT64) FLOAT64", inverse("SEC", math.Cos)},
	{"COTH(FLOAT64) FLOAT64", inverse("COTH", math.Tanh)},
	{"CSCH(FLOAT64) FLOAT64", inverse("CSCH", math.Sinh)},
	{"SECH(FLOAT64) FLOAT64", float(func(f float64) float64 { return 1 / math.Cosh(f) })},
	{"COSINE_DISTANCE(ARRAY<FLOAT64>, ARRAY<FLOAT64>) FLOAT64", cosineDistance},
	{"EUCLIDEAN_DISTANCE(ARRAY<FLOAT64>, ARRAY<FLOAT64>) FLOAT64", euclideanDistance},
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

// safely is NULL where the operation overflows.
func safely(f func(a, b float64) float64) func([]any) (any, error) {
	return func(v []any) (any, error) {
		a, b := v[0].(float64), v[1].(float64)
		if r := f(a, b); !math.IsInf(r, 0) || math.IsInf(a, 0) || math.IsInf(b, 0) {
			return r, nil
		}
		return nil, nil
	}
}

// inverse is one divided by a function, which is not defined at its zeros.
func inverse(name string, f func(float64) float64) func([]any) (any, error) {
	return func(v []any) (any, error) {
		d := f(v[0].(float64))
		if d == 0 {
			return nil, parse.Invalid("%s(%v) is not defined", name, v[0])
		}
		return finite(name, 1/d, v)
	}
}

// vectors are two arrays of numbers of one length.
func vectors(name string, v []any) (a, b []float64, err error) {
	first, second := v[0].(value.Array), v[1].(value.Array)
	if len(first) != len(second) {
		return nil, nil, parse.Invalid("%s takes arrays of one length, not of %d and %d elements", name, len(first), len(second))
	}
	for i := range first {
		if first[i] == nil || second[i] == nil {
			return nil, nil, parse.Invalid("%s takes arrays without NULL", name)
		}
		a, b = append(a, first[i].(float64)), append(b, second[i].(float64))
	}
	return a, b, nil
}

func cosineDistance(v []any) (any, error) {
	a, b, err := vectors("COSINE_DISTANCE", v)
	if err != nil {
		return nil, err
	}
	var dot, squaresA, squaresB float64
	for i := range a {
		dot, squaresA, squaresB = dot+a[i]*b[i], squaresA+a[i]*a[i], squaresB+b[i]*b[i]
	}
	if squaresA == 0 || squaresB == 0 {
		return nil, parse.Invalid("COSINE_DISTANCE takes no vector of length 0")
	}
	return 1 - dot/(math.Sqrt(squaresA)*math.Sqrt(squaresB)), nil
}

func euclideanDistance(v []any) (any, error) {
	a, b, err := vectors("EUCLIDEAN_DISTANCE", v)
	if err != nil {
		return nil, err
	}
	sum := 0.0
	for i := range a {
		sum += (a[i] - b[i]) * (a[i] - b[i])
	}
	return math.Sqrt(sum), nil
}

// safelyDecimal is NULL beyond the range of NUMERIC.
func safelyDecimal(f func(a, b value.Numeric) (value.Numeric, bool)) func([]any) (any, error) {
	return func(v []any) (any, error) {
		if r, ok := f(v[0].(value.Numeric), v[1].(value.Numeric)); ok {
			return r, nil
		}
		return nil, nil
	}
}
