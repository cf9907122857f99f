package cells_test

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"errors"
	"math"
	"testing"
	"unsafe"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/cells"
)

// anyValue draws a value of any type, edge cases included.
func anyValue() *rapid.Generator[cells.Value] {
	return rapid.OneOf(
		rapid.Map(rapid.SliceOf(rapid.Byte()), cells.Bytes),
		rapid.Map(rapid.String(), cells.String),
		rapid.Map(rapid.Bool(), cells.Bool),
		rapid.Map(rapid.Byte(), cells.Byte),
		rapid.Map(rapid.Int32(), cells.I32),
		rapid.Map(rapid.Int64(), cells.I64),
		rapid.Map(rapid.Uint32(), func(b uint32) cells.Value { return cells.F32(math.Float32frombits(b)) }),
		rapid.Map(rapid.Uint64(), func(b uint64) cells.Value { return cells.F64(math.Float64frombits(b)) }),
	)
}

func TestEncodingRoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := anyValue().Draw(t, "value")
		enc := cells.AppendValue(nil, v)
		if len(enc) != v.EncodedLen() {
			t.Fatalf("EncodedLen %d, encoding has %d bytes", v.EncodedLen(), len(enc))
		}
		got, err := cells.DecodeValue(enc)
		if err != nil || !got.Equal(v) || got.Type() != v.Type() {
			t.Fatalf("decode(%x) = %v, %v; want %v", enc, got, err, v)
		}
	})
}

func TestEncodingIsTheDocumentedOne(t *testing.T) {
	for _, c := range []struct {
		v    cells.Value
		want string
	}{
		{cells.Bytes([]byte{0, 0xff}), "0100ff"},
		{cells.String("é"), "02c3a9"},
		{cells.String(""), "02"},
		{cells.Bool(true), "0301"},
		{cells.Byte(255), "04ff"},
		{cells.I32(-7), "05fffffff9"},
		{cells.I64(51_000_000), "06000000000" + "30a32c0"},
		{cells.F32(1.5), "073fc00000"},
		{cells.F64(-0.5), "08bfe0000000000000"},
	} {
		if got := hex.EncodeToString(cells.AppendValue(nil, c.v)); got != c.want {
			t.Errorf("%s %v: encoded %s, want %s", c.v.Type(), c.v, got, c.want)
		}
	}
}

func TestMalformedEncodingsAreErrors(t *testing.T) {
	for _, in := range []string{"", "00", "09", "ff00", "02ff", "02eda080", "03", "0302", "030101", "04", "05000000", "0500000000ff", "06", "07000000", "0800"} {
		b, err := hex.DecodeString(in)
		if err != nil {
			t.Fatal(err)
		}
		if v, err := cells.DecodeValue(b); !errors.Is(err, cells.ErrEncoding) {
			t.Errorf("decode(%s) = %v, %v; want ErrEncoding", in, v, err)
		}
	}
}

func TestValueIsThreeWords(t *testing.T) {
	if got := unsafe.Sizeof(cells.Value{}); got != 24 {
		t.Errorf("a Value takes %d bytes", got)
	}
	if n := testing.AllocsPerRun(100, func() {
		v := cells.I64(1 << 40)
		if _, ok := v.AsI64(); !ok {
			t.Fatal("not an i64")
		}
	}); n != 0 {
		t.Errorf("a number allocates %v times", n)
	}
}

func TestAccessorsAnswerOnlyForTheirType(t *testing.T) {
	v := cells.I32(-1)
	if n, ok := v.AsI32(); n != -1 || !ok {
		t.Error("AsI32 of an i32", n, ok)
	}
	if _, ok := v.AsI64(); ok {
		t.Error("AsI64 of an i32 is ok")
	}
	if _, ok := v.AsString(); ok {
		t.Error("AsString of an i32 is ok")
	}
	if s, ok := cells.String("x").AsString(); s != "x" || !ok {
		t.Error("AsString", s, ok)
	}
	if b, ok := cells.Bytes([]byte("x")).AsBytes(); !bytes.Equal(b, []byte("x")) || !ok {
		t.Error("AsBytes", b, ok)
	}
}

func TestCompareNumbersIsExact(t *testing.T) {
	big := int64(1)<<53 + 1
	for _, c := range []struct {
		a, b  cells.Value
		order int
		ok    bool
	}{
		{cells.I32(3), cells.I64(3), 0, true},
		{cells.I64(big), cells.F64(1 << 53), 1, true},
		{cells.F64(1 << 53), cells.I64(big), -1, true},
		{cells.I64(math.MaxInt64), cells.F64(1 << 63), -1, true},
		{cells.I64(math.MinInt64), cells.F64(-1 << 63), 0, true},
		{cells.Byte(2), cells.F32(2.5), -1, true},
		{cells.I64(-2), cells.F64(-2.5), 1, true},
		{cells.I64(0), cells.F64(math.Inf(-1)), 1, true},
		{cells.F64(math.NaN()), cells.I64(0), 0, false},
		{cells.String("b"), cells.String("a"), 1, true},
		{cells.String("1"), cells.I64(1), 0, false},
		{cells.Bool(false), cells.Bool(true), -1, true},
	} {
		if order, ok := cells.Compare(c.a, c.b); order != c.order || ok != c.ok {
			t.Errorf("compare(%s %v, %s %v) = %d, %v; want %d, %v", c.a.Type(), c.a, c.b.Type(), c.b, order, ok, c.order, c.ok)
		}
	}
}

