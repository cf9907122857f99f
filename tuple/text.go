package tuple

import (
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
)

// String writes the tuple as ("plane", "N223AG", 42), so that tuples with
// different keys read differently. Elements are written as:
//
//	nil                  null
//	x'00ff'              bytes, in hexadecimal
//	"N223AG"             string, with the escapes \\ \" \n \r \t \xNN \uNNNN
//	("a", 1)             tuple
//	42                   integer
//	1.5f32, f32(inf)     float32; f32'7f800001' is a NaN given by its bits
//	1.5, -2.0, 1e+100    float64, never without point or exponent
//	inf, -inf, nan       float64; f64'7ff0000000000001' is another NaN
//	true, false          bool
//	uuid'6ba7b810-…'     UUID
//	versionstamp'01…'    versionstamp, its 12 bytes in hexadecimal
//	desc(42)             descending element
//
// An element that cannot be packed is written as !type.
func (t Tuple) String() string {
	elems := make([]string, len(t))
	for i, elem := range t {
		elems[i] = text(elem)
	}
	return "(" + strings.Join(elems, ", ") + ")"
}

func text(elem any) string {
	switch v := elem.(type) {
	case nil:
		return "nil"
	case []byte:
		return "x'" + hex.EncodeToString(v) + "'"
	case string:
		return quote(v)
	case Tuple:
		return v.String()
	case float32:
		return float32Text(v)
	case float64:
		return float64Text(v)
	case bool:
		return strconv.FormatBool(v)
	case uuid.UUID:
		return "uuid'" + v.String() + "'"
	case Versionstamp:
		return v.String()
	case Descending:
		return "desc(" + text(v.Element) + ")"
	}
	if n, ok := toInteger(elem); ok {
		return n.String()
	}
	return fmt.Sprintf("!%T", elem)
}

func float32Text(f float32) string {
	bits := math.Float32bits(f)
	switch {
	case f != f && bits != math.Float32bits(float32(math.NaN())):
		return fmt.Sprintf("f32'%08x'", bits)
	case f != f, math.IsInf(float64(f), 0):
		return "f32(" + number(float64(f), 32) + ")"
	default:
		return number(float64(f), 32) + "f32"
	}
}

func float64Text(f float64) string {
	bits := math.Float64bits(f)
	if f != f && bits != math.Float64bits(math.NaN()) {
		return fmt.Sprintf("f64'%016x'", bits)
	}
	return number(f, 64)
}

// number writes the shortest decimal that reads back as f and does not look
// like an integer.
func number(f float64, bitSize int) string {
	switch {
	case f != f:
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	s := strconv.FormatFloat(f, 'g', -1, bitSize)
	if strings.ContainsAny(s, ".e") {
		return s
	}
	return s + ".0"
}

func excerpt(s string) string {
	const enough = 64
	if len(s) <= enough {
		return quote(s)
	}
	return quote(s[:enough]) + "…"
}

// quote writes s in double quotes. Bytes that are not UTF-8, and ASCII control
// characters, become \xNN; other unprintable characters up to U+FFFF \uNNNN.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && size == 1 {
			fmt.Fprintf(&b, `\x%02x`, s[0])
		} else {
			b.WriteString(quoteRune(r))
		}
		s = s[size:]
	}
	b.WriteByte('"')
	return b.String()
}

func quoteRune(r rune) string {
	switch {
	case r == '"', r == '\\':
		return `\` + string(r)
	case r == '\n':
		return `\n`
	case r == '\r':
		return `\r`
	case r == '\t':
		return `\t`
	case r < utf8.RuneSelf && !strconv.IsPrint(r):
		return fmt.Sprintf(`\x%02x`, r)
	case r <= 0xFFFF && !strconv.IsPrint(r):
		return fmt.Sprintf(`\u%04x`, r)
	default:
		return string(r)
	}
}
