package parquetrows

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	meta "github.com/parquet-go/parquet-go/format"
	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/cells"
)

// TestRuns: runs of any length, beside groups of eight.
func TestRuns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var want []bool
		var runs []byte
		for range rapid.IntRange(0, 5).Draw(t, "runs") {
			if n := rapid.IntRange(0, 40).Draw(t, "n"); rapid.Bool().Draw(t, "run") {
				v := rapid.Byte().Draw(t, "value") & 1
				runs = binary.AppendUvarint(runs, uint64(n)<<1)
				if n > 0 {
					runs = append(runs, v)
				}
				want = append(want, slices.Repeat([]bool{v == 1}, n)...)
			} else {
				packed := rapid.SliceOfN(rapid.Byte(), 0, 3).Draw(t, "packed")
				runs = append(binary.AppendUvarint(runs, uint64(len(packed))<<1|1), packed...)
				for i := range 8 * len(packed) {
					want = append(want, packed[i/8]>>(i%8)&1 == 1)
				}
			}
		}
		src := append(binary.LittleEndian.AppendUint32(nil, uint32(len(runs))), runs...)
		d, err := (&leaf{SchemaElement: &meta.SchemaElement{Type: thrift.New(meta.Boolean)}}).decoderOf(meta.RLE, src, max(len(want), 1), nil)
		if err != nil {
			t.Fatalf("%x: %v", src, err)
		}
		for i, v := range want {
			if got, err := d.next(); err != nil || v != (got.bits == 1) {
				t.Fatalf("%x: value %d is %v, %v", src, i, got, err)
			}
		}
		if v, err := d.next(); err == nil {
			t.Fatalf("%x: a value more: %v", src, v)
		}
	})
}

// TestFloat16 compares some numbers with what IEEE 754 says they are.
func TestFloat16(t *testing.T) {
	for bits, want := range map[uint32]float64{
		0x3c00: 1, 0xc000: -2, 0x7bff: 65504, 0x0001: math.Ldexp(1, -24), 0x03ff: math.Ldexp(1023, -24), 0x0400: math.Ldexp(1, -14),
		0x8000: math.Copysign(0, -1), 0x7c00: math.Inf(1), 0xfc00: math.Inf(-1), 0x3555: 0.333251953125,
	} {
		if got := float64(float16(bits)); got != want || math.Signbit(got) != math.Signbit(want) {
			t.Errorf("%04x is %v, want %v", bits, got, want)
		}
	}
	if !math.IsNaN(float64(float16(0x7e00))) {
		t.Error("7e00 is a number")
	}
}

