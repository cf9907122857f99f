package function

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/value"
)

// A Printf is the format of a call of FORMAT.
// https://cloud.google.com/bigquery/docs/reference/standard-sql/string_functions#format_string
type Printf struct{ parts []directive }

// A directive is a text, and the specifier after it: %[flags][width][.precision]verb.
type directive struct {
	text             string
	flags            string
	width, precision int // -1: not given
	widthArg, preArg bool
	verb             byte // 0: there is no specifier
}

// mostDigits bounds a precision of integers. No float needs more digits after its point
// than mostFraction, and GoogleSQL writes no more.
const (
	mostDigits   = 10_000
	mostFraction = 1074
)

// ReadPrintf reads a format.
func ReadPrintf(format string) (*Printf, error) {
	f := &Printf{}
	for rest := format; rest != ""; {
		text, after, found := strings.Cut(rest, "%")
		d := directive{text: text, width: -1, precision: -1}
		if found {
			bad := parse.Invalid("%.20q does not begin with a specifier of FORMAT; there are %%d %%i %%o %%x %%X %%f %%F %%e %%E %%g %%G %%p %%P %%s %%t %%T and %%%%", "%"+after)
			end := 0
			for end < len(after) && strings.IndexByte("-+ #0'", after[end]) >= 0 {
				end++
			}
			d.flags, after = after[:end], after[end:]
			var ok bool
			if d.width, d.widthArg, after, ok = number(after, -1); !ok || d.width > MaxText {
				return nil, bad
			}
			if dotted, isDot := strings.CutPrefix(after, "."); isDot {
				if d.precision, d.preArg, after, ok = number(dotted, 0); !ok {
					return nil, bad
				}
			}
			if after == "" || strings.IndexByte("dioxXfFeEgGpPstT%", after[0]) < 0 {
				return nil, bad
			}
			d.verb, after = after[0], after[1:]
		}
		f.parts = append(f.parts, d)
		rest = after
	}
	return f, nil
}

// number reads a width or a precision, or * for an argument.
func number(s string, missing int) (n int, arg bool, rest string, ok bool) {
	if after, star := strings.CutPrefix(s, "*"); star {
		return -1, true, after, true
	}
	end := 0
	for end < len(s) && s[end] >= '0' && s[end] <= '9' {
		end++
	}
	if end == 0 {
		return missing, false, s, true
	}
	digits, err := strconv.ParseUint(s[:end], 10, 31)
	return int(digits), false, s[end:], err == nil
}

// Check compares the types of the arguments, which are counted from 2, with the format.
func (f *Printf) Check(types []value.Type) error {
	at := 0
	next := func(kinds string, of ...value.Kind) error {
		if at >= len(types) {
			return parse.Invalid("FORMAT has fewer arguments than its format needs: argument %d is missing", at+2)
		}
		at++
		for _, k := range of {
			if t := types[at-1].Kind; t == k || t == value.TypeNull {
				return nil
			}
		}
		return parse.Invalid("argument %d of FORMAT is %s; the format needs %s", at+1, types[at-1], kinds)
	}
	for _, d := range f.parts {
		if d.verb == 0 || d.verb == '%' {
			continue
		}
		for _, arg := range []bool{d.widthArg, d.preArg} {
			if arg {
				if err := next("INT64", value.TypeInt64); err != nil {
					return err
				}
			}
		}
		var err error
		switch d.verb {
		case 'd', 'i', 'o', 'x', 'X':
			err = next("INT64", value.TypeInt64)
		case 's':
			err = next("STRING", value.TypeString)
		case 'p', 'P':
			err = next("JSON", value.TypeJSON)
		case 't', 'T':
			err = next("a value that CAST makes a STRING, or an ARRAY or STRUCT of such values", value.TypeBytes, value.TypeString, value.TypeInt64, value.TypeFloat32, value.TypeFloat64,
				value.TypeNumeric, value.TypeBool, value.TypeInterval, value.TypeTimestamp, value.TypeDatetime, value.TypeDate, value.TypeJSON, value.TypeArray, value.TypeStruct)
		case 'f', 'F':
			err = next("FLOAT64", value.TypeFloat64, value.TypeFloat32, value.TypeInt64, value.TypeNumeric)
		default:
			err = next("FLOAT64", value.TypeFloat64, value.TypeFloat32, value.TypeInt64)
		}
		if err != nil {
			return err
		}
	}
	if at < len(types) {
		return parse.Invalid("FORMAT has more arguments than its format needs: argument %d is not used", at+2)
	}
	return nil
}

