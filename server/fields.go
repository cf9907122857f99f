package server

import (
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"
)

// text is bytes of a request as a string. Nothing changes a request.
func text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// A field is one of a message as it came over the wire.
type field struct {
	number  protowire.Number
	kind    protowire.Type
	varint  uint64
	content []byte // of a field with a length
}

// eachField goes through the fields of a message for as long as do says so. It is
// false when do was, or when there is a field of another kind than these two.
func eachField(b []byte, do func(field) bool) bool {
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
func nextField(b []byte) (f field, n int) {
	number, kind, n := protowire.ConsumeTag(b)
	if n < 0 {
		return f, n
	}
	f.number, f.kind = number, kind
	size := -1
	switch kind {
	case protowire.BytesType:
		f.content, size = protowire.ConsumeBytes(b[n:])
	case protowire.VarintType:
		f.varint, size = protowire.ConsumeVarint(b[n:])
	}
	if size < 0 {
		return f, size
	}
	return f, n + size
}
