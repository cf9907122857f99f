package tuple_test

import (
	"math"
	"math/big"

	"github.com/google/uuid"
	"github.com/smolwc/smolwc/tuple"
	"pgregory.net/rapid"
)

// The generators draw from few values, and from those near the borders of the
// encoding, so that tuples often share a beginning and the rare cases are
// common.

var (
	// special bytes: the terminator, the escape, type codes.
	byteString = rapid.SliceOfN(rapid.OneOf(
		rapid.SampledFrom([]byte{0x00, 0xFE, 0xFF, 0x01, 0x02, 0x05, 'a'}),
		rapid.Byte(),
	), 0, 5)

	text = rapid.OneOf(
		rapid.StringOfN(rapid.SampledFrom([]rune{0, 1, 'a', 'b', 'é', '\uFFFF', '\U0010FFFF'}), 0, 4, -1),
		rapid.StringN(0, 6, -1),
	)

	// bigInts of any length up to 255 bytes, often close to a power of two.
	bigInts = rapid.Custom(func(t *rapid.T) *big.Int {
		n := power(rapid.UintRange(0, 8*tuple.MaxIntBytes-1).Draw(t, "bits"), 1)
		if rapid.Bool().Draw(t, "small") {
			n = power(rapid.UintRange(0, 72).Draw(t, "bits"), 1)
		}
		n = offset(n, rapid.Int64Range(-2, 2).Draw(t, "offset"))
		if rapid.Bool().Draw(t, "negative") {
			n.Neg(n)
		}
		return n
	})

	integers = rapid.OneOf(
		rapid.IntRange(-2, 2).AsAny(), rapid.Int().AsAny(), rapid.Int8().AsAny(), rapid.Int16().AsAny(),
		rapid.Int32().AsAny(), rapid.Int64().AsAny(), rapid.Uint().AsAny(), rapid.Uint8().AsAny(),
		rapid.Uint16().AsAny(), rapid.Uint32().AsAny(), rapid.Uint64().AsAny(), bigInts.AsAny(),
		rapid.Map(bigInts, func(n *big.Int) big.Int { return *n }).AsAny(),
	)

	float32s = rapid.OneOf(
		rapid.SampledFrom([]float32{0, float32(math.Copysign(0, -1)), 1, -1, float32(math.Inf(1)), float32(math.Inf(-1))}),
		rapid.Map(rapid.Uint32(), math.Float32frombits),
	)

	float64s = rapid.OneOf(
		rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1, -1, math.Inf(1), math.Inf(-1), math.NaN()}),
		rapid.Map(rapid.Uint64(), math.Float64frombits),
	)

	uuids = rapid.Map(rapid.SliceOfN(rapid.Byte(), 16, 16), func(b []byte) uuid.UUID { return uuid.UUID(b) })

	stamps = rapid.Custom(func(t *rapid.T) tuple.Versionstamp {
		version := rapid.SliceOfN(rapid.SampledFrom([]byte{0x00, 0x7F, 0xFF}), 9, 9).Draw(t, "version")
		return tuple.Versionstamp{
			TransactionVersion: [10]byte(append(version, 0)),
			UserVersion:        rapid.Uint16().Draw(t, "user"),
		}
	})

	elements = elementsOf(3)
	tuples   = tuplesOf(elements)
)

// elementsOf draws elements of all types, with tuples nested up to depth.
func elementsOf(depth int) *rapid.Generator[any] {
	kinds := []*rapid.Generator[any]{
		rapid.Just[any](nil), byteString.AsAny(), text.AsAny(), integers,
		float32s.AsAny(), float64s.AsAny(), rapid.Bool().AsAny(), uuids.AsAny(), stamps.AsAny(),
	}
	if depth > 0 {
		kinds = append(kinds, tuplesOf(elementsOf(depth-1)).AsAny(), rapid.Map(elementsOf(depth-1), tuple.Desc).AsAny())
	}
	return rapid.OneOf(kinds...)
}

func tuplesOf(elems *rapid.Generator[any]) *rapid.Generator[tuple.Tuple] {
	return rapid.Map(rapid.SliceOfN(elems, 0, 4), func(e []any) tuple.Tuple { return e })
}

// relative draws a tuple that differs from a completely, in one element, or in length.
func relative(a tuple.Tuple) *rapid.Generator[tuple.Tuple] {
	return rapid.Custom(func(t *rapid.T) tuple.Tuple {
		if rapid.IntRange(0, 3).Draw(t, "stranger") == 0 {
			return tuples.Draw(t, "b")
		}
		keep := rapid.IntRange(0, len(a)).Draw(t, "keep")
		b := append(tuple.Tuple{}, a[:keep]...)
		if keep < len(a) && rapid.Bool().Draw(t, "vary") {
			b = append(b, variation(a[keep]).Draw(t, "variation"))
		}
		return append(b, tuplesOf(elements).Draw(t, "tail")...)
	})
}

// variation draws an element of the same type as elem, and close to it.
func variation(elem any) *rapid.Generator[any] {
	switch v := elem.(type) {
	case []byte:
		return rapid.Map(byteString, func(tail []byte) any { return append(v[:len(v):len(v)], tail...) })
	case string:
		return rapid.Map(text, func(tail string) any { return v + tail })
	case tuple.Tuple:
		return relative(v).AsAny()
	case float32:
		return float32s.AsAny()
	case float64:
		return float64s.AsAny()
	case bool:
		return rapid.Bool().AsAny()
	case uuid.UUID:
		return rapid.Map(rapid.Byte(), func(last byte) any { v[15] = last; return v })
	case tuple.Versionstamp:
		return rapid.Map(rapid.Uint16(), func(user uint16) any { v.UserVersion = user; return v })
	case tuple.Descending:
		return rapid.Map(variation(v.Element), tuple.Desc).AsAny()
	default:
		return integers
	}
}
