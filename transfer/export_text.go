package transfer

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/smolwc/smolwc/cells"
)

// textOut writes encoded chunks that are text.
type textOut struct{ w io.Writer }

func (t *textOut) write(e encoded) error {
	_, err := t.w.Write(e.([]byte))
	return err
}

func (t *textOut) end() error { return nil }

// textCells writes the long form as CSV or JSON lines.
type textCells struct {
	textOut
	json bool
}

func (t *textCells) begin(w io.Writer) error {
	t.w = w
	if t.json {
		return nil
	}
	_, err := io.WriteString(w, strings.Join([]string{rowField, familyField, qualifierField, timestampField, typeField, valueField}, ",")+"\n")
	return err
}

func (t *textCells) encode(c *chunk) (encoded, error) {
	b := make([]byte, 0, c.size+64*len(c.cells))
	for i := range c.cells {
		if t.json {
			b = appendJSONCell(b, c.keys[i], &c.cells[i])
		} else {
			b = appendCSVCell(b, c.keys[i], &c.cells[i])
		}
	}
	return b, nil
}

// appendCSVCell appends a line of CSV. Row key, qualifier, and values of type string
// and bytes are escaped, so that every cell is one line of text.
func appendCSVCell(b []byte, key string, c *cells.Cell) []byte {
	b = appendCSVField(b, key)
	b = append(appendCSVField(append(b, ','), c.Family), ',')
	b = append(appendCSVField(b, c.Qualifier), ',')
	b = append(strconv.AppendInt(b, int64(c.Timestamp), 10), ',')
	b = append(append(b, c.Value.Type().String()...), ',')
	if raw, ok := rawText(c.Value); ok {
		b = appendCSVField(b, raw)
	} else {
		b = append(b, plainText(c.Value)...)
	}
	return append(b, '\n')
}

// appendCSVField appends escaped text, in quotes if CSV needs them.
func appendCSVField(b []byte, s string) []byte {
	if !strings.ContainsAny(s, `,"`) && !strings.HasPrefix(s, " ") {
		return appendEscaped(b, s)
	}
	b = append(b, '"')
	for i, part := range strings.Split(s, `"`) {
		if i > 0 {
			b = append(b, `""`...)
		}
		b = appendEscaped(b, part)
	}
	return append(b, '"')
}

// appendEscaped appends text with escapes: a backslash as \\, and control characters
// and bytes that are not UTF-8 as \n, \r, \t and \xNN, byte by byte.
func appendEscaped(b []byte, s string) []byte {
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == '\\':
			b = append(b, `\\`...)
		case r == '\n':
			b = append(b, `\n`...)
		case r == '\r':
			b = append(b, `\r`...)
		case r == '\t':
			b = append(b, `\t`...)
		case r == utf8.RuneError && n == 1, r < ' ', r >= 0x7f && r < 0xa0, r == '\ufeff':
			for i := range n {
				const hex = "0123456789abcdef"
				b = append(b, '\\', 'x', hex[s[i]>>4], hex[s[i]&15])
			}
		default:
			b = append(b, s[:n]...)
		}
		s = s[n:]
	}
	return b
}

func unescape(s string) (text string, problem string) {
	if !strings.Contains(s, `\`) {
		return s, ""
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b = append(b, s[i])
			continue
		}
		if i++; i == len(s) {
			return "", "ends in a backslash; one that is meant is doubled"
		}
		switch s[i] {
		case '\\':
			b = append(b, '\\')
		case 'n':
			b = append(b, '\n')
		case 'r':
			b = append(b, '\r')
		case 't':
			b = append(b, '\t')
		case 'x':
			n, err := strconv.ParseUint(s[min(i+1, len(s)):min(i+3, len(s))], 16, 8)
			if err != nil || i+3 > len(s) {
				return "", `has \x without two hexadecimal digits`
			}
			b = append(b, byte(n))
			i += 2
		default:
			return "", `has \` + string(s[i]) + `, which stands for nothing; a backslash that is meant is doubled`
		}
	}
	return string(b), ""
}

// appendJSONCell appends a line of JSON. Text that is not UTF-8 is base64 in a member
// with the suffix _b64; numbers that JSON tools would round are strings.
func appendJSONCell(b []byte, key string, c *cells.Cell) []byte {
	b = appendJSONText(append(b, '{'), rowField, key, base64Code)
	b = append(b, `,"family":`...)
	b = appendJSONString(b, c.Family)
	b = appendJSONText(append(b, ','), qualifierField, c.Qualifier, base64Code)
	b = append(b, `,"timestamp":`...)
	b = strconv.AppendInt(b, int64(c.Timestamp), 10)
	b = append(b, `,"type":"`...)
	b = append(append(b, c.Value.Type().String()...), `",`...)
	if raw, ok := c.Value.AsBytes(); ok {
		b = append(b, `"value_b64":"`...)
		b = append(base64.StdEncoding.AppendEncode(b, raw), '"')
	} else {
		b = append(b, `"value":`...)
		b = appendJSONValue(b, c.Value, plainText)
	}
	return append(b, "}\n"...)
}

// appendJSONText appends a member of any bytes; bytes that are not UTF-8 are encoded.
func appendJSONText(b []byte, name, text string, c code) []byte {
	if utf8.ValidString(text) {
		c = noCode
	}
	b = append(append(append(append(b, '"'), name...), suffixes[c]...), `":`...)
	return appendJSONString(b, c.encode(text))
}

func appendJSONString(b []byte, s string) []byte {
	if plainJSON(s) {
		return append(append(append(b, '"'), s...), '"')
	}
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string can always be JSON
	}
	return append(b, text...)
}

// plainJSON reports whether a text needs no escapes in JSON.
func plainJSON(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ' || c >= utf8.RuneSelf, c == '"', c == '\\', c == '<', c == '>', c == '&':
			return false
		}
	}
	return true
}

// appendJSONValue appends a value that is not of type bytes; number returns the text of
// a value that is not a string.
func appendJSONValue(b []byte, v cells.Value, number func(cells.Value) string) []byte {
	text, isText := v.AsString()
	f, isFloat := v.Float()
	switch {
	case isText:
		return appendJSONString(b, text)
	case v.Type() == cells.TypeI64, isFloat && (math.IsNaN(f) || math.IsInf(f, 0)):
		return append(append(append(b, '"'), number(v)...), '"')
	}
	return append(b, number(v)...)
}

// rawText returns the text of a value of type string or bytes; ok is false for other
// types.
func rawText(v cells.Value) (string, bool) {
	if raw, ok := v.AsBytes(); ok {
		return string(raw), true
	}
	return v.AsString()
}

// plainText returns a value of another type as text that keeps every bit.
func plainText(v cells.Value) string {
	if bits, width, ok := nanBits(v); ok {
		return nanText(bits, width)
	}
	return v.String()
}
