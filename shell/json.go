package shell

import (
	"encoding/base64"
	"math"
	"reflect"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/ql/exec"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
)

// A jsonPrinter prints rows as JSON, one per line or as one array. Nothing is lost: an
// i64 is a string of digits, NaN and the infinities are strings, and text that is not
// UTF-8 is in base64 under a name that ends in _b64. If the read fails, the array is
// not closed.
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
func (s *Session) printObjects(objects []object) error {
	before, between, after := "", "\n", "\n"
	switch {
	case s.format == "json" && len(objects) == 0:
		after = "[]\n"
	case s.format == "json":
		before, between, after = "[\n", ",\n", "\n]\n"
	case len(objects) == 0:
		after = ""
	}
	var texts []string
	for _, o := range objects {
		texts = append(texts, string(o.bytes()))
	}
	_, err := s.out.WriteString(before + strings.Join(texts, between) + after)
	return err
}

// An object is a JSON object while it is made: its fields so far, in order. Its strings
// may be shown on a terminal.
type object []byte

// add adds a field: null, a string, strings, a value, an object, objects, or a number or
// bool. A value with bytes that are not UTF-8 changes the name, as appendText says.
func (o *object) add(name string, v any) {
	separator := byte(',')
	if len(*o) == 0 {
		separator = '{'
	}
	if v, ok := v.(cells.Value); ok {
		*o = appendText(append(*o, separator), name, rawText(v))
		return
	}
	b := append(appendString(append(*o, separator), name), ':')
	switch v := v.(type) {
	case exec.Word:
		b = appendString(b, string(v))
	case nil:
		b = append(b, "null"...)
	case string:
		b = appendString(b, v)
	case []string:
		b = appendList(b, v, appendString)
	case object:
		b = append(b, v.bytes()...)
	case []object:
		b = appendList(b, v, func(b []byte, o object) []byte { return append(b, o.bytes()...) })
	default:
		b = append(b, exactText(v)...)
	}
	*o = b
}

// rawText is the text or the bytes of a value.
func rawText(v cells.Value) string {
	if b, ok := v.AsBytes(); ok {
		return string(b)
	}
	return v.String()
}

// addSet adds a field unless it is 0, "", empty or false.
func (o *object) addSet(name string, v any) {
	if value := reflect.ValueOf(v); !value.IsZero() && (value.Kind() != reflect.Slice || value.Len() > 0) {
		o.add(name, v)
	}
}

func (o object) bytes() []byte { return append(o[:len(o):len(o)], '}') }

func appendList[T any](b []byte, list []T, appendItem func([]byte, T) []byte) []byte {
	b = append(b, '[')
	for i, item := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendItem(b, item)
	}
	return append(b, ']')
}

// objectOf returns a line of fields as an object.
func objectOf(columns []string, line []any) (o object) {
	for i, v := range line {
		o.add(columns[i], v)
	}
	return o
}

func objectsOf(columns []string, lines [][]any) (objects []object) {
	for _, line := range lines {
		objects = append(objects, objectOf(columns, line))
	}
	return objects
}

func (s *Session) printObject(o object) error {
	_, err := s.out.Write(append(o.bytes(), '\n'))
	return err
}
