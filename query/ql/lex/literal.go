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

// A Literal is a value as a statement gives it. What type an untyped one gets
// is known only where the column is: see [Literal.ValueAs].
type Literal struct {
	Pos Pos
	// Type is the type that the literal names (42i32, f32(1), x'00'), or
	// TypeAny for an untyped one.
	Type cells.Type
	// Text is the text of an untyped literal, the bytes of a bytes literal and
	// the canonical text of other typed ones.
	Text string
	// Quoted marks an untyped literal written in quotes: it is text and never a number.
	Quoted bool
	// Loose marks a quoted literal of the HBase form put 't','k','c','42',
	// which quotes every value: it may stand for a number where one is declared.
	Loose bool
}

// Value is the value in a column without a declared type.
func (l Literal) Value() (cells.Value, error) { return l.ValueAs(cells.TypeAny) }

// ValueAs is the value in a column whose values are declared to be of this type (TypeAny:
// no type is declared). An untyped literal becomes that type when it fits; a literal of
// another type is an error that names both.
func (l Literal) ValueAs(declared cells.Type) (cells.Value, error) {
	if l.Type != cells.TypeAny {
		if declared != cells.TypeAny && declared != l.Type {
			return cells.Value{}, ErrorAt(l.Pos, "value %s is %s, but the column is declared %s", Clip(l.String()), l.Type, declared)
		}
		return l.typed()
	}
	v, err := l.untyped(declared)
	if err != nil {
		return cells.Value{}, ErrorAt(l.Pos, "%s", err)
	}
	return v, nil
}

// OperandFor is the value to compare a column of the declared type with.
// Numbers compare with numbers of any type, so a number need not fit.
func (l Literal) OperandFor(declared cells.Type) (cells.Value, error) {
	if declared.Numeric() && !l.Quoted {
		if v, err := l.Value(); err == nil && v.Type().Numeric() {
			return v, nil
		}
	}
	return l.ValueAs(declared)
}

// String is the literal as the language writes it.
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

// typed is the value of a typed literal, whose text was checked when it was parsed.
func (l Literal) typed() (cells.Value, error) {
	if l.Type == cells.TypeBytes {
		return cells.Bytes([]byte(l.Text)), nil
	}
	v, err := convert(l.Text, l.Type)
	if err != nil {
		return v, ErrorAt(l.Pos, "%s", err)
	}
	return v, nil
}

func (l Literal) untyped(declared cells.Type) (cells.Value, error) {
	switch declared {
	case cells.TypeAny:
		return l.guess()
	case cells.TypeBytes:
		return cells.Bytes([]byte(l.Text)), nil
	case cells.TypeString:
		return textValue(l.Text)
	}
	if l.Quoted && !l.Loose {
		return cells.Value{}, fmt.Errorf("value %s is string, but the column is declared %s; write it without quotes", QuoteText(Clip(l.Text)), declared)
	}
	return convert(l.Text, declared)
}

// guess is the value of an untyped literal by how it is written.
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
			return cells.Value{}, fmt.Errorf("number %s begins with 0; write it without, or quote it if it is text", l.Text)
		}
	}
	return convert(l.Text, kind)
}

// Spelling is the type that a bare word has by the way it is written.
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

// convert reads text as a value of the type, which is not TypeAny.
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
		f = math.Float64frombits(0x7ff8 << 48) // as most programs have it; Go's has a payload
	}
	return cells.F64(f), nil
}

var (
	integerSpelling = regexp.MustCompile(`^-?(0[xX][0-9a-fA-F]+(_[0-9a-fA-F]+)*|[0-9]+(_[0-9]+)*)$`)
	floatSpelling   = regexp.MustCompile(`^-?(([0-9]+(_[0-9]+)*)?\.[0-9]+([eE][+-]?[0-9]+)?|[0-9]+(_[0-9]+)*(\.([eE][+-]?[0-9]+)?|[eE][+-]?[0-9]+))$`)
)

// IsInteger reports whether the word is written like a whole number.
func IsInteger(s string) bool { return beginsNumber(s) && integerSpelling.MatchString(s) }

func isFloat(s string) bool {
	switch s {
	case "nan", "inf", "-inf", "NaN", "Inf", "-Inf":
		return true
	}
	return beginsNumber(s) && floatSpelling.MatchString(s)
}

// beginsNumber keeps most words away from the regular expressions.
func beginsNumber(s string) bool {
	return s != "" && (s[0] == '-' || s[0] == '.' || isDigit(s[0]))
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// ParseInteger reads what IsInteger accepts; a leading 0 does not mean octal.
func ParseInteger(s string) (int64, error) {
	s = strings.ReplaceAll(s, "_", "")
	digits := strings.TrimPrefix(s, "-")
	if len(digits) > 1 && digits[0] == '0' && digits[1]|0x20 == 'x' {
		return strconv.ParseInt(s[:len(s)-len(digits)]+digits[2:], 16, 64)
	}
	return strconv.ParseInt(s, 10, 64)
}

// parseFloat reads what isFloat or IsInteger accepts. Too large is an error;
// too small rounds to 0.
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