// TestTexts: each annotation is what a reader expects, also in its older form; one that does
// not fit how the values are stored does not count.
func TestTexts(t *testing.T) {
	millis, micros, nanos := meta.TimeUnit{Value: new(meta.MilliSeconds)}, meta.TimeUnit{Value: new(meta.MicroSeconds)}, meta.TimeUnit{Value: new(meta.NanoSeconds)}
	const int32s, int64s, arrays, fixed = meta.Int32, meta.Int64, meta.ByteArray, meta.FixedLenByteArray
	minus := uint64(math.MaxUint64)
	raw := func(b ...byte) value { return value{raw: b} }
	for _, test := range []struct {
		kind   meta.Type
		length int32
		as     meta.LogicalTypeValue
		older  any // a deprecated.ConvertedType
		v      value
		want   string
	}{
		{int32s, 0, nil, nil, value{bits: minus}, "-1"},
		{int32s, 0, &meta.IntType{BitWidth: 32}, deprecated.Uint32, value{bits: minus}, "4294967295"},
		{int64s, 0, &meta.IntType{BitWidth: 64}, deprecated.Uint64, value{bits: minus}, "18446744073709551615"},
		{int64s, 0, &meta.IntType{BitWidth: 64, IsSigned: true}, deprecated.Int64, value{bits: minus}, "-1"},
		{int32s, 0, &meta.TimeType{Unit: millis}, deprecated.TimeMillis, value{bits: 45_296_789}, "12:34:56.789"},
		{int64s, 0, &meta.TimeType{Unit: micros, IsAdjustedToUTC: true}, deprecated.TimeMicros, value{bits: 45_296_000_100}, "12:34:56.0001"},
		{int64s, 0, &meta.TimeType{Unit: nanos}, nil, value{bits: 1}, "00:00:00.000000001"},
		{int64s, 0, &meta.TimeType{Unit: nanos}, nil, value{bits: 86_399_000_000_000}, "23:59:59"},
		{int64s, 0, &meta.TimestampType{Unit: millis}, deprecated.TimestampMillis, value{bits: minus}, "-1000"},
		{int64s, 0, &meta.TimestampType{Unit: micros}, deprecated.TimestampMicros, value{bits: minus}, "-1"},
		{int64s, 0, &meta.TimestampType{Unit: nanos}, nil, value{bits: minus}, "-1"},
		{int32s, 0, &meta.DateType{}, deprecated.Date, value{bits: minus}, "1969-12-31"},
		{int64s, 0, &meta.DateType{}, deprecated.Date, value{bits: 7}, "7"},
		{int32s, 0, &meta.DecimalType{Scale: 2, Precision: 4}, deprecated.Decimal, value{bits: minus}, "-0.01"},
		{int64s, 0, &meta.DecimalType{Scale: 2, Precision: 4}, deprecated.Decimal, value{bits: 12345}, "123.45"},
		{fixed, 2, &meta.DecimalType{Scale: 2, Precision: 4}, deprecated.Decimal, raw(0xff, 0), "-2.56"},
		{arrays, 0, &meta.DecimalType{Scale: 2, Precision: 4}, deprecated.Decimal, raw(5), "0.05"},
		{arrays, 0, &meta.DecimalType{Scale: 2, Precision: 4}, deprecated.Decimal, raw(), "error"},
		{fixed, 16, &meta.UUIDType{}, nil, raw(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), "00010203-0405-0607-0809-0a0b0c0d0e0f"},
		{arrays, 0, &meta.UUIDType{}, nil, raw('u'), "u"},
		{fixed, 2, &meta.Float16Type{}, nil, raw(0, 0x3e), "1.5"},
		{fixed, 12, nil, deprecated.Interval, raw(1, 0, 0, 0, 2, 0, 0, 0, 0xac, 0x0d, 0, 0), "P1M2DT3.5S"},
		{fixed, 12, nil, deprecated.Interval, raw(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), "PT0S"},
		{fixed, 12, nil, deprecated.Interval, raw(14, 0, 0, 0, 0, 0, 0, 0, 0x60, 0xea, 0, 0), "P14MT60S"},
		{arrays, 0, nil, deprecated.UTF8, raw('a'), "a"},
		{meta.Int96, 0, nil, nil, raw(0, 0x60, 0xb9, 0xc7, 0x6e, 0xe2, 0xff, 0xff, 0xa8, 0xab, 0xb0, 0xf9), "9089380393200000000"}, // 290000-12-30T23:00 by Spark
	} {
		elements := []meta.SchemaElement{{Type: thrift.New(test.kind), TypeLength: thrift.New(test.length), LogicalType: meta.LogicalType{Value: test.as}}}
		if older, ok := test.older.(deprecated.ConvertedType); ok {
			e := meta.SchemaElement{Type: thrift.New(test.kind), TypeLength: thrift.New(test.length), ConvertedType: thrift.New(older)}
			if d, ok := test.as.(*meta.DecimalType); ok {
				e.Scale = thrift.New(d.Scale)
			}
			elements = append(elements, e)
		}
		for i := range elements {
			if e := &elements[i]; e.LogicalType.Value == nil && i == 0 && test.older != nil {
				continue
			}
			text, err := floats(cells.Value.String).textOf(&elements[i])
			if err != nil {
				t.Fatal(err)
			}
			got, err := text(test.v)
			if err != nil {
				got = "error"
			}
			if got != test.want {
				t.Errorf("%s as %v, %v: %v is %q, want %q", test.kind, test.as, test.older, test.v, got, test.want)
			}
		}
	}
	for _, scale := range []int32{-1, math.MaxInt32} {
		e := meta.SchemaElement{Type: thrift.New(int32s), LogicalType: meta.LogicalType{Value: &meta.DecimalType{Scale: scale}}}
		if _, err := floats(cells.Value.String).textOf(&e); err == nil {
			t.Errorf("decimals of scale %d", scale)
		}
	}
}
