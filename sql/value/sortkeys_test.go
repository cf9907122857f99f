package value_test

import (
	"bytes"
	"cmp"
	"maps"
	"math"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/sql/value"
)

// drawn are values of one type, which is drawn first; lists have elements of drawn types.
func drawn(t *rapid.T, depth int) *rapid.Generator[any] {
	nearby := rapid.SampledFrom([]int64{0, 1, -1, 127, 128, 255, 256, -128, -129, -256, -257, 1 << 40, math.MaxInt64, math.MinInt64, math.MinInt64 + 1})
	ints := rapid.OneOf(nearby, rapid.Int64())
	floats := rapid.OneOf(rapid.SampledFrom([]float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), 1, -1, math.SmallestNonzeroFloat64, math.MaxFloat64}), rapid.Float64())
	texts := rapid.OneOf(rapid.StringMatching(`[\x00-\x02a\xff]{0,5}`), rapid.String())
	scalars := map[value.Kind]*rapid.Generator[any]{
		value.TypeBytes: rapid.Map(rapid.OneOf(rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 'a', 0xfe, 0xff}), 0, 5), rapid.SliceOf(rapid.Byte())), func(b []byte) any { return b }),

		value.TypeString:    rapid.Map(texts, func(s string) any { return s }),
		value.TypeInt64:     rapid.Map(ints, func(n int64) any { return n }),
		value.TypeFloat32:   rapid.Map(floats, func(f float64) any { return float32(f) }),
		value.TypeFloat64:   rapid.Map(floats, func(f float64) any { return f }),
		value.TypeBool:      rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		value.TypeTimestamp: rapid.Map(ints, func(n int64) any { return cells.Timestamp(n) }),
		value.TypeDatetime:  rapid.Map(ints, func(n int64) any { return value.Datetime(n) }),
		value.TypeDate:      rapid.Map(ints, func(n int64) any { return value.Date(int32(n)) }),
		value.TypeNumeric:   rapid.Custom(func(t *rapid.T) any { return numericOf(ints.Draw(t, "units"), ints.Draw(t, "parts")) }),
		value.TypeInterval: rapid.Map(rapid.SliceOfN(nearby, 3, 3), func(n []int64) any {
			return value.Interval{Months: int32(n[0] % 1000), Days: int32(n[1] % 10_000), Micros: n[2] % (1 << 50)}
		}),
	}
	kinds := slices.Sorted(maps.Values(value.TypeNames))
	kinds = slices.DeleteFunc(kinds, func(k value.Kind) bool { return !(value.Type{Kind: k}).Comparable() })
	if depth == 0 {
		kinds = append(kinds, value.TypeArray, value.TypeStruct)
	}
	kind := rapid.SampledFrom(kinds).Draw(t, "type")
	of := scalars[kind]
	switch {
	case kind == value.TypeArray:
		of = rapid.Map(rapid.SliceOfN(drawn(t, depth+1), 0, 3), func(all []any) any { return value.Array(all) })
	case kind == value.TypeStruct:
		a, b := drawn(t, depth+1), drawn(t, depth+1)
		of = rapid.Custom(func(t *rapid.T) any { return value.Struct{a.Draw(t, "a"), b.Draw(t, "b")} })
	case of == nil:
		t.Fatalf("no values of type %s are drawn", kind)
	}
	return rapid.Custom(func(t *rapid.T) any {
		if rapid.IntRange(0, 5).Draw(t, "null") == 0 {
			return nil
		}
		return of.Draw(t, "value")
	})
}

// numericOf is a product and a sum, so that all of its bits are in use.
func numericOf(units, parts int64) value.Numeric {
	of := new(big.Int).Mul(big.NewInt(units), big.NewInt(1e9))
	n, _ := value.NumericOfBillionths(of.Add(of, big.NewInt(parts)))
	return n
}

// The bytes of sort keys are ordered as ORDER BY orders values, for all types and directions, also
// of several columns; and their equality is that of GROUP BY.
func TestSortKeysAreOrderedAsTheirValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var a, b []byte
		want := 0
		grouped := [2][]byte{}
		for range rapid.IntRange(1, 3).Draw(t, "columns") {
			of := drawn(t, 0)
			x, y := of.Draw(t, "x"), of.Draw(t, "y")
			desc, last := rapid.Bool().Draw(t, "DESC"), rapid.Bool().Draw(t, "NULLS LAST")
			a, b = value.AppendSortKey(a, x, desc, last), value.AppendSortKey(b, y, desc, last)
			grouped = [2][]byte{value.AppendKey(grouped[0], x), value.AppendKey(grouped[1], y)}
			order := value.Order(x, y)
			if (x == nil || y == nil) && last || x != nil && y != nil && desc {
				order = -order
			}
			want = cmp.Or(want, order)
		}
		if got := bytes.Compare(a, b); got != want {
			t.Errorf("the keys %x and %x compare as %d, their values as %d", a, b, got, want)
		}
		if bytes.Equal(grouped[0], grouped[1]) != (want == 0) {
			t.Errorf("GROUP BY has keys %x and %x of values that compare as %d", grouped[0], grouped[1], want)
		}
	})
}
