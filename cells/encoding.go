package cells

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf8"
	"unsafe"
)

// ErrEncoding is the error, found with errors.Is, of bytes that are not the
// encoding of any value.
var ErrEncoding = errors.New("malformed value")

// payloadLen is the length in bytes of a type's payload, -1 where it varies.
// Indexed by Type; docs/format.md shows each.
var payloadLen = [...]int{TypeAny: 0, TypeBytes: -1, TypeString: -1, TypeBool: 1, TypeByte: 1, TypeI32: 4, TypeI64: 8, TypeF32: 4, TypeF64: 8}

// Check returns an error when the value cannot be written: it is untyped, or a
// string that is not valid UTF-8.
func (v Value) Check() error {
	if !v.typ.Valid() {
		return errors.New("value has no type; make it with cells.String, cells.I64, …")
	}
	if v.typ == TypeString && !utf8.ValidString(v.text()) {
		return fmt.Errorf("string %q is not valid UTF-8; write it as bytes", v.text())
	}
	return nil
}

// AppendValue appends the encoding of v to dst: the tag byte, then the
// payload; numbers are big-endian, signed integers in two's complement, floats
// as IEEE 754 bits. The value must satisfy [Value.Check].
func AppendValue(dst []byte, v Value) []byte {
	dst = append(dst, byte(v.typ))
	switch v.typ {
	case TypeAny:
		return dst
	case TypeBytes, TypeString:
		return append(dst, v.text()...)
	case TypeBool, TypeByte:
		return append(dst, byte(v.num))
	case TypeI32, TypeF32:
		return binary.BigEndian.AppendUint32(dst, uint32(v.num))
	}
	return binary.BigEndian.AppendUint64(dst, v.num)
}

// EncodedLen is the number of bytes that AppendValue appends.
func (v Value) EncodedLen() int {
	if n := payloadLen[v.typ]; n >= 0 {
		return 1 + n
	}
	return 1 + int(v.num)
}

// CheckEncoding returns an error that matches [ErrEncoding] unless b is the
// encoding of a value: an unknown tag, a payload too short or too long, a bool
// that is neither 0 nor 1, a string that is not UTF-8.
func CheckEncoding(b []byte) error {
	if len(b) == 0 {
		return fmt.Errorf("%w: no tag byte", ErrEncoding)
	}
	t := Type(b[0])
	switch {
	case t == TypeBytes:
		return nil
	case t == TypeString:
		if !utf8.Valid(b[1:]) {
			return fmt.Errorf("%w: string is not valid UTF-8", ErrEncoding)
		}
		return nil
	case !t.Valid():
		return fmt.Errorf("%w: unknown tag 0x%02x", ErrEncoding, b[0])
	case len(b)-1 != payloadLen[t]:
		return fmt.Errorf("%w: %s has %d payload bytes, want %d", ErrEncoding, t, len(b)-1, payloadLen[t])
	case t == TypeBool && b[1] > 1:
		return fmt.Errorf("%w: bool has payload 0x%02x, want 00 or 01", ErrEncoding, b[1])
	}
	return nil
}

// DecodeValue decodes the bytes that AppendValue wrote. A string or bytes value
// refers to b, which must not change afterwards. The error matches [ErrEncoding].
func DecodeValue(b []byte) (Value, error) {
	if err := CheckEncoding(b); err != nil {
		return Value{}, err
	}
	return DecodeChecked(b), nil
}

// DecodeChecked is DecodeValue for bytes that have passed [CheckEncoding]; for other
// bytes it may panic.
func DecodeChecked(b []byte) Value {
	v := Value{typ: Type(b[0])}
	switch v.typ {
	case TypeAny: // AppendValue's encoding of the zero Value
	case TypeBytes, TypeString:
		v.ptr, v.num = unsafe.SliceData(b[1:]), uint64(len(b)-1)
	case TypeBool, TypeByte:
		v.num = uint64(b[1])
	case TypeI32:
		v.num = uint64(int64(int32(binary.BigEndian.Uint32(b[1:]))))
	case TypeF32:
		v.num = uint64(binary.BigEndian.Uint32(b[1:]))
	default:
		v.num = binary.BigEndian.Uint64(b[1:])
	}
	return v
}
