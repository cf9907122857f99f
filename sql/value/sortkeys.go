package value

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"github.com/smolwc/smolwc/cells"
)

// AppendSortKey appends bytes that bytes.Compare orders as ORDER BY orders the values: those of
// [Order], or the reverse if desc is set, and NULL first, or last if nullsLast is set. The bytes
// of one value are never the beginning of those of another one, so that several values, one after
// the other, are ordered by the first that differs. Values must be of one type, as in a column.
func AppendSortKey(dst []byte, v any, desc, nullsLast bool) []byte {
	switch {
	case v == nil && nullsLast:
		return append(dst, 0xff)
	case v == nil:
		return append(dst, 0)
	}
	start := len(dst)
	if dst = appendSorted(dst, v); desc {
		for i, b := range dst[start:] {
			dst[start+i] = ^b
		}
	}
	return dst
}

// The first byte of a value: NULL is less than NaN, and NaN than others.
const (
	sortedNull  = 0
	sortedNaN   = 1
	sortedValue = 0x80
)

// appendSorted appends the key of a value in ascending order. Each type has its line here.
func appendSorted(dst []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(dst, sortedNull)
	case []byte, string:
		return appendSortedText(dst, TextOf(v))
	case int64:
		return appendOrdered(append(dst, sortedValue), v)
	case float32, float64:
		return appendSortedFloat(dst, ToFloat(v))
	case bool:
		return appendOrdered(append(dst, sortedValue), boolInt(v))
	case cells.Timestamp:
		return appendOrdered(append(dst, sortedValue), int64(v))
	case Date:
		return appendOrdered(append(dst, sortedValue), int64(v))
	case Datetime:
		return appendOrdered(append(dst, sortedValue), int64(v))
	case Numeric:
		dst = appendOrdered(append(dst, sortedValue), v.high)
		return binary.BigEndian.AppendUint64(dst, v.low)
	case Interval:
		return appendOrdered(append(dst, sortedValue), v.Total())
	case Array:
		return appendSortedList(dst, v)
	case Struct:
		return appendSortedList(dst, v)
	}
	return appendSortedText(dst, fmt.Sprint(v)) // no other type is sorted
}

func appendSortedFloat(dst []byte, f float64) []byte {
	if math.IsNaN(f) {
		return append(dst, sortedNaN)
	}
	u := math.Float64bits(f + 0) // -0 + 0 is 0
	if int64(u) < 0 {
		u = ^u
	} else {
		u |= 1 << 63
	}
	return binary.BigEndian.AppendUint64(append(dst, sortedValue), u)
}

// appendSortedText ends a text with two zeros; a zero within it is followed by 0xff.
func appendSortedText(dst []byte, s string) []byte {
	dst = append(dst, sortedValue)
	for {
		zero := strings.IndexByte(s, 0)
		if zero < 0 {
			return append(append(dst, s...), 0, 0)
		}
		dst = append(append(dst, s[:zero]...), 0, 0xff)
		s = s[zero+1:]
	}
}

// appendSortedList puts 1 before each element, and 0 after the last.
func appendSortedList(dst []byte, list []any) []byte {
	dst = append(dst, sortedValue)
	for _, v := range list {
		dst = appendSorted(append(dst, 1), v)
	}
	return append(dst, 0)
}
