package cells

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"strconv"
	"unsafe"
)

// A Value is one typed value. Numbers and booleans are held in place; strings and bytes
// are held by reference, without a copy. The zero Value is untyped and cannot be written.
//
// Values are compared with [Value.Equal] or [Compare], not with ==.
type Value struct {
	_   [0]func() // no ==
	num uint64    // the number's bits, or the length of the bytes at ptr
	ptr *byte     // string and bytes only
	typ Type
}

// Bytes is a value of type bytes. It keeps b: do not change b afterwards.
func Bytes(b []byte) Value {
	return Value{typ: TypeBytes, ptr: unsafe.SliceData(b), num: uint64(len(b))}
}

// String is a value of type string. A write refuses it unless it is valid UTF-8.
func String(s string) Value {
	return Value{typ: TypeString, ptr: unsafe.StringData(s), num: uint64(len(s))}
}

// Bool is a value of type bool.
func Bool(b bool) Value {
	v := Value{typ: TypeBool}
	if b {
		v.num = 1
	}
	return v
}

// Byte is a value of type byte.
func Byte(b byte) Value { return Value{typ: TypeByte, num: uint64(b)} }

// I32 is a value of type i32.
func I32(n int32) Value { return Value{typ: TypeI32, num: uint64(int64(n))} }

// I64 is a value of type i64.
func I64(n int64) Value { return Value{typ: TypeI64, num: uint64(n)} }

// Integer is a value of an integer type: byte, i32 or i64. ok is false for a number out
// of the type's range, and for other types.
func Integer(t Type, n int64) (v Value, ok bool) {
	if least, most := t.Bounds(); least == most || n < least || n > most {
		return Value{}, false
	}
	return Value{typ: t, num: uint64(n)}, true
}

// F32 is a value of type f32; the bits of a NaN are kept.
func F32(f float32) Value { return Value{typ: TypeF32, num: uint64(math.Float32bits(f))} }

// F64 is a value of type f64; the bits of a NaN are kept.
func F64(f float64) Value { return Value{typ: TypeF64, num: math.Float64bits(f)} }

// Type is the value's type, TypeAny for the zero Value.
func (v Value) Type() Type { return v.typ }

// AsBytes returns the bytes of a value of type bytes. They belong to the
// value: do not change them.
func (v Value) AsBytes() (b []byte, ok bool) {
	if v.typ != TypeBytes {
		return nil, false
	}
	return unsafe.Slice(v.ptr, v.num), true
}

// AsString returns the text of a value of type string.
func (v Value) AsString() (s string, ok bool) {
	if v.typ != TypeString {
		return "", false
	}
	return v.text(), true
}

// AsBool returns the truth of a value of type bool.
func (v Value) AsBool() (b, ok bool) { return v.typ == TypeBool && v.num == 1, v.typ == TypeBool }

// AsByte returns the number of a value of type byte.
func (v Value) AsByte() (b byte, ok bool) { return byte(v.num), v.typ == TypeByte }

// AsI32 returns the number of a value of type i32.
func (v Value) AsI32() (n int32, ok bool) { return int32(v.num), v.typ == TypeI32 }

// AsI64 returns the number of a value of type i64.
func (v Value) AsI64() (n int64, ok bool) { return int64(v.num), v.typ == TypeI64 }

// AsF32 returns the number of a value of type f32.
func (v Value) AsF32() (f float32, ok bool) {
	return math.Float32frombits(uint32(v.num)), v.typ == TypeF32
}

// AsF64 returns the number of a value of type f64.
func (v Value) AsF64() (f float64, ok bool) { return math.Float64frombits(v.num), v.typ == TypeF64 }

// Int returns the number of a value of type byte, i32 or i64.
func (v Value) Int() (n int64, ok bool) {
	switch v.typ {
	case TypeByte, TypeI32, TypeI64:
		return int64(v.num), true
	}
	return 0, false
}

// Float returns the number of a value of type f32 or f64.
func (v Value) Float() (f float64, ok bool) {
	switch v.typ {
	case TypeF32:
		return float64(math.Float32frombits(uint32(v.num))), true
	case TypeF64:
		return math.Float64frombits(v.num), true
	}
	return 0, false
}

