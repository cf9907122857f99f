package tuple

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"unicode/utf8"

	"github.com/google/uuid"
)

// appendTuple appends the elements of t, which is nested in depth other tuples. The
// error is nil or a *PackError whose path starts at t.
func (o Options) appendTuple(dst []byte, t Tuple, depth int) ([]byte, error) {
	for i, elem := range t {
		var err error
		if dst, err = o.appendElement(dst, elem, depth); err != nil {
			return nil, at(i, err)
		}
	}
	return dst, nil
}

// at puts the index of an element in front of the path to a fault inside it.
func at(index int, err error) error {
	fault := err.(*PackError)
	return &PackError{Path: append([]int{index}, fault.Path...), Reason: fault.Reason}
}

func unpackable(format string, args ...any) error {
	return &PackError{Reason: fmt.Sprintf(format, args...)}
}

func (o Options) appendElement(dst []byte, elem any, depth int) ([]byte, error) {
	switch v := elem.(type) {
	case nil:
		return appendNull(dst, depth), nil
	case []byte:
		return AppendBytes(dst, v), nil
	case string:
		return o.appendString(dst, v)
	case Tuple:
		return o.appendNested(dst, v, depth+1)
	case float32:
		dst = append(dst, codeFloat32)
		return binary.BigEndian.AppendUint32(dst, sortable32(v)), nil
	case float64:
		dst = append(dst, codeFloat64)
		return binary.BigEndian.AppendUint64(dst, sortable64(v)), nil
	case bool:
		if v {
			return append(dst, codeTrue), nil
		}
		return append(dst, codeFalse), nil
	case uuid.UUID:
		return append(append(dst, codeUUID), v[:]...), nil
	case Versionstamp:
		return appendVersionstamp(dst, v)
	case Descending:
		return o.appendDescending(dst, v, depth+1)
	}
	if n, ok := toInteger(elem); ok {
		return appendInteger(dst, n)
	}
	if n, ok := elem.(*big.Int); ok && n == nil {
		return nil, unpackable("*big.Int is nil")
	}
	return nil, unpackable("type %T has no packed form", elem)
}

// appendNull appends a null. In a nested tuple an FF distinguishes it from the tuple's
// terminator.
func appendNull(dst []byte, depth int) []byte {
	if depth == 0 {
		return append(dst, codeNull)
	}
	return append(dst, codeNull, escape)
}

func (o Options) appendString(dst []byte, s string) ([]byte, error) {
	if !o.AnyStrings && !utf8.ValidString(s) {
		return nil, unpackable("string is not valid UTF-8: %s", excerpt(s))
	}
	return appendEscaped(append(dst, codeString), []byte(s)), nil
}

func (o Options) appendNested(dst []byte, t Tuple, depth int) ([]byte, error) {
	if depth > MaxDepth {
		return nil, unpackable("tuples are nested more than %d deep", MaxDepth)
	}
	dst, err := o.appendTuple(append(dst, codeNested), t, depth)
	if err != nil {
		return nil, err
	}
	return append(dst, terminator), nil
}

func appendVersionstamp(dst []byte, v Versionstamp) ([]byte, error) {
	if !v.Complete() {
		return nil, unpackable("versionstamp is incomplete")
	}
	dst = append(dst, codeVersionstamp)
	dst = append(dst, v.TransactionVersion[:]...)
	return binary.BigEndian.AppendUint16(dst, v.UserVersion), nil
}

// appendDescending appends the complement of the element and of one 00. With that 00 no
// element is the beginning of another one, as 61 00 would be of 61 00 FF 62 00, so that the
// complements are in reverse order whatever follows them.
func (o Options) appendDescending(dst []byte, v Descending, depth int) ([]byte, error) {
	if depth > MaxDepth {
		return nil, unpackable("tuples are nested more than %d deep", MaxDepth)
	}
	begin := len(dst) + 1
	dst, err := o.appendElement(append(dst, codeDescending), v.Element, depth)
	if err != nil {
		return nil, err
	}
	dst = append(dst, terminator)
	invert(dst[begin:])
	return dst, nil
}

const (
	sign32 = 1 << 31
	sign64 = 1 << 63
)

// sortable32 maps a float to a number of the same rank: negative floats have
// all bits flipped, the others only the sign bit. The order is total, from
// the NaNs with a sign, -inf, …, -0, +0, … to +inf and the NaNs without.
func sortable32(f float32) uint32 {
	bits := math.Float32bits(f)
	if bits&sign32 != 0 {
		return ^bits
	}
	return bits | sign32
}

func unsortable32(rank uint32) float32 {
	if rank&sign32 != 0 {
		return math.Float32frombits(rank &^ sign32)
	}
	return math.Float32frombits(^rank)
}

// sortable64 is sortable32 for float64.
func sortable64(f float64) uint64 {
	bits := math.Float64bits(f)
	if bits&sign64 != 0 {
		return ^bits
	}
	return bits | sign64
}

func unsortable64(rank uint64) float64 {
	if rank&sign64 != 0 {
		return math.Float64frombits(rank &^ sign64)
	}
	return math.Float64frombits(^rank)
}
