package rowkey

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/sql/value"
)

// A code is how a value of a field is written as bytes.
type code struct {
	kind   value.Kind
	number numberCode
}

type numberCode uint8

const (
	noNumber numberCode = iota
	bigEndian
	orderedNumber
)

func codeOf(k value.Kind, orderedCode bool) code {
	switch {
	case k != value.TypeInt64 && k != value.TypeTimestamp:
		return code{kind: k}
	case orderedCode:
		return code{k, orderedNumber}
	}
	return code{k, bigEndian}
}

// length is the number of bytes of the number that s begins with, 0 for a code whose
// values have no length of their own.
func (c code) length(s string) int {
	switch c.number {
	case bigEndian:
		return 8
	case orderedNumber:
		return max(orderedLength(s), 1)
	}
	return 0
}

func (c code) decode(s string) (any, bool) {
	var n int64
	switch c.number {
	case bigEndian:
		if len(s) != 8 {
			return nil, false
		}
		n = int64(binary.BigEndian.Uint64([]byte(s)))
	case orderedNumber:
		var ok bool
		if n, ok = readOrdered(s); !ok {
			return nil, false
		}
	}
	switch c.kind {
	case value.TypeString:
		return s, utf8.ValidString(s)
	case value.TypeBytes:
		return []byte(s), true
	case value.TypeInt64:
		return n, true
	case value.TypeTimestamp:
		ts, err := value.TimestampOf(cells.Timestamp(n).Time())
		return ts, err == nil
	}
	return nil, false
}

// encode is the bytes of a value; ok is false for a value of another type.
func (c code) encode(v any) (s string, ok bool) {
	var n int64
	switch v := v.(type) {
	case string:
		return v, c.kind == value.TypeString
	case []byte:
		return string(v), c.kind == value.TypeBytes
	case int64:
		n, ok = v, c.kind == value.TypeInt64
	case cells.Timestamp:
		n, ok = int64(v), c.kind == value.TypeTimestamp
	}
	if c.number == orderedNumber {
		return appendOrdered(n), ok
	}
	return string(binary.BigEndian.AppendUint64(nil, uint64(n))), ok
}

// appendOrdered writes a number in the ordered code of Google's libraries: the first
// bits count the bytes, and small numbers have few.
// https://github.com/google/orderedcode
func appendOrdered(n int64) string {
	magnitude := uint64(n ^ n>>63)
	length := bits.Len64(magnitude)/7 + 1
	sign := byte(n >> 63)
	all := binary.BigEndian.AppendUint64([]byte{sign, sign}, uint64(n))[10-length:]
	header := ^uint16(0) << (16 - length)
	all[0] ^= byte(header >> 8)
	if length > 1 {
		all[1] ^= byte(header)
	}
	return string(all)
}

// orderedLength is the length of the number that s begins with.
func orderedLength(s string) int {
	var first [2]byte
	copy(first[:], s)
	header := binary.BigEndian.Uint16(first[:])
	if header>>15 == 0 { // the bits of a negative number are inverted
		header = ^header
	}
	return min(bits.LeadingZeros16(^header), 10)
}

func readOrdered(s string) (int64, bool) {
	length := orderedLength(s)
	if s == "" || len(s) != length {
		return 0, false
	}
	all := make([]byte, 10)
	if s[0]>>7 == 0 {
		for i := range all {
			all[i] = 0xff
		}
	}
	copy(all[10-length:], s)
	header := ^uint16(0) << (16 - length)
	all[10-length] ^= byte(header >> 8)
	if length > 1 {
		all[11-length] ^= byte(header)
	}
	n := int64(binary.BigEndian.Uint64(all[2:]))
	return n, appendOrdered(n) == s
}
