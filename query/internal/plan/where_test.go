package plan

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/read"
)

var (
	edges = []int64{math.MinInt64, math.MinInt64 + 1, -1 << 53, -1<<53 - 1, math.MinInt32, math.MinInt32 - 1, -256, -1, 0, 1, 127, 255, 256, math.MaxInt32, math.MaxInt32 + 1, 1 << 53, 1<<53 + 1, math.MaxInt64 - 1, math.MaxInt64}
	reals = []float64{math.Inf(-1), -math.MaxFloat64, -1 << 63, -1.5, -math.SmallestNonzeroFloat64, math.Copysign(0, -1), 0, math.SmallestNonzeroFloat64, 0.5, 1, 255, 255.5, 1 << 53, 1 << 63, math.MaxFloat32, math.MaxFloat64, math.Inf(1), math.NaN()}

	anyInt   = rapid.OneOf(rapid.SampledFrom(edges), rapid.Int64())
	anyFloat = rapid.OneOf(rapid.SampledFrom(reals), rapid.Float64())
	anyText  = rapid.SampledFrom([]string{"", "\x00", "a", "a\x00", "ab", "b", "ÿ", "\x7f"})
	anyValue = rapid.OneOf(
		rapid.Map(anyInt, cells.I64),
		rapid.Map(anyInt, func(n int64) cells.Value { return cells.I32(int32(n)) }),
		rapid.Map(anyInt, func(n int64) cells.Value { return cells.Byte(byte(n)) }),
		rapid.Map(anyFloat, cells.F64),
		rapid.Map(anyFloat, func(f float64) cells.Value { return cells.F32(float32(f)) }),
		rapid.Map(anyInt, func(n int64) cells.Value { return cells.Bool(n > 0) }),
		rapid.Map(anyText, cells.String),
		rapid.Map(anyText, func(s string) cells.Value { return cells.Bytes([]byte(s)) }),
	)
)

// TestConditionsOnBytesAreThoseOnValues: a comparison of two values holds if and
// only if its encoding is in one of the ranges.
func TestConditionsOnBytesAreThoseOnValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		op := cells.Op(rapid.IntRange(int(cells.OpEqual), int(cells.OpGreaterOrEqual)).Draw(t, "op"))
		x, v := anyValue.Draw(t, "x"), anyValue.Draw(t, "v")
		c, want := read.Condition{Qualifier: "q", Op: op, Value: v}, op.Holds(x, v)
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			c, want = read.Negate(c), !want
		case 1:
			w := anyValue.Draw(t, "w")
			c, want = read.WhereIn("", "q", v, w), cells.OpEqual.Holds(x, v) || cells.OpEqual.Holds(x, w)
		case 2:
			w := anyValue.Draw(t, "w")
			c, want = read.Any(c, read.Negate(read.Where("", "q", cells.OpLess, w))), want || !cells.OpLess.Holds(x, w)
		case 3:
			c = read.WhereMatch("", "q", `a\C*|b`)
			text, _ := x.AsString()
			b, _ := x.AsBytes()
			want = len(text) > 0 && text[0] == 'a' || len(b) > 0 && b[0] == 'a' || text == "b" || string(b) == "b"
		}
		in, _, ok := inStore(&c)
		if !ok {
			t.Fatalf("%+v is not judged in the store", c)
		}
		if got := in.Holds(cells.AppendValue(nil, x), true); got != want {
			t.Fatalf("%+v of %v is %t, but %t by the ranges %+v", c, x, want, got, in.Values)
		}
		if in.Holds(nil, false) {
			t.Fatalf("a row without the column satisfies %s %v", op, v)
		}
		last := ""
		for i, r := range in.Values {
			if i > 0 && r.Start < last {
				t.Fatalf("ranges %+v are not sorted and disjoint", in.Values)
			}
			last = r.End
		}
	})
}

func TestPresenceOnBytes(t *testing.T) {
	exists, _, _ := inStore(&read.Condition{Kind: read.IsPresent})
	absent, _, _ := inStore(&read.Condition{Kind: read.IsAbsent})
	for _, test := range []struct {
		c     *cf.RowCondition
		value []byte
		ok    bool
		want  bool
	}{
		{&exists, []byte{1}, true, true}, {&exists, nil, true, true}, {&exists, nil, false, false},
		{&absent, []byte{1}, true, false}, {&absent, nil, true, false}, {&absent, nil, false, true},
	} {
		if got := test.c.Holds(test.value, test.ok); got != test.want {
			t.Errorf("%+v of %q, %t: %t", *test.c, test.value, test.ok, got)
		}
	}
}
