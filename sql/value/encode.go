package value

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/smolwc/smolwc/cells"
)

// Append appends a value in a form that [Cut] reads. The form is for the memory and the files
// of one query: it is not kept.
func Append(dst []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(dst, 0), nil
	case []byte:
		return append(binary.AppendUvarint(append(dst, 1), uint64(len(v))), v...), nil
	case string:
		return append(binary.AppendUvarint(append(dst, 2), uint64(len(v))), v...), nil
	case int64:
		return binary.AppendVarint(append(dst, 3), v), nil
	case float64:
		return binary.BigEndian.AppendUint64(append(dst, 4), math.Float64bits(v)), nil
	case bool:
		return append(dst, 5, byte(boolInt(v))), nil
	case cells.Timestamp:
		return binary.AppendVarint(append(dst, 6), int64(v)), nil
	case Date:
		return binary.AppendVarint(append(dst, 7), int64(v)), nil
	case Datetime:
		return binary.AppendVarint(append(dst, 12), int64(v)), nil
	case Numeric:
		return appendNumeric(append(dst, 13), v), nil
	case Interval:
		return appendInterval(append(dst, 14), v), nil
	case JSON:
		return append(binary.AppendUvarint(append(dst, 15), uint64(len(v))), v...), nil
	case Array:
		return appendList(append(dst, 8), v)
	case Struct:
		return appendList(append(dst, 9), v)
	case float32:
		return binary.BigEndian.AppendUint32(append(dst, 11), math.Float32bits(v)), nil
	case Map:
		dst = binary.AppendUvarint(append(dst, 10), uint64(len(v)))
		for _, e := range v {
			var err error
			dst = append(binary.AppendUvarint(dst, uint64(len(e.Qualifier))), e.Qualifier...)
			if dst, err = Append(dst, e.Value); err != nil {
				return nil, err
			}
		}
		return dst, nil
	}
	return nil, fmt.Errorf("a %T cannot be written to a file", v)
}

func appendList(dst []byte, list []any) (_ []byte, err error) {
	dst = binary.AppendUvarint(dst, uint64(len(list)))
	for _, v := range list {
		if dst, err = Append(dst, v); err != nil {
			return nil, err
		}
	}
	return dst, nil
}

// errCut is the error of bytes that Append did not make.
var errCut = errors.New("a temporary file of the query is damaged")

// Cut reads the first value of the bytes, and returns the bytes after it. The value does not
// share the bytes.
func Cut(b []byte) (v any, rest []byte, err error) {
	if len(b) == 0 {
		return nil, nil, errCut
	}
	kind, b := b[0], b[1:]
	switch kind {
	case 0:
		return nil, b, nil
	case 1, 2, 15:
		text, rest, err := cutText(b)
		switch kind {
		case 1:
			return append([]byte{}, text...), rest, err
		case 15:
			return JSON(text), rest, err
		}
		return string(text), rest, err
	case 3, 6, 7, 12:
		n, size := binary.Varint(b)
		if size <= 0 {
			return nil, nil, errCut
		}
		switch b = b[size:]; kind { // one interface is made, and not four
		case 6:
			return cells.Timestamp(n), b, nil
		case 7:
			return Date(n), b, nil
		case 12:
			return Datetime(n), b, nil
		}
		return n, b, nil
	case 4:
		if len(b) < 8 {
			return nil, nil, errCut
		}
		return math.Float64frombits(binary.BigEndian.Uint64(b)), b[8:], nil
	case 5:
		if len(b) < 1 {
			return nil, nil, errCut
		}
		return b[0] == 1, b[1:], nil
	case 8:
		list, rest, err := cutList(b)
		return Array(list), rest, err
	case 9:
		list, rest, err := cutList(b)
		return Struct(list), rest, err
	case 10:
		return cutMap(b)
	case 11:
		if len(b) < 4 {
			return nil, nil, errCut
		}
		return math.Float32frombits(binary.BigEndian.Uint32(b)), b[4:], nil
	case 13, 14:
		if len(b) < 16 {
			return nil, nil, errCut
		}
		if kind == 13 {
			return numericFrom(b), b[16:], nil
		}
		return intervalFrom(b), b[16:], nil
	}
	return nil, nil, errCut
}

// Skip returns the bytes after the first value.
func Skip(b []byte) (rest []byte, err error) {
	if len(b) == 0 {
		return nil, errCut
	}
	size := 1
	switch b[0] {
	case 0:
	case 1, 2, 15:
		_, rest, err := cutText(b[1:])
		return rest, err
	case 3, 6, 7, 12:
		_, n := binary.Varint(b[1:])
		if n <= 0 {
			return nil, errCut
		}
		size += n
	case 4:
		size += 8
	default:
		_, rest, err := Cut(b)
		return rest, err
	}
	if len(b) < size {
		return nil, errCut
	}
	return b[size:], nil
}

// A NUMERIC and an INTERVAL are 16 bytes each.
func appendNumeric(dst []byte, n Numeric) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(dst, uint64(n.high)), n.low)
}

func numericFrom(b []byte) Numeric {
	return Numeric{int64(binary.BigEndian.Uint64(b)), binary.BigEndian.Uint64(b[8:])}
}

func appendInterval(dst []byte, i Interval) []byte {
	dst = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(dst, uint32(i.Months)), uint32(i.Days))
	return binary.BigEndian.AppendUint64(dst, uint64(i.Micros))
}

func intervalFrom(b []byte) Interval {
	return Interval{int32(binary.BigEndian.Uint32(b)), int32(binary.BigEndian.Uint32(b[4:])), int64(binary.BigEndian.Uint64(b[8:]))}
}

func cutText(b []byte) (text, rest []byte, err error) {
	n, size := binary.Uvarint(b)
	if size <= 0 || n > uint64(len(b)-size) {
		return nil, nil, errCut
	}
	end := size + int(n)
	return b[size:end:end], b[end:], nil
}

func cutList(b []byte) (list []any, rest []byte, err error) {
	n, size := binary.Uvarint(b)
	if size <= 0 || n > uint64(len(b)-size) { // each element takes a byte
		return nil, nil, errCut
	}
	b = b[size:]
	list = make([]any, n)
	for i := range list {
		if list[i], b, err = Cut(b); err != nil {
			return nil, nil, err
		}
	}
	return list, b, nil
}

func cutMap(b []byte) (v any, rest []byte, err error) {
	n, size := binary.Uvarint(b)
	if size <= 0 || n > uint64(len(b)-size) {
		return nil, nil, errCut
	}
	b = b[size:]
	m := make(Map, n)
	for i := range m {
		var name []byte
		if name, b, err = cutText(b); err != nil {
			return nil, nil, err
		}
		m[i].Qualifier = string(name)
		if m[i].Value, b, err = Cut(b); err != nil {
			return nil, nil, err
		}
	}
	return m, b, nil
}
