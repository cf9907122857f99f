package tuple

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/big"
	"unicode/utf8"

	"github.com/google/uuid"
)

// A decoder reads packed elements off src, from pos on. Its methods return
// only *DecodeErrors.
type decoder struct {
	Options
	src        []byte
	complement []byte // of src, once it is needed
	pos        int
	depth      int // number of nested tuples and descending elements that pos is in
}

// tuple reads elements up to the end of src.
func (d *decoder) tuple() (Tuple, error) {
	t := Tuple{}
	for d.pos < len(d.src) {
		elem, err := d.element()
		if err != nil {
			return nil, err
		}
		t = append(t, elem)
	}
	return t, nil
}

// element reads one element. There is at least one byte to read.
func (d *decoder) element() (any, error) {
	start, code := d.pos, d.src[d.pos]
	d.pos++
	switch code {
	case codeNull:
		return nil, nil
	case codeBytes:
		return d.bytes(start)
	case codeString:
		return d.string(start)
	case codeNested:
		return d.nested(start)
	case codeBigNegative, codeBigPositive:
		return d.bigInteger(start)
	case codeFloat32, codeFloat64:
		return d.float(start)
	case codeFalse, codeTrue:
		return code == codeTrue, nil
	case codeUUID:
		return d.uuid(start)
	case codeVersionstamp:
		return d.versionstamp(start)
	case codeDescending:
		return d.descending(start)
	}
	if codeBigNegative < code && code < codeBigPositive {
		return d.integer(start)
	}
	return nil, fault(start, "unknown type code %#02x", code)
}

func fault(offset int, format string, args ...any) error {
	return &DecodeError{Offset: offset, Reason: fmt.Sprintf(format, args...)}
}

// take reads the n bytes of an element that began at start; what names the
// element in errors.
func (d *decoder) take(n, start int, what string) ([]byte, error) {
	if len(d.src)-d.pos < n {
		return nil, fault(start, "%s is cut short: %d bytes wanted, %d left", what, n, len(d.src)-d.pos)
	}
	d.pos += n
	return d.src[d.pos-n : d.pos], nil
}

// escaped reads escaped bytes. The result may alias src.
func (d *decoder) escaped(start int, what string) ([]byte, error) {
	value, n, ok := unescape(d.src[d.pos:])
	if !ok {
		return nil, fault(start, "%s is not terminated", what)
	}
	d.pos += n
	return value, nil
}

func (d *decoder) bytes(start int) (any, error) {
	value, err := d.escaped(start, "byte string")
	if err != nil {
		return nil, err
	}
	return bytes.Clone(value), nil
}

func (d *decoder) string(start int) (any, error) {
	value, err := d.escaped(start, "string")
	if err != nil {
		return nil, err
	}
	if !d.AnyStrings && !utf8.Valid(value) {
		return nil, fault(start, "string is not valid UTF-8: %s", excerpt(string(value)))
	}
	return string(value), nil
}

// nested reads elements up to a 00 without an FF after it; 00 FF is a null.
func (d *decoder) nested(start int) (any, error) {
	if d.depth == MaxDepth {
		return nil, fault(start, "tuples are nested more than %d deep", MaxDepth)
	}
	d.depth++
	t := Tuple{}
	for d.pos < len(d.src) {
		null := d.src[d.pos] == codeNull
		if null && !d.escapedNull() {
			d.pos++
			d.depth--
			return t, nil
		}
		elem, err := d.element()
		if err != nil {
			return nil, err
		}
		if null {
			d.pos++
		}
		t = append(t, elem)
	}
	return nil, fault(start, "nested tuple is not terminated")
}

// escapedNull reports whether the 00 at pos is followed by FF.
func (d *decoder) escapedNull() bool {
	return d.pos+1 < len(d.src) && d.src[d.pos+1] == escape
}

// integer reads an integer of 0 to 8 bytes; the type code gives their number.
func (d *decoder) integer(start int) (any, error) {
	size := int(d.src[start]) - codeZero
	negative := size < 0
	if negative {
		size = -size
	}
	payload, err := d.take(size, start, "integer")
	if err != nil {
		return nil, err
	}
	magnitude := magnitudeOf(payload, negative)
	if leadingZero(magnitude) {
		return nil, fault(start, "integer is longer than it needs to be")
	}
	var word [8]byte
	copy(word[8-size:], magnitude)
	return integer{negative: negative, magnitude: binary.BigEndian.Uint64(word[:])}.element(), nil
}

// bigInteger reads an integer of 9 to 255 bytes.
func (d *decoder) bigInteger(start int) (any, error) {
	negative := d.src[start] == codeBigNegative
	length, err := d.take(1, start, "length of integer")
	if err != nil {
		return nil, err
	}
	size := int(magnitudeOf(length, negative)[0])
	payload, err := d.take(size, start, "integer")
	if err != nil {
		return nil, err
	}
	magnitude := magnitudeOf(payload, negative)
	if size <= 8 || leadingZero(magnitude) {
		return nil, fault(start, "integer is longer than it needs to be")
	}
	n := new(big.Int).SetBytes(magnitude)
	if negative {
		n.Neg(n)
	}
	return n, nil
}

// magnitudeOf returns the payload of an integer, or a copy with the one's
// complement undone.
func magnitudeOf(payload []byte, negative bool) []byte {
	if !negative {
		return payload
	}
	magnitude := bytes.Clone(payload)
	invert(magnitude)
	return magnitude
}

func leadingZero(magnitude []byte) bool { return len(magnitude) > 0 && magnitude[0] == 0 }

func (d *decoder) float(start int) (any, error) {
	if d.src[start] == codeFloat32 {
		payload, err := d.take(4, start, "float32")
		if err != nil {
			return nil, err
		}
		return unsortable32(binary.BigEndian.Uint32(payload)), nil
	}
	payload, err := d.take(8, start, "float64")
	if err != nil {
		return nil, err
	}
	return unsortable64(binary.BigEndian.Uint64(payload)), nil
}

func (d *decoder) uuid(start int) (any, error) {
	payload, err := d.take(16, start, "UUID")
	if err != nil {
		return nil, err
	}
	return uuid.UUID(payload), nil
}

func (d *decoder) versionstamp(start int) (any, error) {
	payload, err := d.take(12, start, "versionstamp")
	if err != nil {
		return nil, err
	}
	v := Versionstamp{
		TransactionVersion: [10]byte(payload[:10]),
		UserVersion:        binary.BigEndian.Uint16(payload[10:]),
	}
	if !v.Complete() {
		return nil, fault(start, "versionstamp is incomplete")
	}
	return v, nil
}

// descending reads an element in the complement of src, which is made once: an element of a
// descending one of a descending one is in src again.
func (d *decoder) descending(start int) (any, error) {
	if d.depth == MaxDepth {
		return nil, fault(start, "tuples are nested more than %d deep", MaxDepth)
	}
	if d.complement == nil {
		d.complement = bytes.Clone(d.src)
		invert(d.complement)
	}
	in := decoder{Options: d.Options, src: d.complement, complement: d.src, pos: d.pos, depth: d.depth + 1}
	if d.pos == len(d.src) {
		return nil, fault(start, "descending element is cut short")
	}
	null := in.src[in.pos] == codeNull
	if null && !in.escapedNull() {
		return nil, fault(start, "descending element is empty")
	}
	elem, err := in.element()
	if err != nil {
		return nil, err
	}
	if null {
		in.pos++
	}
	if in.pos == len(in.src) || in.src[in.pos] != terminator {
		return nil, fault(start, "descending element is not terminated")
	}
	d.pos = in.pos + 1
	return Descending{elem}, nil
}
