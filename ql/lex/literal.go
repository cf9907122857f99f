package lex

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/smolwc/smolwc/cells"
)

// A Literal is a value as a statement gives it. The type of an untyped literal depends
// on its column: see [Literal.ValueAs].
type Literal struct {
	Pos Pos
	// Type is the type that the literal names (42i32, f32(1), x'00'), or
	// TypeAny for an untyped one.
	Type cells.Type
	// Text is the text of an untyped literal, the bytes of a bytes literal, and the
	// canonical text of other typed literals.
	Text string
	// Quoted marks an untyped literal written in quotes: it is text and never a number.
	Quoted bool
	// Loose marks a quoted literal of HBase's put 't','k','c','42'. HBase quotes every
	// value, so the literal becomes a number if the column declares a number type.
	Loose bool
}

// Value returns the value in a column without a declared type.
func (l Literal) Value() (cells.Value, error) { return l.ValueAs(cells.TypeAny) }

// ValueAs returns the value in a column with this declared type (TypeAny: no declared
// type). An untyped literal is converted to that type, or is an error if it does not
// fit. A typed literal of another type is an error that names both types.
func (l Literal) ValueAs(declared cells.Type) (cells.Value, error) {
	v, err := l.value(declared)
	if err != nil {
		return cells.Value{}, ErrorAt(l.Pos, "%s", err)
	}
	return v, nil
}

func (l Literal) value(declared cells.Type) (v cells.Value, err error) {
	switch {
	case l.Type != cells.TypeAny && declared != cells.TypeAny && declared != l.Type:
		return v, fmt.Errorf("value %s is %s, but the column is declared %s", Clip(l.String()), l.Type, declared)
	case l.Type != cells.TypeAny:
		return convert(l.Text, l.Type)
	case declared == cells.TypeAny:
		return l.guess()
	case l.Quoted && !l.Loose && declared != cells.TypeString && declared != cells.TypeBytes:
		return v, fmt.Errorf("value %s is string, but the column is declared %s; write it without quotes", QuoteText(Clip(l.Text)), declared)
	}
	return convert(l.Text, declared)
}

// OperandFor returns the value to compare with a column of the declared type. Numbers
// compare with numbers of any type, so a number need not fit the declared type.
func (l Literal) OperandFor(declared cells.Type) (cells.Value, error) {
	if declared.Numeric() && !l.Quoted {
		if v, err := l.Value(); err == nil && v.Type().Numeric() {
			return v, nil
		}
	}
	return l.ValueAs(declared)
}

// String returns the literal in the language's syntax.
func (l Literal) String() string {
	if l.Type == cells.TypeAny && !l.Quoted {
		return l.Text
	}
	if l.Type == cells.TypeAny {
		return QuoteText(l.Text)
	}
	switch l.Type {
	case cells.TypeString, cells.TypeBool:
		return l.Type.String() + "(" + QuoteText(l.Text) + ")"
	case cells.TypeBytes:
		return QuoteValue(cells.Bytes([]byte(l.Text)))
	}
	return typedNumber(l.Text, l.Type)
}

// guess returns the value of an untyped literal; its spelling determines the type.
func (l Literal) guess() (cells.Value, error) {
	kind := Spelling(l.Text)
	if l.Quoted {
		kind = cells.TypeString
	}
	switch kind {
	case cells.TypeString:
		if !l.Quoted {
			if err := checkPlainWord(l.Text); err != nil {
				return cells.Value{}, err
			}
		}
		return textValue(l.Text)
	case cells.TypeI64:
		if digits := strings.TrimPrefix(l.Text, "-"); len(digits) > 1 && digits[0] == '0' && isDigit(digits[1]) {
			return cells.Value{}, fmt.Errorf("number %s begins with 0; write it without the zeros, or quote it if it is text", l.Text)
		}
	}
	return convert(l.Text, kind)
}

// Spelling returns the type of a bare word by its spelling.
func Spelling(s string) cells.Type {
	switch {
	case strings.EqualFold(s, "true"), strings.EqualFold(s, "false"):
		return cells.TypeBool
	case IsInteger(s):
		return cells.TypeI64
	case isFloat(s):
		return cells.TypeF64
	}
	return cells.TypeString
}

func textValue(s string) (cells.Value, error) {
	if !utf8.ValidString(s) {
		return cells.Value{}, fmt.Errorf("value %s is not UTF-8 text; write bytes as x'%x'", QuoteText(Clip(s)), s[:min(len(s), 32)])
	}
	return cells.String(s), nil
}

// convert parses text as a value of type t, which is not TypeAny.
func convert(text string, t cells.Type) (cells.Value, error) {
	switch t {
	case cells.TypeBytes:
		return cells.Bytes([]byte(text)), nil
	case cells.TypeString:
		return textValue(text)
	case cells.TypeBool:
		return convertBool(text)
	case cells.TypeF32, cells.TypeF64:
		return convertFloat(text, t)
	}
	return convertInt(text, t)
}

func convertBool(text string) (cells.Value, error) {
	switch strings.ToLower(text) {
	case "true":
		return cells.Bool(true), nil
	case "false":
		return cells.Bool(false), nil
	}
	return cells.Value{}, fmt.Errorf("value %s is not bool; it is true or false", QuoteText(Clip(text)))
}