// Order is a total order, agrees with Compare, and has no value first and NaN before all
// other numbers.
func TestOrderIsTotal(t *testing.T) {
	values := []cells.Value{{}, cells.F64(math.NaN()), cells.F64(-math.NaN()), cells.F32(float32(math.NaN())), cells.F64(math.Inf(-1)), cells.F64(math.Copysign(0, -1)), cells.F64(0), cells.I64(0), cells.I64(1<<53 + 1), cells.F64(1 << 53)}
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.OneOf(rapid.SampledFrom(values), anyValue())
		a, b, c := value.Draw(t, "a"), value.Draw(t, "b"), value.Draw(t, "c")
		if order, ok := cells.Compare(a, b); ok && cells.Order(a, b) != order {
			t.Fatalf("%v and %v: %d, but they compare as %d", a, b, cells.Order(a, b), order)
		}
		if cells.Order(a, b) != -cells.Order(b, a) || cells.Order(a, a) != 0 {
			t.Fatalf("%v and %v are in both orders", a, b)
		}
		if cells.Order(a, b) <= 0 && cells.Order(b, c) <= 0 && (cells.Order(a, c) > 0 || cells.Order(a, c) == 0 && cells.Order(a, b) != 0) {
			t.Fatalf("%v, %v, %v", a, b, c)
		}
	})
	ascending := []cells.Value{{}, cells.F32(float32(math.NaN())), cells.F64(math.Inf(-1)), cells.I32(-1), cells.F64(0), cells.Byte(1), cells.F64(math.Inf(1)), cells.Bytes(nil), cells.Bytes([]byte("a")), cells.String("")}
	for i, v := range ascending {
		for j, w := range ascending {
			if got, want := cells.Order(v, w), cmp.Compare(i, j); got != want && v.Type() != cells.TypeString && w.Type() != cells.TypeString {
				t.Errorf("%v and %v: %d, want %d", v, w, got, want)
			}
		}
	}
	if cells.Order(cells.F64(math.Copysign(0, -1)), cells.F64(0)) != 0 || cells.Order(cells.F64(math.NaN()), cells.F32(float32(-math.NaN()))) != 0 {
		t.Error("both zeros, and all NaNs, are equal")
	}
}

func TestTimestampBounds(t *testing.T) {
	for _, ts := range []cells.Timestamp{0, 1, cells.MaxTimestamp} {
		if err := ts.Check(); err != nil {
			t.Errorf("%d: %v", ts, err)
		}
	}
	for _, ts := range []cells.Timestamp{-1, math.MinInt64} {
		if ts.Check() == nil {
			t.Errorf("%d: no error", ts)
		}
	}
}

func TestTimestampUntil(t *testing.T) {
	for ts, want := range map[cells.Timestamp]cells.Timestamp{0: 1, 1 << 62: 1<<62 + 1, cells.MaxTimestamp - 1: cells.MaxTimestamp, cells.MaxTimestamp: 0} {
		if got := ts.Until(); got != want {
			t.Errorf("the range up to %d ends before %d, want %d", ts, got, want)
		}
	}
}

func FuzzDecodeValue(f *testing.F) {
	for _, seed := range []string{"", "\x01abc", "\x02\xc3\xa9", "\x03\x01", "\x05\x00\x00\x00\x01", "\x09"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := cells.DecodeValue(b)
		if err != nil {
			return
		}
		if again := cells.AppendValue(nil, v); !bytes.Equal(again, b) {
			t.Fatalf("%x decodes to %v, which encodes to %x", b, v, again)
		}
	})
}

func TestIntegers(t *testing.T) {
	for _, c := range []struct {
		typ cells.Type
		n   int64
		ok  bool
	}{
		{cells.TypeByte, 0, true}, {cells.TypeByte, 255, true}, {cells.TypeByte, 256, false}, {cells.TypeByte, -1, false},
		{cells.TypeI32, math.MinInt32, true}, {cells.TypeI32, math.MaxInt32, true}, {cells.TypeI32, math.MaxInt32 + 1, false},
		{cells.TypeI64, math.MinInt64, true}, {cells.TypeI64, math.MaxInt64, true},
		{cells.TypeF64, 0, false}, {cells.TypeBytes, 0, false}, {cells.TypeAny, 0, false},
	} {
		v, ok := cells.Integer(c.typ, c.n)
		if n, isInt := v.Int(); ok != c.ok || ok && (n != c.n || !isInt || v.Type() != c.typ) {
			t.Errorf("%d as %s: %v, %t", c.n, c.typ, v, ok)
		}
	}
}

// remade is the value that the constructor of a Go type makes.
func remade(x any) cells.Value {
	switch x := x.(type) {
	case []byte:
		return cells.Bytes(x)
	case string:
		return cells.String(x)
	case bool:
		return cells.Bool(x)
	case byte:
		return cells.Byte(x)
	case int32:
		return cells.I32(x)
	case int64:
		return cells.I64(x)
	case float32:
		return cells.F32(x)
	case float64:
		return cells.F64(x)
	}
	return cells.Value{}
}

// Any gives what the constructor has taken.
func TestAnyIsWhatTheConstructorTakes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := anyValue().Draw(t, "value")
		if got := remade(v.Any()); got.Type() != v.Type() || !got.Equal(v) {
			t.Fatalf("%v %v: %T makes %v %v", v.Type(), v, v.Any(), got.Type(), got)
		}
	})
	if x := (cells.Value{}).Any(); x != nil {
		t.Errorf("the zero Value is %v", x)
	}
}