// Apply formats arguments of the types that Check took. The result is nil for NULL.
func (f *Printf) Apply(args []any) (any, error) {
	var b strings.Builder
	next := func() any { v := args[0]; args = args[1:]; return v }
	for _, d := range f.parts {
		b.WriteString(d.text)
		if d.verb == '%' {
			b.WriteByte('%')
		}
		if d.verb == 0 || d.verb == '%' {
			continue
		}
		for _, arg := range []struct {
			given bool
			to    *int
		}{{d.widthArg, &d.width}, {d.preArg, &d.precision}} {
			if !arg.given {
				continue
			}
			n, ok := next().(int64)
			if !ok {
				return nil, nil
			}
			if arg.to == &d.precision {
				if n = max(n, -1); n > math.MaxInt32 { // a negative one counts as not given
					return nil, parse.Invalid("a precision of FORMAT is %d; it may be up to %d", n, math.MaxInt32)
				}
			}
			if arg.to == &d.width && (n > MaxText || n < -MaxText) {
				return nil, sized(MaxText + 1)
			}
			*arg.to = int(n)
		}
		v := next()
		if v == nil && d.verb != 't' && d.verb != 'T' {
			return nil, nil
		}
		text, err := d.format(v)
		if err == nil {
			err = sized(b.Len() + max(len(text), d.width, -d.width))
		}
		if err != nil {
			return nil, err
		}
		d.pad(&b, text)
	}
	return b.String(), sized(b.Len())
}

func (d *directive) has(flag byte) bool { return strings.IndexByte(d.flags, flag) >= 0 }

// format is the value without the width, except that zeros fill it.
func (d *directive) format(v any) (string, error) {
	switch d.verb {
	case 's':
		return d.cut(v.(string)), nil
	case 'p':
		return d.cut(string(v.(value.JSON))), nil
	case 'P':
		text, err := inLines([]byte(v.(value.JSON)))
		if err != nil {
			return "", err
		}
		return d.cut(text.(string)), nil
	case 't', 'T':
		text, err := Shown(v, d.verb == 'T')
		return d.cut(text), err
	case 'd', 'i', 'o', 'x', 'X':
		return d.integer(v.(int64))
	}
	if n, ok := v.(value.Numeric); ok {
		return d.decimal(n), nil
	}
	return d.float(value.ToFloat(v))
}

func (d *directive) cut(s string) string {
	if d.precision >= 0 && utf8.RuneCountInString(s) > d.precision {
		return string([]rune(s)[:d.precision])
	}
	return s
}

func (d *directive) integer(n int64) (string, error) {
	sign, prefix, base, every, mark := d.sign(n < 0), "", 10, 3, ","
	switch d.verb {
	case 'o':
		prefix, base, every = "0", 8, 4
	case 'x', 'X':
		prefix, base, every, mark = "0x", 16, 4, ":"
	}
	digits := strings.TrimPrefix(strconv.FormatInt(n, base), "-")
	if d.verb == 'X' {
		prefix, digits = strings.ToUpper(prefix), strings.ToUpper(digits)
	}
	if d.precision > mostDigits {
		return "", parse.Invalid("a precision of FORMAT is %d; it may be up to %d for numbers", d.precision, mostDigits)
	}
	digits = zeros(d.precision-len(digits)) + digits
	if d.has('#') && n != 0 && !(d.verb == 'o' && digits[0] == '0') {
		sign += prefix
	}
	if d.has('\'') {
		digits = marked(digits, every, mark)
	}
	if d.precision < 0 {
		digits = d.filled(sign, digits)
	}
	return sign + digits, nil
}

// sign is what stands before a number.
func (d *directive) sign(negative bool) string {
	switch {
	case negative:
		return "-"
	case d.has('+'):
		return "+"
	case d.has(' '):
		return " "
	}
	return ""
}

func zeros(n int) string { return strings.Repeat("0", max(n, 0)) }

// filled puts zeros before digits for the flag 0.
func (d *directive) filled(sign, digits string) string {
	if !d.has('0') || d.has('-') {
		return digits
	}
	return zeros(d.width-len(sign)-len(digits)) + digits
}

// marked puts marks between groups of digits.
func marked(digits string, every int, mark string) string {
	var b strings.Builder
	for i, c := range digits {
		if i > 0 && (len(digits)-i)%every == 0 {
			b.WriteString(mark)
		}
		b.WriteRune(c)
	}
	return b.String()
}

func (d *directive) float(f float64) (string, error) {
	lower := d.verb | 0x20
	sign := d.sign(f < 0) // -0 is written without a sign, as in GoogleSQL
	f = math.Abs(f)
	digits := ""
	switch precision := min(d.precision, mostFraction); {
	case math.IsNaN(f):
		digits = "nan"
	case math.IsInf(f, 0):
		digits = "inf"
	default:
		if precision < 0 {
			precision = 6
		}
		digits = d.finite(f, lower, precision)
		digits = d.filled(sign, d.thousands(digits))
	}
	if lower != d.verb {
		digits = strings.ToUpper(digits)
	}
	return sign + digits, nil
}

// thousands puts commas between the digits of a number for the flag '.
func (d *directive) thousands(digits string) string {
	whole, rest, _ := strings.Cut(digits, ".")
	if !d.has('\'') || strings.Contains(whole, "e") {
		return digits
	}
	if rest != "" {
		rest = "." + rest
	}
	return marked(whole, 3, ",") + rest
}

