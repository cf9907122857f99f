package tuple

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/bits"
	"strconv"
)

// An integer is an integer element whatever its Go type. Zero is not negative.
type integer struct {
	negative  bool
	magnitude uint64   // when big is nil
	big       *big.Int // signed; set only when the magnitude takes more than 64 bits
}

// toInteger returns false when elem is not an integer, or is a nil *big.Int.
func toInteger(elem any) (integer, bool) {
	switch n := elem.(type) {
	case int:
		return signed(int64(n)), true
	case int8:
		return signed(int64(n)), true
	case int16:
		return signed(int64(n)), true
	case int32:
		return signed(int64(n)), true
	case int64:
		return signed(n), true
	case uint:
		return integer{magnitude: uint64(n)}, true
	case uint8:
		return integer{magnitude: uint64(n)}, true
	case uint16:
		return integer{magnitude: uint64(n)}, true
	case uint32:
		return integer{magnitude: uint64(n)}, true
	case uint64:
		return integer{magnitude: n}, true
	case *big.Int:
		return fromBig(n), n != nil
	case big.Int:
		return fromBig(&n), true
	}
	return integer{}, false
}

// signed computes the magnitude in unsigned arithmetic: the magnitude of -2^63
// does not fit an int64.
func signed(n int64) integer {
	if n < 0 {
		return integer{negative: true, magnitude: -uint64(n)}
	}
	return integer{magnitude: uint64(n)}
}

func fromBig(n *big.Int) integer {
	switch {
	case n == nil:
		return integer{}
	case n.BitLen() > 64:
		return integer{negative: n.Sign() < 0, big: n}
	case n.Sign() < 0:
		return integer{negative: true, magnitude: new(big.Int).Neg(n).Uint64()}
	default:
		return integer{magnitude: n.Uint64()}
	}
}

// element is an integer of up to 64 bits, in the Go type that Unpack promises.
func (n integer) element() any {
	switch {
	case !n.negative && n.magnitude <= math.MaxInt64:
		return int64(n.magnitude)
	case !n.negative:
		return n.magnitude
	case n.magnitude <= 1<<63:
		return int64(-n.magnitude)
	default:
		b := new(big.Int).SetUint64(n.magnitude)
		return b.Neg(b)
	}
}

func (n integer) String() string {
	switch {
	case n.big != nil:
		return n.big.String()
	case n.negative:
		return "-" + strconv.FormatUint(n.magnitude, 10)
	default:
		return strconv.FormatUint(n.magnitude, 10)
	}
}

// appendInteger appends the shortest encoding of n.
func appendInteger(dst []byte, n integer) ([]byte, error) {
	if n.big != nil {
		return appendBig(dst, n)
	}
	size := byteLen(bits.Len64(n.magnitude))
	code, payload := codeZero+size, n.magnitude
	if n.negative {
		code, payload = codeZero-size, ^n.magnitude
	}
	var word [8]byte
	binary.BigEndian.PutUint64(word[:], payload)
	dst = append(dst, byte(code))
	return append(dst, word[8-size:]...), nil
}

// appendBig appends an integer whose magnitude takes more than 8 bytes.
func appendBig(dst []byte, n integer) ([]byte, error) {
	size := byteLen(n.big.BitLen())
	if size > MaxIntBytes {
		return nil, unpackable("integer of %d bytes is longer than %d", size, MaxIntBytes)
	}
	start := len(dst)
	dst = append(dst, codeBigPositive, byte(size))
	dst = append(dst, make([]byte, size)...)
	n.big.FillBytes(dst[start+2:])
	if n.negative {
		dst[start] = codeBigNegative
		invert(dst[start+1:])
	}
	return dst, nil
}

func byteLen(bitLen int) int { return (bitLen + 7) / 8 }

func invert(b []byte) {
	for i := range b {
		b[i] = ^b[i]
	}
}
