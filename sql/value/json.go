package value

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/smolwc/smolwc/sql/parse"
)

// A JSON is a value of JSON as text in the one form that all values are written in: without spaces,
// the names of an object sorted by their bytes and each there once, and numbers as integers of 64
// bits or as FLOAT64. [ParseJSON] and [ToJSON] make it. It is UTF-8, up to [MaxJSON] bytes and
// [MaxJSONDepth] levels.
type JSON string

const (
	// MaxJSON bounds the bytes of a JSON, and of the text that one is read from.
	MaxJSON = 16 << 20
	// MaxJSONDepth bounds the arrays and objects around a value in a JSON.
	MaxJSONDepth = 500
)

// ParseJSON reads a text as PARSE_JSON does. Of members of an object with one name the first
// counts. A number that a JSON does not have is an error, or the nearest one if round is set. The
// end of the context ends it, since many levels of names out of order take seconds.
// https://github.com/google/googlesql/blob/master/docs/json_functions.md#parse_json
func ParseJSON(ctx context.Context, text string, round bool) (JSON, error) {
	switch {
	case len(text) > MaxJSON:
		return "", parse.Invalid("a JSON has up to 16 MiB, and this text %d bytes", len(text))
	case !utf8.ValidString(text):
		return "", parse.Invalid("%.100q is not UTF-8, and no JSON", text)
	}
	if raw := []byte(text); !json.Valid(raw) {
		var v json.RawMessage
		return "", parse.Invalid("%.100q is not JSON: %v", text, json.Unmarshal(raw, &v))
	}
	r := jsonReader{ctx: ctx, in: text, round: round, jsonWriter: jsonWriter{out: make([]byte, 0, len(text))}}
	if err := r.value(); err != nil {
		return "", err
	}
	return JSON(r.out), nil
}

// A jsonReader writes a text, whose syntax is right, in the one form.
type jsonReader struct {
	ctx   context.Context
	in    string // the rest of the text
	round bool
	depth int
	jsonWriter
}

func (r *jsonReader) space() { r.in = strings.TrimLeft(r.in, " \t\r\n") }

func (r *jsonReader) value() (err error) {
	r.space()
	switch c := r.in[0]; c {
	case '{', '[':
		if r.depth++; r.depth > MaxJSONDepth {
			return parse.Invalid("a JSON has up to %d levels of arrays and objects", MaxJSONDepth)
		}
		if err = r.list(c == '{'); err != nil {
			return err
		}
		r.depth--
	case '"':
		var text string
		if text, err = r.text(); err == nil {
			r.out = AppendJSONText(r.out, text)
		}
	default:
		end := strings.IndexAny(r.in, " \t\r\n,]}")
		if end < 0 {
			end = len(r.in)
		}
		word := r.in[:end]
		r.in = r.in[end:]
		if c == 't' || c == 'f' || c == 'n' {
			r.out = append(r.out, word...)
		} else {
			r.out, err = appendJSONNumber(r.out, word, r.round)
		}
	}
	return err
}

// list reads an array or an object.
func (r *jsonReader) list(object bool) error {
	r.out = append(r.out, r.in[0])
	first, start := len(r.members), len(r.out)
	r.in = r.in[1:]
	for n := 0; ; n++ {
		r.space()
		end := r.in[0]
		if end == '}' || end == ']' {
			if r.ctx.Err() != nil {
				return r.ctx.Err()
			}
			r.in = r.in[1:]
			r.closeObject(first, start)
			r.out = append(r.out, end)
			return nil
		}
		if n > 0 {
			r.in = r.in[1:]
			r.out = append(r.out, ',')
		}
		if object {
			r.space()
			name, err := r.text()
			if err != nil {
				return err
			}
			r.open(name)
			r.space()
			r.in = r.in[1:] // the colon
		}
		if err := r.value(); err != nil {
			return err
		}
		if object {
			r.members[len(r.members)-1].end = len(r.out)
		}
	}
}

// text reads a text in quotes.
func (r *jsonReader) text() (string, error) {
	end := 1
	for ; r.in[end] != '"'; end++ {
		if r.in[end] == '\\' {
			end++
		}
	}
	quoted := r.in[:end+1]
	r.in = r.in[end+1:]
	return jsonText(quoted)
}