// decimal is a NUMERIC without an exponent, rounded half away from zero.
func (d *directive) decimal(n value.Numeric) string {
	sign, precision := d.sign(n.Sign() < 0), min(d.precision, mostFraction)
	if precision < 0 {
		precision = 6
	}
	of := n.Rat()
	digits := of.Abs(of).FloatString(precision)
	if d.has('#') && precision == 0 {
		digits += "."
	}
	return sign + d.filled(sign, d.thousands(digits))
}

// finite is the digits of a number as C's printf writes them.
func (d *directive) finite(f float64, verb byte, precision int) string {
	if verb != 'g' {
		text := strconv.FormatFloat(f, verb, precision, 64)
		if d.has('#') && precision == 0 {
			mantissa, exponent, found := strings.Cut(text, "e")
			text = mantissa + "."
			if found {
				text += "e" + exponent
			}
		}
		return text
	}
	precision = max(precision, 1)
	text := strconv.FormatFloat(f, 'e', precision-1, 64)
	mantissa, exponent, _ := strings.Cut(text, "e")
	power, _ := strconv.Atoi(exponent)
	exponent = "e" + exponent
	if power >= -4 && power < precision {
		mantissa, exponent = strconv.FormatFloat(f, 'f', precision-1-power, 64), ""
	}
	if !d.has('#') && strings.Contains(mantissa, ".") {
		mantissa = strings.TrimRight(strings.TrimRight(mantissa, "0"), ".")
	}
	return mantissa + exponent
}

// pad writes a text with spaces up to the width.
func (d *directive) pad(b *strings.Builder, text string) {
	width, left := d.width, d.has('-')
	if d.widthArg && width < 0 {
		width, left = -width, true
	}
	spaces := strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
	if left {
		b.WriteString(text + spaces)
	} else {
		b.WriteString(spaces + text)
	}
}

// Shown is a value as %t writes it, or, as a literal, %T.
func Shown(v any, literal bool) (string, error) {
	named := func(name, text string) string {
		if literal {
			return name + `"` + text + `"`
		}
		return text
	}
	switch v := v.(type) {
	case nil:
		return "NULL", nil
	case []byte:
		if !literal {
			return strings.NewReplacer(`"`, `\"`, "'", `\'`).Replace(escaped(string(v), 0, false)), nil
		}
		return "b" + quoted(string(v), false), nil
	case string:
		if !literal {
			return v, nil
		}
		return quoted(v, true), nil
	case float32, float64:
		text := value.FloatText(v)
		switch finite := strings.Trim(text, "-0123456789.e+") == ""; {
		case !finite && literal:
			return fmt.Sprintf(`CAST("%s" AS FLOAT%d)`, text, reflect.TypeOf(v).Bits()), nil
		case finite && !strings.ContainsAny(text, ".e"):
			text += ".0"
		}
		return text, nil
	case value.Numeric:
		return named("NUMERIC ", v.String()), nil
	case value.Interval:
		if literal {
			return `INTERVAL "` + v.String() + `" YEAR TO SECOND`, nil
		}
		return v.String(), nil
	case value.Date:
		return named("DATE ", v.String()), nil
	case value.Datetime:
		return named("DATETIME ", v.String()), nil
	case cells.Timestamp:
		text, err := value.Cast(v, value.TypeString)
		if err != nil {
			return "", err
		}
		return named("TIMESTAMP ", text.(string)), nil
	case value.JSON:
		if literal {
			return "JSON " + quoted(string(v), true), nil
		}
		return string(v), nil
	case value.Array:
		text, err := shownList(v, literal)
		return "[" + text + "]", err
	case value.Struct:
		text, err := shownList(v, literal)
		if literal && len(v) < 2 {
			return "STRUCT(" + text + ")", err
		}
		return "(" + text + ")", err
	case value.Map:
		return "", parse.Invalid("FORMAT takes no family; take its columns")
	}
	text, err := value.Cast(v, value.TypeString)
	if err != nil {
		return "", err
	}
	return text.(string), nil
}

func shownList(list []any, literal bool) (string, error) {
	var b strings.Builder
	for i, e := range list {
		if i > 0 {
			b.WriteString(", ")
		}
		text, err := Shown(e, literal)
		if err == nil {
			err = sized(b.Len() + len(text))
		}
		if err != nil {
			return "", err
		}
		b.WriteString(text)
	}
	return b.String(), nil
}

// quoted is a STRING or BYTES as a literal, whose quotes are not in it where that can be.
func quoted(s string, text bool) string {
	quote := byte('"')
	if strings.Contains(s, `"`) && !strings.Contains(s, "'") {
		quote = '\''
	}
	return string(quote) + escaped(s, quote, text) + string(quote)
}

// escaped is a text as in a literal with these quotes, 0 for others; in BYTES all but the
// letters of ASCII are escaped.
func escaped(s string, quote byte, text bool) string {
	const digits = "0123456789abcdef"
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case c == '\\' || quote != 0 && c == quote:
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\r':
			b.WriteString(`\r`)
		case c == '\t':
			b.WriteString(`\t`)
		case c < ' ' || c == 0x7f || c > 0x7f && !text:
			b.WriteString(`\x`)
			b.WriteByte(digits[c>>4])
			b.WriteByte(digits[c&15])
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
