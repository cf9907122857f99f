package value

import (
	"encoding/binary"
	"math"
	"strings"

	"github.com/smolwc/smolwc/cells"
)

// RowKey is the row key of values, which sorts as they do. One BYTES or STRING is the key
// itself. Otherwise the values are encoded as Bigtable's ordered code bytes of a struct.
// ok is false if a value is NULL, or the key would be empty.
func RowKey(values []any) (key string, ok bool) {
	fields := make([]string, len(values))
	last := 0 // the number of fields up to the last that is not empty
	for i, v := range values {
		if v == nil {
			return "", false
		}
		if fields[i] = string(appendField(nil, v)); fields[i] != "" {
			last = i + 1
		}
	}
	if len(fields) == 1 && isText(values[0]) {
		return fields[0], fields[0] != ""
	}
	if last == 0 {
		return "\x00\x00", true
	}
	return joinFields(fields[:last]), true
}

// RowKeyPrefix is the beginning of every row key of these values and more. ok is false if
// there is no such beginning.
func RowKeyPrefix(values []any) (prefix string, ok bool) {
	fields := make([]string, len(values))
	for i, v := range values {
		if v == nil {
			return "", false
		}
		fields[i] = string(appendField(nil, v))
	}
	return joinFields(fields), fields[len(fields)-1] != ""
}

func joinFields(fields []string) string {
	var b strings.Builder
	for i, f := range fields {
		if i > 0 {
			b.WriteString("\x00\x01")
		}
		if f == "" {
			f = "\x00\x00"
		} else {
			f = strings.ReplaceAll(f, "\x00", "\x00\xff")
		}
		b.WriteString(f)
	}
	return b.String()
}

func isText(v any) bool {
	switch v.(type) {
	case []byte, string:
		return true
	}
	return false
}

// appendField appends the sorted encoding of a value.
func appendField(dst []byte, v any) []byte {
	switch v := v.(type) {
	case []byte:
		return append(dst, v...)
	case string:
		return append(dst, v...)
	case int64:
		return appendOrdered(dst, v)
	case cells.Timestamp:
		return appendOrdered(dst, int64(v))
	case bool:
		return appendOrdered(dst, boolInt(v))
	case float64:
		bits := math.Float64bits(v + 0) // -0 + 0 is 0
		if math.IsNaN(v) {
			bits = math.MaxUint64 // all NaN are one, before the other numbers
		}
		if bits>>63 == 0 {
			bits |= 1 << 63
		} else {
			bits = ^bits
		}
		return binary.BigEndian.AppendUint64(dst, bits)
	}
	return AppendKey(dst, v)
}

// appendOrdered appends a number in as few bytes as its size takes: the leading bits that
// are 1, or 0 for a negative number, say how many bytes there are.
func appendOrdered(dst []byte, x int64) []byte {
	if x >= -64 && x < 64 {
		return append(dst, byte(x)^0x80)
	}
	negative := x < 0
	if negative {
		x = ^x
	}
	var buf [10]byte
	n, i := 1, 9
	for ; x > 0; x >>= 8 {
		buf[i] = byte(x)
		n, i = n+1, i-1
	}
	full := n > 7 // a whole byte of ones comes first
	if full {
		n -= 7
	}
	if buf[i+1] < 1<<(8-n) { // the ones fit into the first byte of the number
		n, i = n-1, i+1
	}
	buf[i] |= ^byte(0xff >> n)
	if full {
		i--
		buf[i] = 0xff
	}
	if negative {
		for j := i; j < len(buf); j++ {
			buf[j] = ^buf[j]
		}
	}
	return append(dst, buf[i:]...)
}

// CellBytes is a value as the cell of a materialized view stores it, in Bigtable's
// encoding; nil for NULL, which is not stored.
func CellBytes(v any) []byte {
	switch v := v.(type) {
	case []byte:
		return append([]byte{}, v...)
	case string:
		return []byte(v)
	case int64:
		return binary.BigEndian.AppendUint64(nil, uint64(v))
	case cells.Timestamp:
		return binary.BigEndian.AppendUint64(nil, uint64(v))
	case float64:
		return binary.BigEndian.AppendUint64(nil, math.Float64bits(v))
	case bool:
		return []byte{byte(boolInt(v))}
	}
	return nil
}
