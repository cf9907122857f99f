package tuple

import "bytes"

// A Descending is an element that sorts in the reverse order: with Desc(day) in it, the keys
// of the newest day come first. It sorts after all elements of other types.
//
// FoundationDB's layer has no such element. Its type code, 40, is one of those that the layer
// leaves to users, so other bindings refuse a key with it.
type Descending struct{ Element any }

// Desc is an element of any other type, nil and Tuple included, in descending order.
func Desc(element any) Descending { return Descending{element} }

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
