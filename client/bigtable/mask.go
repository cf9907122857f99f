package bigtable

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/smolwc/smolwc/cells"
)

// A Mask replaces the values of columns before they are written. It changes neither row
// keys, columns and timestamps nor the number of cells.
type Mask struct {
	// Family and Qualifier name the columns; * stands for any bytes.
	Family, Qualifier string
	Method            Method
}

// A Method is how a mask makes the new value. All keep the type of the value, and the same
// value gives the same new one under the same key, in every column and table.
type Method string

// The methods.
const (
	// Hash replaces text and bytes by 32 hexadecimal digits of their HMAC-SHA256, and
	// a number by one of its bits.
	Hash Method = "hash"
	// Null replaces text and bytes by none, a number by 0, and a bool by false.
	Null Method = "null"
	// Fake replaces each letter and each digit of a text by another one, and each digit of
	// a number. Bytes that are no text become other bytes; eight of them count as a
	// big-endian integer.
	Fake Method = "fake"
)

// ParseMask reads FAMILY:QUALIFIER=METHOD.
func ParseMask(text string) (Mask, error) {
	at := strings.LastIndexByte(text, '=')
	family, qualifier, ok := strings.Cut(text[:max(at, 0)], ":")
	if !ok || family == "" {
		return Mask{}, fmt.Errorf("the mask %q is not FAMILY:QUALIFIER=METHOD, as in pii:*=hash", text)
	}
	m := Mask{family, qualifier, Method(text[at+1:])}
	if !slices.Contains([]Method{Hash, Null, Fake}, m.Method) {
		return m, fmt.Errorf("the mask %q has the method %q; there are hash, null and fake", text, m.Method)
	}
	return m, nil
}

func (m Mask) String() string { return m.Family + ":" + m.Qualifier + "=" + string(m.Method) }

// matches reports whether a pattern, in which * stands for any bytes, is all of a text.
func matches(pattern, text string) bool {
	first, rest, star := strings.Cut(pattern, "*")
	text, ok := strings.CutPrefix(text, first)
	if !ok || !star {
		return ok && text == ""
	}
	for part, more, star := strings.Cut(rest, "*"); ; part, more, star = strings.Cut(more, "*") {
		if !star {
			return strings.HasSuffix(text, part)
		}
		at := strings.Index(text, part)
		if at < 0 {
			return false
		}
		text = text[at+len(part):]
	}
}

// A masker makes new values under a key. It is safe for concurrent use.
type masker struct{ key []byte }

// value is the new value. It shares no memory with v.
func (k masker) value(v cells.Value, by Method) cells.Value {
	switch v.Type() {
	case cells.TypeBytes:
		b, _ := v.AsBytes()
		return cells.Bytes(k.bytes(b, by))
	case cells.TypeString:
		s, _ := v.AsString()
		if by == Fake {
			return cells.String(string(fakeText([]byte(s), k.random([]byte(s)))))
		}
		return cells.String(string(k.bytes([]byte(s), by)))
	case cells.TypeBool:
		t, _ := v.AsBool()
		seed := k.seed(by, strconv.AppendBool(nil, t))
		return cells.Bool(by != Null && seed[0]&1 == 1)
	case cells.TypeF32:
		f, _ := v.AsF32()
		return cells.F32(float32(k.float(float64(f), by, 32)))
	case cells.TypeF64:
		f, _ := v.AsF64()
		return cells.F64(k.float(f, by, 64))
	}
	n, _ := v.Int()
	masked, _ := cells.Integer(v.Type(), k.integer(n, by, v.Type()))
	return masked
}

// seed depends on the key, the method and the value only.
func (k masker) seed(by Method, value []byte) (seed [sha256.Size]byte) {
	h := hmac.New(sha256.New, k.key)
	_, _ = h.Write(append([]byte(by), 0)) // a hash takes all
	_, _ = h.Write(value)
	h.Sum(seed[:0])
	return seed
}

// fingerprint tells two keys apart, and nothing about them.
func (k masker) fingerprint() string {
	seed := k.seed("key", nil)
	return hex.EncodeToString(seed[:8])
}

