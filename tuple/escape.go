package tuple

import "bytes"

// AppendBytes appends b to dst as one packed element, 01 esc(b) 00, and returns the
// extended slice: AppendBytes(nil, b) equals MustPack(b). It is the fast way to build
// keys out of nothing but byte strings. b must not overlap the spare capacity of dst.
//
// Without its last byte the element is a prefix of exactly those elements whose bytes
// start with b. With it, the element is a prefix not only of keys that go on with
// another element, but also, followed by FF, of keys whose element continues b with a
// 00: 01 61 00 begins 01 61 00 FF 00. Keys of the first kind lie in [element, element +
// FF): read that range for only the keys of b.
func AppendBytes(dst, b []byte) []byte {
	return appendEscaped(append(dst, codeBytes), b)
}

// DecodeBytes is the inverse of [AppendBytes]: it splits b into the value of
// the byte string element at its beginning, and the bytes after that element.
// It returns a [*DecodeError] when b does not start with such an element.
//
// To be fast, value and rest share memory with b: rest always, value unless it
// holds a 00. The capacity of value is its length, so appending to it is safe.
func DecodeBytes(b []byte) (value, rest []byte, err error) {
	if len(b) == 0 || b[0] != codeBytes {
		return nil, nil, &DecodeError{Reason: "no byte string element"}
	}
	value, n, ok := unescape(b[1:])
	if !ok {
		return nil, nil, &DecodeError{Reason: "byte string is not terminated"}
	}
	return value, b[1+n:], nil
}

// appendEscaped appends b with every 00 followed by an FF, then the terminator.
func appendEscaped(dst, b []byte) []byte {
	for {
		zero := bytes.IndexByte(b, terminator)
		if zero < 0 {
			dst = append(dst, b...)
			return append(dst, terminator)
		}
		dst = append(dst, b[:zero+1]...)
		dst = append(dst, escape)
		b = b[zero+1:]
	}
}

// unescape reads the bytes that appendEscaped wrote at the beginning of b. It
// returns the value and the number of bytes read, terminator included; or false
// when the terminator is missing. The value aliases b unless it holds a 00.
func unescape(b []byte) (value []byte, n int, ok bool) {
	start := 0 // of the bytes not yet in value
	for {
		zero := bytes.IndexByte(b[n:], terminator)
		if zero < 0 {
			return nil, 0, false
		}
		end := n + zero
		if n = end + 1; n < len(b) && b[n] == escape {
			value = append(value, b[start:end+1]...)
			n++
			start = n
			continue
		}
		if start == 0 {
			return b[:end:end], n, true
		}
		return append(value, b[start:end]...), n, true
	}
}
