package value

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/smolwc/smolwc/cells"
)

// AppendKey appends bytes that are equal for values that GROUP BY and DISTINCT treat
// as equal: all NaN are, as are 0 and -0, and NULLs, also within arrays and structs.
// https://cloud.google.com/bigquery/docs/reference/standard-sql/data-types#groupable_data_types
func AppendKey(dst []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(dst, 0)
	case []byte:
		return append(binary.AppendUvarint(append(dst, 1), uint64(len(v))), v...)
	case string:
		return append(binary.AppendUvarint(append(dst, 2), uint64(len(v))), v...)
	case int64:
		return binary.BigEndian.AppendUint64(append(dst, 3), uint64(v))
	case float32:
		return AppendKey(dst, float64(v))
	case float64:
		if math.IsNaN(v) {
			v = math.NaN()
		}
		return binary.BigEndian.AppendUint64(append(dst, 4), math.Float64bits(v+0)) // -0 + 0 is 0
	case bool:
		return append(dst, 5, byte(boolInt(v)))
	case cells.Timestamp:
		return binary.BigEndian.AppendUint64(append(dst, 6), uint64(v))
	case Date:
		return binary.BigEndian.AppendUint32(append(dst, 7), uint32(v))
	case Datetime:
		return binary.BigEndian.AppendUint64(append(dst, 11), uint64(v))
	case Numeric:
		return appendNumeric(append(dst, 12), v)
	case Interval: // those that = takes as equal are one
		return binary.BigEndian.AppendUint64(append(dst, 13), uint64(v.Total()))
	case JSON:
		return append(binary.AppendUvarint(append(dst, 14), uint64(len(v))), v...)
	case Array:
		return appendKeys(append(dst, 8), v)
	case Struct:
		return appendKeys(append(dst, 9), v)
	}
	return fmt.Appendf(append(dst, 10), "%v", v)
}

func appendKeys(dst []byte, list []any) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(list)))
	for _, v := range list {
		dst = AppendKey(dst, v)
	}
	return dst
}

// AppendCellKey is [AppendKey] of the value of a cell, nil for NULL.
func AppendCellKey(dst []byte, c *cells.Cell, as Kind) ([]byte, error) {
	if c == nil {
		return AppendKey(dst, nil), nil
	}
	switch as { // without an interface for the value, which takes memory
	case TypeString:
		if s, ok := c.Value.AsString(); ok {
			return append(binary.AppendUvarint(append(dst, 2), uint64(len(s))), s...), nil
		}
	case TypeBytes:
		if b, ok := c.Value.AsBytes(); ok {
			return append(binary.AppendUvarint(append(dst, 1), uint64(len(b))), b...), nil
		}
		if s, ok := c.Value.AsString(); ok { // of a family without a type
			return append(binary.AppendUvarint(append(dst, 1), uint64(len(s))), s...), nil
		}
	case TypeInt64:
		if n, ok := c.Value.Int(); ok {
			return binary.BigEndian.AppendUint64(append(dst, 3), uint64(n)), nil
		}
	}
	v, err := OfCell(c, as)
	return AppendKey(dst, v), err
}

// Clone copies a value, so that it does not keep the block of cells that it lies in.
func Clone(v any) any {
	switch v := v.(type) {
	case []byte:
		return append(make([]byte, 0, len(v)), v...)
	case string:
		return string(append([]byte(nil), v...))
	case JSON:
		return JSON(append([]byte(nil), v...))
	case Array:
		return Array(CloneAll(v))
	case Struct:
		return Struct(CloneAll(v))
	case Map:
		m := slices.Clone(v)
		for i := range m {
			m[i].Qualifier, m[i].Value = Clone(m[i].Qualifier).(string), Clone(m[i].Value)
		}
		return m
	}
	return v
}

// CloneAll copies values.
func CloneAll(vs []any) []any {
	all := make([]any, len(vs))
	for i, v := range vs {
		all[i] = Clone(v)
	}
	return all
}

// Size is about the memory of a value, in bytes.
func Size(v any) int {
	const word = 24
	n := word
	switch v := v.(type) {
	case []byte:
		n += len(v)
	case string:
		n += len(v)
	case JSON:
		n += len(v)
	case Array:
		for _, e := range v {
			n += Size(e)
		}
	case Struct:
		for _, e := range v {
			n += Size(e)
		}
	case Map:
		for _, e := range v {
			n += word + len(e.Qualifier) + Size(e.Value)
		}
	}
	return n
}