// Any is the value as the Go type that its constructor takes: []byte, string, bool, byte,
// int32, int64, float32 or float64, as in [Bytes] and the others. It is nil for the zero
// Value. The bytes belong to the value: do not change them. The bits of a NaN are kept.
func (v Value) Any() any {
	switch v.typ {
	case TypeBytes:
		return unsafe.Slice(v.ptr, v.num)
	case TypeString:
		return v.text()
	case TypeBool:
		return v.num == 1
	case TypeByte:
		return byte(v.num)
	case TypeI32:
		return int32(v.num)
	case TypeI64:
		return int64(v.num)
	case TypeF32:
		return math.Float32frombits(uint32(v.num))
	case TypeF64:
		return math.Float64frombits(v.num)
	}
	return nil
}

// Len is the length in bytes of a string or bytes value, 0 for others.
func (v Value) Len() int {
	if v.typ == TypeString || v.typ == TypeBytes {
		return int(v.num)
	}
	return 0
}

// String is the value as text for messages and logs: numbers in decimal,
// strings as they are, bytes as Go would quote them.
func (v Value) String() string {
	switch v.typ {
	case TypeBytes:
		return strconv.Quote(v.text())
	case TypeString:
		return v.text()
	case TypeBool:
		return strconv.FormatBool(v.num == 1)
	case TypeByte, TypeI32, TypeI64:
		return strconv.FormatInt(int64(v.num), 10)
	case TypeF32:
		return strconv.FormatFloat(float64(math.Float32frombits(uint32(v.num))), 'g', -1, 32)
	case TypeF64:
		return strconv.FormatFloat(math.Float64frombits(v.num), 'g', -1, 64)
	}
	return fmt.Sprintf("value(%s)", v.typ)
}

// Equal reports whether v and w have the same type and the same encoding:
// NaNs of the same bits are equal, 0.0 and -0.0 are not.
func (v Value) Equal(w Value) bool {
	if v.typ != w.typ || v.num != w.num {
		return false
	}
	return v.ptr == w.ptr || v.text() == w.text()
}

// Compare orders two values and reports whether they can be ordered at all:
// numbers with numbers of any numeric type, by their exact value; otherwise
// only values of one type: strings and bytes bytewise, false before true. A
// NaN is comparable with nothing.
func Compare(v, w Value) (order int, ok bool) {
	if v.typ.Numeric() && w.typ.Numeric() {
		return compareNumbers(v, w)
	}
	if v.typ != w.typ {
		return 0, false
	}
	switch v.typ {
	case TypeString, TypeBytes:
		return bytes.Compare(unsafe.Slice(v.ptr, v.num), unsafe.Slice(w.ptr, w.num)), true
	case TypeBool:
		return cmp.Compare(v.num, w.num), true
	}
	return 0, false
}

// Order is a total order of all values, for sorting, groups and extremes: first the zero
// Value, which is no value, then numbers as [Compare] orders them, and then the other
// values by their types. All NaNs are equal, and less than every other number; -0.0 is
// equal to 0.0.
func Order(v, w Value) int {
	if order, ok := Compare(v, w); ok {
		return order
	}
	return cmp.Compare(rank(v), rank(w))
}

// rank orders values that cannot be compared with each other.
func rank(v Value) int {
	f, isFloat := v.Float()
	switch {
	case !v.typ.Valid():
		return -3
	case isFloat && f != f:
		return -2
	case v.typ.Numeric():
		return -1
	}
	return int(v.typ)
}

func compareNumbers(v, w Value) (int, bool) {
	a, aInt := v.Int()
	b, bInt := w.Int()
	switch {
	case aInt && bInt:
		return cmp.Compare(a, b), true
	case aInt:
		f, _ := w.Float()
		order, ok := compareIntFloat(a, f)
		return order, ok
	case bInt:
		f, _ := v.Float()
		order, ok := compareIntFloat(b, f)
		return -order, ok
	}
	x, _ := v.Float()
	y, _ := w.Float()
	if x != x || y != y {
		return 0, false
	}
	return cmp.Compare(x, y), true
}

// compareIntFloat compares without rounding n to a float, which would make
// 2^53 and 2^53+1 equal.
func compareIntFloat(n int64, f float64) (int, bool) {
	switch {
	case f != f:
		return 0, false
	case f >= 1<<63:
		return -1, true
	case f < -1<<63:
		return 1, true
	}
	whole, frac := math.Modf(f)
	if order := cmp.Compare(n, int64(whole)); order != 0 {
		return order, true
	}
	return cmp.Compare(0, frac), true
}

func (v Value) text() string { return unsafe.String(v.ptr, v.num) }
