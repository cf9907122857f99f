package value

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/smolwc/smolwc/cells"
)

// AppendRecord appends values without arrays, maps and structs, from which [ReadRecord]
// makes them again. A FLOAT32 becomes a FLOAT64.
func AppendRecord(dst []byte, values []any) []byte {
	for _, v := range values {
		switch v := v.(type) {
		case float32, float64: // AppendKey makes all NaN equal, and 0 and -0
			dst = binary.BigEndian.AppendUint64(append(dst, 4), math.Float64bits(ToFloat(v)))
		case Interval: // and intervals of 30 days and a month
			dst = appendInterval(append(dst, 13), v)
		default:
			dst = AppendKey(dst, v)
		}
	}
	return dst
}

var errRecord = errors.New("a record of a materialized view is damaged")

// ReadRecord reads the values of a record. They do not refer to it.
func ReadRecord(b []byte) (values []any, err error) {
	for len(b) > 0 {
		v, n := readValue(b[0], b[1:])
		if n < 0 {
			return nil, errRecord
		}
		values, b = append(values, v), b[1+n:]
	}
	return values, nil
}

// readValue reads the value after a tag, and returns its size; -1 if it is damaged.
func readValue(tag byte, b []byte) (v any, n int) {
	const none = math.MaxInt // arrays, structs and others
	size := [...]int{0, 0, 0, 8, 8, 1, 8, 4, none, none, none, 8, 16, 16, 0}
	if int(tag) >= len(size) || len(b) < size[tag] {
		return nil, -1
	}
	switch n = size[tag]; tag {
	case 1, 2, 14:
		length, m := binary.Uvarint(b)
		if m <= 0 || uint64(len(b)-m) < length {
			return nil, -1
		}
		switch n = m + int(length); tag {
		case 2:
			return string(b[m:n]), n
		case 14:
			return JSON(b[m:n]), n
		}
		return append([]byte{}, b[m:n]...), n
	case 3:
		return int64(binary.BigEndian.Uint64(b)), n
	case 4:
		return math.Float64frombits(binary.BigEndian.Uint64(b)), n
	case 5:
		return b[0] != 0, n
	case 6:
		return cells.Timestamp(binary.BigEndian.Uint64(b)), n
	case 7:
		return Date(int32(binary.BigEndian.Uint32(b))), n
	case 11:
		return Datetime(binary.BigEndian.Uint64(b)), n
	case 12:
		return numericFrom(b), n
	case 13:
		return intervalFrom(b), n
	}
	return nil, n
}