// intBounds are the least and the largest number of a type.
var intBounds = map[cells.Type][2]int64{
	cells.TypeByte: {0, math.MaxUint8},
	cells.TypeI32:  {math.MinInt32, math.MaxInt32},
	cells.TypeI64:  {math.MinInt64, math.MaxInt64},
}

func convertInt(text string, t cells.Type) (cells.Value, error) {
	if !IsInteger(text) {
		return cells.Value{}, fmt.Errorf("value %s is not %s, a whole number", QuoteText(Clip(text)), t)
	}
	n, err := ParseInteger(text)
	bounds := intBounds[t]
	if err != nil || n < bounds[0] || n > bounds[1] {
		return cells.Value{}, fmt.Errorf("value %s does not fit %s (%d to %d)", Clip(text), t, bounds[0], bounds[1])
	}
	switch t {
	case cells.TypeByte:
		return cells.Byte(byte(n)), nil
	case cells.TypeI32:
		return cells.I32(int32(n)), nil
	}
	return cells.I64(n), nil
}

func convertFloat(text string, t cells.Type) (cells.Value, error) {
	if !isFloat(text) && !IsInteger(text) {
		return cells.Value{}, fmt.Errorf("value %s is not %s, a number", QuoteText(Clip(text)), t)
	}
	bits := 64
	if t == cells.TypeF32 {
		bits = 32
	}
	f, err := parseFloat(text, bits)
	if err != nil {
		return cells.Value{}, fmt.Errorf("value %s does not fit %s", Clip(text), t)
	}
	if t == cells.TypeF32 {
		return cells.F32(float32(f)), nil
	}
	if f != f {
		f = math.Float64frombits(0x7ff8 << 48) // the NaN of most programs; Go's carries a payload
	}
	return cells.F64(f), nil
}

var (
	integerSpelling = regexp.MustCompile(`^-?(0[xX][0-9a-fA-F]+(_[0-9a-fA-F]+)*|[0-9]+(_[0-9]+)*)$`)
	floatSpelling   = regexp.MustCompile(`^-?(([0-9]+(_[0-9]+)*)?\.[0-9]+([eE][+-]?[0-9]+)?|[0-9]+(_[0-9]+)*(\.([eE][+-]?[0-9]+)?|[eE][+-]?[0-9]+))$`)
)

// IsInteger reports whether the word is spelled as a whole number.
func IsInteger(s string) bool { return beginsNumber(s) && integerSpelling.MatchString(s) }

func isFloat(s string) bool {
	switch s {
	case "nan", "inf", "-inf", "NaN", "Inf", "-Inf":
		return true
	}
	return beginsNumber(s) && floatSpelling.MatchString(s)
}

// beginsNumber is a fast check, so that most words do not reach the regular
// expressions.
func beginsNumber(s string) bool {
	return s != "" && (s[0] == '-' || s[0] == '.' || isDigit(s[0]))
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// ParseInteger parses a word that IsInteger accepts; a leading 0 does not mean octal.
func ParseInteger(s string) (int64, error) {
	s = strings.ReplaceAll(s, "_", "")
	digits := strings.TrimPrefix(s, "-")
	if len(digits) > 1 && digits[0] == '0' && digits[1]|0x20 == 'x' {
		return strconv.ParseInt(s[:len(s)-len(digits)]+digits[2:], 16, 64)
	}
	return strconv.ParseInt(s, 10, 64)
}

// parseFloat parses a word that isFloat or IsInteger accepts. A number that is too
// large is an error; a number that is too small rounds to 0.
func parseFloat(s string, bits int) (float64, error) {
	if IsInteger(s) && strings.ContainsAny(s, "xX") {
		n, err := ParseInteger(s)
		return float64(n), err
	}
	return strconv.ParseFloat(strings.ReplaceAll(s, "_", ""), bits)
}

// suffixes are the types that may end a number: 42i32.
var suffixes = []cells.Type{cells.TypeI32, cells.TypeI64, cells.TypeByte, cells.TypeF32, cells.TypeF64}

// CutSuffix splits 42i32 into the number and its type. In a hexadecimal number
// f32 and f64 are digits.
func CutSuffix(s string) (number string, t cells.Type, ok bool) {
	for _, t := range suffixes {
		number, found := strings.CutSuffix(s, t.String())
		if !found || !IsInteger(number) && (!isFloat(number) || !beginsNumber(number)) {
			continue
		}
		if hexadecimal := strings.ContainsAny(number, "xX"); hexadecimal && (t == cells.TypeF32 || t == cells.TypeF64) {
			continue
		}
		return number, t, true
	}
	return "", cells.TypeAny, false
}

// TypedLiteral makes a literal of a type that the statement names.
func TypedLiteral(at Pos, text string, t cells.Type) (Literal, error) {
	if t == cells.TypeBytes {
		return Literal{Pos: at, Type: t, Text: text}, nil
	}
	if n := map[string]string{"1": "true", "0": "false"}[text]; t == cells.TypeBool && n != "" {
		text = n
	}
	v, err := convert(text, t)
	if err != nil {
		return Literal{}, ErrorAt(at, "%s", err)
	}
	if t.Numeric() {
		text = numberText(v)
	} else if t == cells.TypeBool {
		text = v.String()
	}
	return Literal{Pos: at, Type: t, Text: text}, nil
}
