package wire

import (
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"
)

// Text is bytes of a request as a string. Nothing changes a request.
func Text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// A Field is one of a message as it came over the wire.
type Field struct {
	Number  protowire.Number
	Kind    protowire.Type
	Varint  uint64
	Content []byte // of a field with a length
}

// EachField goes through the fields of a message for as long as do says so. It is
// false when do was, or when there is a field of another kind than these two.
func EachField(b []byte, do func(Field) bool) bool {
	for len(b) > 0 {
		f, n := nextField(b)
		if n < 0 || !do(f) {
			return false
		}
		b = b[n:]
	}
	return true
}

// nextField is the first field, and its length, less than 0 when there is none.
func nextField(b []byte) (f Field, n int) {
	number, kind, n := protowire.ConsumeTag(b)
	if n < 0 {
		return f, n
	}
	f.Number, f.Kind = number, kind
	size := -1
	switch kind {
	case protowire.BytesType:
		f.Content, size = protowire.ConsumeBytes(b[n:])
	case protowire.VarintType:
		f.Varint, size = protowire.ConsumeVarint(b[n:])
	}
	if size < 0 {
		return f, size
	}
	return f, n + size
}