// bytes is a new value of bytes, which may be a text.
func (k masker) bytes(b []byte, by Method) []byte {
	switch {
	case by == Null || len(b) == 0:
		return nil
	case by == Hash:
		seed := k.seed(by, b)
		return hex.AppendEncode(nil, seed[:16])
	case isText(b):
		return fakeText(b, k.random(b))
	case len(b) == 8:
		n := k.integer(int64(binary.BigEndian.Uint64(b)), by, cells.TypeI64)
		return binary.BigEndian.AppendUint64(nil, uint64(n))
	}
	out, r := make([]byte, len(b)), k.random(b)
	for i := range out {
		out[i] = byte(r.Uint32())
	}
	return out
}

func (k masker) random(value []byte) *rand.Rand {
	return rand.New(rand.NewChaCha8(k.seed(Fake, value)))
}

// integer is a new integer of a type; a fake one has the sign and the number of digits.
func (k masker) integer(n int64, by Method, of cells.Type) int64 {
	if by == Null {
		return 0
	}
	b := binary.BigEndian.AppendUint64(nil, uint64(n))
	if by == Hash {
		seed := k.seed(by, b)
		bits := binary.BigEndian.Uint64(seed[:])
		switch of {
		case cells.TypeByte:
			return int64(uint8(bits))
		case cells.TypeI32:
			return int64(int32(bits))
		}
		return int64(bits)
	}
	r := k.random(b)
	least, most := of.Bounds()
	size, largest := uint64(n), uint64(most)
	lowest, above := uint64(0), uint64(10)
	if n < 0 {
		size, largest = -size, -uint64(least)
		lowest = 1
	}
	for above <= size {
		lowest, above = above, above*10
	}
	fake := lowest + r.Uint64N(min(above, largest+1)-lowest)
	if n < 0 {
		return int64(-fake)
	}
	return int64(fake)
}

// float is a new number of 32 or 64 bits; a fake one has the sign and the size.
func (k masker) float(f float64, by Method, bits int) float64 {
	b := binary.BigEndian.AppendUint64(nil, math.Float64bits(f))
	switch {
	case by == Null:
		return 0
	case by == Hash:
		seed := k.seed(by, b)
		return float64(binary.BigEndian.Uint32(seed[:]))
	case math.IsNaN(f) || math.IsInf(f, 0) || f == 0:
		return f
	}
	fake, err := strconv.ParseFloat(string(fakeDigits(strconv.AppendFloat(nil, f, 'e', -1, bits), k.random(b))), bits)
	if err != nil && bits == 32 { // it is a number, but too large
		return math.Copysign(math.MaxFloat32, f)
	}
	if err != nil {
		return math.Copysign(math.MaxFloat64, f)
	}
	return fake
}

// fakeDigits replaces the digits before the exponent; the first one stays above 0.
func fakeDigits(text []byte, r *rand.Rand) []byte {
	first := true
	for i, c := range text {
		switch {
		case c == 'e':
			return text
		case c >= '0' && c <= '9' && first:
			text[i], first = byte('1'+r.IntN(9)), false
		case c >= '0' && c <= '9':
			text[i] = byte('0' + r.IntN(10))
		}
	}
	return text
}

// isText reports whether bytes are UTF-8 without control characters but the white ones.
func isText(b []byte) bool {
	for len(b) > 0 {
		c, n := utf8.DecodeRune(b)
		if c == utf8.RuneError && n == 1 || unicode.IsControl(c) && !unicode.IsSpace(c) {
			return false
		}
		b = b[n:]
	}
	return true
}

// fakeText replaces letters by letters and digits by digits of the same length in bytes.
// Marks, and letters and digits of more than a byte, become letters of that length.
// Everything else stays.
func fakeText(b []byte, r *rand.Rand) []byte {
	out := make([]byte, 0, len(b))
	for len(b) > 0 {
		c, n := utf8.DecodeRune(b)
		switch {
		case c >= '0' && c <= '9':
			c = '0' + rune(r.IntN(10))
		case c >= 'a' && c <= 'z':
			c = 'a' + rune(r.IntN(26))
		case c >= 'A' && c <= 'Z':
			c = 'A' + rune(r.IntN(26))
		case n > 1 && (unicode.IsLetter(c) || unicode.IsNumber(c) || unicode.IsMark(c)):
			letters := manyByteLetters[n]
			c = letters[0] + rune(r.IntN(int(letters[1]-letters[0])+1))
		}
		out = utf8.AppendRune(out, c)
		b = b[n:]
	}
	return out
}

// manyByteLetters are ranges of letters by their length in bytes: Latin, CJK, CJK of
// extension B.
var manyByteLetters = [5][2]rune{2: {'à', 'ö'}, 3: {'一', '鿿'}, 4: {0x20000, 0x2a6df}}