// jsonText is the text that stands in quotes. Its syntax is right.
func jsonText(quoted string) (string, error) {
	rest := quoted[1 : len(quoted)-1]
	before, rest, found := strings.Cut(rest, `\`)
	if !found {
		return before, nil
	}
	b := make([]byte, 0, len(quoted))
	for ; found; before, rest, found = strings.Cut(rest, `\`) {
		b = append(b, before...)
		if at := strings.IndexByte(jsonEscapes, rest[0]); at >= 0 {
			b, rest = append(b, jsonEscaped[at]), rest[1:]
			continue
		}
		if rest[0] != 'u' { // itself
			b, rest = append(b, rest[0]), rest[1:]
			continue
		}
		r := hexRune(rest[1:])
		rest = rest[5:]
		if utf16.IsSurrogate(r) {
			low := rune(0)
			if strings.HasPrefix(rest, `\u`) {
				low = hexRune(rest[2:])
			}
			if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
				return "", parse.Invalid("%.100s has one half of a character of two, such as \\ud83d\\ude00", quoted)
			}
			rest = rest[6:]
		}
		b = utf8.AppendRune(b, r)
	}
	return string(append(b, before...)), nil
}

// jsonEscapes are the letters after a backslash for jsonEscaped.
const jsonEscapes, jsonEscaped = "bfnrt", "\b\f\n\r\t"

func hexRune(s string) rune {
	n, _ := strconv.ParseUint(s[:4], 16, 16) // which they are
	return rune(n)
}

// AppendJSONText appends a text in quotes. Only quotes, backslashes and control characters are
// escaped.
func AppendJSONText(dst []byte, s string) []byte {
	const digits = "0123456789abcdef"
	dst = append(dst, '"')
	from := 0
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(append(dst, s[from:i]...), '\\')
		from = i + 1
		switch at := strings.IndexByte(jsonEscaped, c); {
		case at >= 0:
			dst = append(dst, jsonEscapes[at])
		case c < ' ':
			dst = append(dst, 'u', '0', '0', digits[c>>4], digits[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return append(append(dst, s[from:]...), '"')
}

// appendJSONNumber appends a number that is written: an integer of 64 bits, with or without a sign,
// as it is, and others as a FLOAT64.
func appendJSONNumber(dst []byte, text string, round bool) ([]byte, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return strconv.AppendInt(dst, n, 10), nil // also of -0
	}
	if n, err := strconv.ParseUint(text, 10, 64); err == nil {
		return strconv.AppendUint(dst, n, 10), nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, parse.Invalid("the number %.100s is out of the range of FLOAT64", text)
	}
	from := len(dst)
	dst = appendJSONFloat(dst, f)
	if !round && !sameDecimal(text, string(dst[from:])) {
		return nil, parse.Invalid("the number %.100s is neither an integer of 64 bits nor a FLOAT64; PARSE_JSON(…, wide_number_mode => 'round') makes the nearest FLOAT64 of it", text)
	}
	return dst, nil
}

// appendJSONFloat appends the fewest digits that are read as the number, with a point or an
// exponent, which tell it from an integer.
func appendJSONFloat(dst []byte, f float64) []byte {
	if size := math.Abs(f); f != 0 && (size < 1e-4 || size >= 1e15) {
		return strconv.AppendFloat(dst, f, 'e', -1, 64)
	}
	from := len(dst)
	dst = strconv.AppendFloat(dst, f, 'f', -1, 64)
	if !slices.Contains(dst[from:], '.') {
		dst = append(dst, ".0"...)
	}
	return dst
}

// sameDecimal reports whether two texts are one number.
func sameDecimal(a, b string) bool {
	aSign, aDigits, aPower := Decimal(a)
	bSign, bDigits, bPower := Decimal(b)
	return aSign == bSign && aDigits == bDigits && aPower == bPower
}

// Decimal is a number that is written, such as -12.5e3, as digits without zeros at their ends, none
// of 0, and the power of ten that they are multiplied by, within a thousand millions.
func Decimal(text string) (negative bool, digits string, power int) {
	const most = 1_000_000_000
	text, negative = strings.CutPrefix(strings.ToLower(text), "-")
	mantissa, exponent, _ := strings.Cut(text, "e")
	by, _ := strconv.ParseInt(exponent, 10, 64) // of one that is too large, the largest
	whole, fraction, _ := strings.Cut(strings.TrimPrefix(mantissa, "+"), ".")
	all := strings.TrimLeft(whole+fraction, "0")
	if digits = strings.TrimRight(all, "0"); digits == "" {
		return negative, "", 0
	}
	return negative, digits, int(min(max(by, -most), most)) - len(fraction) + len(all) - len(digits)
}

// A jsonWriter writes JSON. The members of the objects that are not closed are on a stack.
type jsonWriter struct {
	out     []byte
	members []jsonMember
	scratch []byte
}

// A jsonMember is the place of a member, with its name, in the written text.
type jsonMember struct {
	name       string
	start, end int
}

// open writes the name of a member.
func (w *jsonWriter) open(name string) {
	w.members = append(w.members, jsonMember{name: name, start: len(w.out)})
	w.out = append(AppendJSONText(w.out, name), ':')
}

// closeObject brings the members from the first on, which begin at start with commas between, in
// the order of their names, and leaves one of each name.
func (w *jsonWriter) closeObject(first, start int) {
	all := w.members[first:]
	w.members = w.members[:first]
	ordered := true
	for i := 1; i < len(all) && ordered; i++ {
		ordered = all[i-1].name < all[i].name
	}
	if ordered {
		return
	}
	slices.SortStableFunc(all, func(a, b jsonMember) int { return cmp.Compare(a.name, b.name) })
	all = slices.CompactFunc(all, func(a, b jsonMember) bool { return a.name == b.name })
	w.scratch = append(w.scratch[:0], w.out[start:]...)
	w.out = w.out[:start]
	for i, m := range all {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		w.out = append(w.out, w.scratch[m.start-start:m.end-start]...)
	}
}

// Check is an error if a JSON is too large. Its text is right.
func (j JSON) Check() error {
	if len(j) > MaxJSON {
		return parse.Invalid("the result is larger than 16 MiB")
	}
	depth := 0
	for i := 0; i < len(j); i++ {
		switch j[i] {
		case '"':
			for i++; j[i] != '"'; i++ {
				if j[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			if depth++; depth > MaxJSONDepth {
				return parse.Invalid("the result has more than %d levels of arrays and objects", MaxJSONDepth)
			}
		case '}', ']':
			depth--
		}
	}
	return nil
}
