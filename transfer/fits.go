package transfer

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/internal/excerpt"
)

// fits are types that take texts, for a dry run's advice.
type fits struct {
	seen bool
	// exact are the types that lose nothing: an export writes the same text, or the same
	// decimal number, which an f64 may write with an exponent.
	exact typeSet
	// same are those that take the same values, although an export writes some otherwise:
	// 1.50 as 1.5, True as true.
	same typeSet
	// respelled is the first text that is in same only.
	respelled string
}

// A typeSet is a bit for each type of cells.
type typeSet uint16

func setOf(types ...cells.Type) (s typeSet) {
	for _, t := range types {
		s |= 1 << t
	}
	return s
}

// narrowest are the types that are advised, those before others where several fit.
var narrowest = [...]cells.Type{cells.TypeBool, cells.TypeI64, cells.TypeF64, cells.TypeString, cells.TypeBytes}

var aboveText = setOf(cells.TypeBool, cells.TypeI64, cells.TypeF64)

func (s typeSet) narrowest() cells.Type {
	for _, t := range narrowest {
		if s&(1<<t) != 0 {
			return t
		}
	}
	return cells.TypeAny
}

// add notes a text.
func (f *fits) add(text string) {
	if !f.seen {
		f.seen, f.exact, f.same = true, setOf(narrowest[:]...), aboveText
	}
	if f.exact&(1<<cells.TypeString) != 0 && !utf8.ValidString(text) {
		f.exact &^= 1 << cells.TypeString
	}
	if (f.exact|f.same)&aboveText == 0 {
		return
	}
	exact, same := typesOf(text)
	f.exact &= exact | ^aboveText
	if f.same &= same; f.respelled == "" && exact&aboveText == 0 {
		f.respelled = strings.Clone(text)
	}
}

// join adds the texts of g.
func (f *fits) join(g fits) {
	switch {
	case !g.seen:
	case !f.seen:
		*f = g
	default:
		f.exact &= g.exact
		f.same &= g.same
		if f.respelled == "" {
			f.respelled = g.respelled
		}
	}
}

// number reports whether a type besides text takes all texts so far.
func (f *fits) number() bool { return !f.seen || (f.exact|f.same)&aboveText != 0 }

// lossless is the narrowest type that loses nothing.
func (f *fits) lossless() cells.Type { return f.exact.narrowest() }

// near is a type that is narrower than lossless and keeps the values, and a text that it
// writes otherwise; TypeAny: no such type exists.
func (f *fits) near() (cells.Type, string) {
	if f.exact&aboveText != 0 || f.same == 0 || f.exact&(1<<cells.TypeString) == 0 {
		return cells.TypeAny, ""
	}
	return f.same.narrowest(), excerpt.Of(f.respelled)
}

// typesOf returns the types besides text that take a text: exactly, and its value.
func typesOf(text string) (exact, same typeSet) {
	trimmed := strings.TrimSpace(text)
	switch trimmed {
	case "true", "false":
		same = setOf(cells.TypeBool)
	case "True", "False", "TRUE", "FALSE":
		return 0, setOf(cells.TypeBool)
	case "NaN", "+Inf", "-Inf": // as an export writes them
		same = setOf(cells.TypeF64)
	default:
		var plain bool
		same, plain = numberOf(trimmed)
		if !plain {
			return 0, same
		}
	}
	if trimmed != text {
		return 0, same
	}
	return same, same
}

// numberOf returns the numeric types that have exactly the number of a text. plain says that
// it is written in the usual way: 12 and -0.5, but not 1.50, 1e5 or .5. Digits that begin
// with 0, or with a plus, are no number but a code.
func numberOf(text string) (types typeSet, plain bool) {
	digits := strings.TrimPrefix(text, "-")
	if digits == "" || len(digits) > 1 && digits[0] == '0' && isDigit(digits[1]) || !isDigit(digits[0]) && digits[0] != '.' || strings.ContainsAny(text, "xX_pP") {
		return 0, false
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && text != "-0" {
		if types = setOf(cells.TypeI64); n >= -1<<53 && n <= 1<<53 || sameNumber(text, float64(n)) {
			types |= setOf(cells.TypeF64)
		}
		return types, true
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) || !sameNumber(text, f) {
		return 0, false
	}
	written := strconv.FormatFloat(f, 'f', -1, 64)
	return setOf(cells.TypeF64), text == written || text == cells.F64(f).String()
}

// sameNumber reports whether the shortest form of f is the number of a text.
func sameNumber(text string, f float64) bool {
	digits, exponent := significant(text)
	other, otherExponent := significant(strconv.FormatFloat(f, 'e', -1, 64))
	return digits == other && (exponent == otherExponent || digits == "")
}

// significant returns the digits of a decimal number without zeros at both ends, and the
// power of ten of the first.
func significant(text string) (digits string, exponent int) {
	text = strings.TrimPrefix(text, "-")
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		exponent, _ = strconv.Atoi(text[i+1:]) // beyond an int it is no f64
		text = text[:i]
	}
	whole, fraction, _ := strings.Cut(text, ".")
	all := whole + fraction
	digits = strings.TrimLeft(all, "0")
	exponent += len(whole) - (len(all) - len(digits))
	return strings.TrimRight(digits, "0"), exponent
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
