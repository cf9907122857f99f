package wire

import (
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"
)

// Text is the bytes of a request as a string, without a copy. Nothing changes a request.
func Text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// Bytes is a text as bytes of a message, without a copy. Nothing may change them.
func Bytes(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// A Field is one field of a message as it came over the wire.
type Field struct {
	Number  protowire.Number
	Kind    protowire.Type
	Varint  uint64
	Content []byte // of a field with a length
}

// EachField calls do for each field of a message until do returns false. It reports
// whether it came to the end: a field that is neither a varint nor of a given length
// ends it too.
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

// nextField is the first field, and its length, which is negative when there is
// no field.
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
