package function

import (
	"context"
	"math"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/value"
)

// series are the functions that make an array of a range.
var series = []long{
	{"GENERATE_ARRAY(INT64, INT64[INT64]) ARRAY<INT64>", generate},
	{"GENERATE_ARRAY(FLOAT64, FLOAT64[FLOAT64]) ARRAY<FLOAT64>", generateFloats},
	{"GENERATE_DATE_ARRAY(DATE, DATE[INTERVAL INT64 PART]) ARRAY<DATE>", func(ctx context.Context, v []any) (any, error) {
		number, part := stepOf(v)
		from := v[0].(value.Date)
		if _, err := addDate(epoch, 1, 1, part); err != nil {
			return nil, err
		}
		return generated(ctx, "GENERATE_DATE_ARRAY", number, from, v[1].(value.Date), func(n int64) (any, error) { return addDate(from, n, 1, part) })
	}},
	{"GENERATE_TIMESTAMP_ARRAY(TIMESTAMP, TIMESTAMP, INTERVAL INT64 PART) ARRAY<TIMESTAMP>", func(ctx context.Context, v []any) (any, error) {
		number, part := stepOf(v)
		from := v[0].(cells.Timestamp)
		if _, err := unitOf(part); err != nil {
			return nil, err
		}
		return generated(ctx, "GENERATE_TIMESTAMP_ARRAY", number, from, v[1].(cells.Timestamp), func(n int64) (any, error) { return addTimestamp(from, n, 1, part) })
	}},
}

func stepOf(v []any) (number int64, part string) {
	if len(v) < 4 {
		return 1, "DAY"
	}
	return v[2].(int64), v[3].(string)
}

func generate(ctx context.Context, v []any) (any, error) {
	from, to, step := v[0].(int64), v[1].(int64), int64(1)
	if len(v) == 3 {
		step = v[2].(int64)
	}
	if step == 0 {
		return nil, errStep("GENERATE_ARRAY")
	}
	all := value.Array{}
	for n := from; step > 0 && n <= to || step < 0 && n >= to; n += step {
		if err := another(ctx, "GENERATE_ARRAY", len(all)); err != nil {
			return nil, err
		}
		all = append(all, n)
		if next := n + step; (next > n) != (step > 0) {
			break // the last INT64
		}
	}
	return all, nil
}

func errStep(name string) error { return parse.Invalid("the step of %s must not be 0", name) }

// another looks whether an array of this many elements may get one more.
func another(ctx context.Context, name string, elements int) error {
	const look = 1 << 12 // elements between two looks at the context
	switch {
	case elements == maxElements:
		return parse.Invalid("%s makes more than %d elements", name, maxElements)
	case elements%look == look-1:
		return ctx.Err()
	}
	return nil
}

func generateFloats(ctx context.Context, v []any) (any, error) {
	from, to, step := v[0].(float64), v[1].(float64), 1.0
	if len(v) == 3 {
		step = v[2].(float64)
	}
	for _, f := range []float64{from, to, step} {
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, parse.Invalid("GENERATE_ARRAY takes no %v", f)
		}
	}
	if step == 0 {
		return nil, errStep("GENERATE_ARRAY")
	}
	all := value.Array{}
	for f := from; step > 0 && f <= to || step < 0 && f >= to; f = from + step*float64(len(all)) {
		if err := another(ctx, "GENERATE_ARRAY", len(all)); err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return all, nil
}

// generated adds a step to the first value until the last is passed, or no time is left.
func generated[T ~int32 | ~int64](ctx context.Context, name string, number int64, from, to T, add func(n int64) (any, error)) (any, error) {
	if number == 0 {
		return nil, errStep(name)
	}
	all := value.Array{}
	for at := from; number > 0 && at <= to || number < 0 && at >= to; {
		if err := another(ctx, name, len(all)); err != nil {
			return nil, err
		}
		all = append(all, at)
		next, err := add(number * int64(len(all)))
		if err != nil {
			break // beyond the year 9999
		}
		at = next.(T)
	}
	return all, nil
}
