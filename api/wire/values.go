package wire

import (
	"encoding/binary"
	"math"
	"unicode/utf8"
	"unsafe"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/schema"
)

// MaxRequest is the largest size of a message in bytes. Bigtable's clients send up to
// 256 MiB, and gRPC's own limit is 4 MiB.
const MaxRequest = 256 << 20

// A value of the API is bytes. In a family without a type they are stored as
// such; in one with a type they are its encoding in Bigtable, which has integers
// of eight bytes only: i32 and byte are Int64 too, of a smaller range.

// ValueOf makes a cell's value of the bytes that came for a family. It keeps b.
func ValueOf(f *schema.Family, qualifier, b []byte) (cells.Value, error) {
	switch f.Type {
	case cells.TypeAny, cells.TypeBytes:
		return cells.Bytes(b), nil
	case cells.TypeString:
		if !utf8.Valid(b) {
			return cells.Value{}, Invalid("%s:%q: the value is not valid UTF-8, and the family's type is string", f.Name, qualifier)
		}
		return cells.String(unsafe.String(unsafe.SliceData(b), len(b))), nil
	}
	want, ok := encodedLen[f.Type]
	if !ok {
		return cells.Value{}, Invalid("%s:%q: the value has the unknown type %d", f.Name, qualifier, uint8(f.Type))
	}
	if len(b) != want {
		return cells.Value{}, Invalid("%s:%q: the value has %d bytes; the family's type is %s, which has %d", f.Name, qualifier, len(b), f.Type, want)
	}
	switch f.Type {
	case cells.TypeBool:
		if b[0] > 1 {
			return cells.Value{}, Invalid("%s:%q: the value is 0x%02x; a bool is 0x00 or 0x01", f.Name, qualifier, b[0])
		}
		return cells.Bool(b[0] == 1), nil
	case cells.TypeF32:
		return cells.F32(math.Float32frombits(binary.BigEndian.Uint32(b))), nil
	case cells.TypeF64:
		return cells.F64(math.Float64frombits(binary.BigEndian.Uint64(b))), nil
	}
	n := int64(binary.BigEndian.Uint64(b))
	v, fits := cells.Integer(f.Type, n)
	if !fits {
		return v, Invalid("%s:%q: %d is out of the range of %s, the family's type", f.Name, qualifier, n, f.Type)
	}
	return v, nil
}

// encodedLen is how many bytes a value of a type takes in the API.
var encodedLen = map[cells.Type]int{
	cells.TypeBool: 1, cells.TypeF32: 4, cells.TypeF64: 8,
	cells.TypeByte: 8, cells.TypeI32: 8, cells.TypeI64: 8,
}

// AppendValue appends the bytes that clients get for a value.
func AppendValue(dst []byte, v cells.Value) []byte {
	switch v.Type() {
	case cells.TypeBytes:
		b, _ := v.AsBytes()
		return append(dst, b...)
	case cells.TypeString:
		s, _ := v.AsString()
		return append(dst, s...)
	case cells.TypeBool:
		if t, _ := v.AsBool(); t {
			return append(dst, 1)
		}
		return append(dst, 0)
	case cells.TypeF32:
		f, _ := v.AsF32()
		return binary.BigEndian.AppendUint32(dst, math.Float32bits(f))
	case cells.TypeF64:
		f, _ := v.AsF64()
		return binary.BigEndian.AppendUint64(dst, math.Float64bits(f))
	}
	n, _ := v.Int()
	return binary.BigEndian.AppendUint64(dst, uint64(n))
}

// ValueBytes is [AppendValue] without a copy of strings and bytes, which belong to
// the value. Other values are written to room.
func ValueBytes(v cells.Value, room *[8]byte) []byte {
	switch v.Type() {
	case cells.TypeBytes:
		b, _ := v.AsBytes()
		return b
	case cells.TypeString:
		s, _ := v.AsString()
		return Bytes(s)
	}
	return AppendValue(room[:0], v)
}
