// Package fields takes apart bytes that were put together field by field.
package fields

import "encoding/binary"

// A Reader reads fields from Rest. When Rest is too short or damaged it sets Bad, empties
// Rest, and gives zeros from then on. What it gives shares the memory of Rest.
type Reader struct {
	Rest []byte
	Bad  bool
}

func (r *Reader) fail() { r.Rest, r.Bad = nil, true }

// Uvarint reads a number as [binary.AppendUvarint] writes it.
func (r *Reader) Uvarint() uint64 {
	v, n := binary.Uvarint(r.Rest)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.Rest = r.Rest[n:]
	return v
}

// Take reads n bytes.
func (r *Reader) Take(n uint64) []byte {
	if n > uint64(len(r.Rest)) {
		r.fail()
	}
	if r.Bad {
		return nil
	}
	b := r.Rest[:n:n]
	r.Rest = r.Rest[n:]
	return b
}

// Text reads a number with Uvarint, and as many bytes.
func (r *Reader) Text() []byte { return r.Take(r.Uvarint()) }

// Byte reads a byte.
func (r *Reader) Byte() byte {
	if b := r.Take(1); !r.Bad {
		return b[0]
	}
	return 0
}

// Uint32 reads four bytes, the most significant first.
func (r *Reader) Uint32() uint32 {
	if b := r.Take(4); !r.Bad {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

// Uint64 reads eight bytes, the most significant first.
func (r *Reader) Uint64() uint64 {
	if b := r.Take(8); !r.Bad {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}
