package shell

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math"
	"strconv"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
)

// A jsonPrinter prints rows as JSON, one per line or as one array. Nothing is lost: an
// i64 is a string of digits, NaN and the infinities are strings, and text that is not
// UTF-8 is in base64 under a name that ends in _b64. If the read fails, the array has
// no end.
type jsonPrinter struct {
	*view
	array bool
	rows  int
	buf   []byte
}

func (p *jsonPrinter) row(r *query.Row) error {
	b := p.buf[:0]
	if p.array {
		b = append(b, []string{"[\n", ",\n"}[min(p.rows, 1)]...)
	}
	p.rows++
	b = append(b, '{')
	b = appendText(b, "key", r.Key())
	if p.stream.Table.KeyFormat == schema.TupleKeys {
		if text := p.key(r.Key()); text[0] == '(' {
			b = appendString(append(b, `,"tuple":`...), text)
		}
	}
	if !p.stream.KeysOnly {
		b = append(b, `,"cells":[`...)
		first := true
		for c := range r.Cells() {
			if !first {
				b = append(b, ',')
			}
			first = false
			b = appendCell(b, c)
		}
		b = append(b, ']')
	}
	b = append(b, '}')
	if !p.array {
		b = append(b, '\n')
	}
	p.buf = b
	_, err := p.out.Write(b)
	return err
}

func (p *jsonPrinter) end() error {
	var err error
	switch {
	case !p.array:
	case p.rows == 0:
		_, err = p.out.WriteString("[]\n")
	default:
		_, err = p.out.WriteString("\n]\n")
	}
	return err
}

func appendCell(b []byte, c cells.Cell) []byte {
	b = append(b, '{')
	b = appendText(b, "c", c.Family+":"+c.Qualifier)
	b = append(b, `,"t":"`...)
	b = append(b, c.Value.Type().String()...)
	b = append(b, `",`...)
	b = appendValue(b, c.Value)
	b = append(b, `,"ts":`...)
	b = strconv.AppendInt(b, int64(c.Timestamp), 10)
	return append(b, '}')
}

// appendValue appends "v":… or "v_b64":….
func appendValue(b []byte, v cells.Value) []byte {
	if raw, ok := v.AsBytes(); ok {
		b = append(b, `"v_b64":"`...)
		b = base64.StdEncoding.AppendEncode(b, raw)
		return append(b, '"')
	}
	text, isText := v.AsString()
	f, isFloat := v.Float()
	b = append(b, `"v":`...)
	switch {
	case isText:
		return appendString(b, text)
	case v.Type() == cells.TypeI64:
		return append(append(append(b, '"'), v.String()...), '"')
	case isFloat && (math.IsNaN(f) || math.IsInf(f, 0)):
		return append(append(append(b, '"'), notFinite(f)...), '"')
	}
	return append(b, v.String()...)
}

// notFinite returns the name of such a number in protobuf's JSON.
func notFinite(f float64) string {
	switch {
	case f > 0:
		return "Infinity"
	case f < 0:
		return "-Infinity"
	}
	return "NaN"
}

// appendText appends "name":"text", or "name_b64":"…" when text is not UTF-8.
func appendText(b []byte, name, text string) []byte {
	b = append(append(b, '"'), name...)
	if utf8.ValidString(text) {
		return appendString(append(b, `":`...), text)
	}
	b = append(b, `_b64":"`...)
	b = base64.StdEncoding.AppendEncode(b, []byte(text))
	return append(b, '"')
}

// appendString appends a JSON string. It also escapes characters that are not
// printable, so that the string may be shown on a terminal.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, `\n`...)
		case r == '\r':
			b = append(b, `\r`...)
		case r == '\t':
			b = append(b, `\t`...)
		case unicode.IsPrint(r):
			b = utf8.AppendRune(b, r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			b = appendEscape(appendEscape(b, high), low)
		default:
			b = appendEscape(b, r)
		}
	}
	return append(b, '"')
}

func appendEscape(b []byte, r rune) []byte {
	const hex = "0123456789abcdef"
	return append(b, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
}

// printObjects prints JSON objects: in json as one array, in jsonl one per line.
func (s *Session) printObjects(objects [][]byte) error {
	before, between, after := "", "\n", "\n"
	switch {
	case s.format == "json" && len(objects) == 0:
		after = "[]\n"
	case s.format == "json":
		before, between, after = "[\n", ",\n", "\n]\n"
	case len(objects) == 0:
		after = ""
	}
	_, err := s.out.WriteString(before + string(bytes.Join(objects, []byte(between))) + after)
	return err
}

// printObject prints one JSON object on a line.
func (s *Session) printObject(v any) error {
	object, err := encodeJSON(v)
	if err != nil {
		return err
	}
	_, err = s.out.Write(append(object, '\n'))
	return err
}

// encodeJSON encodes an object. Its texts must be printable, because only JSON's own
// escapes are used.
func encodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
