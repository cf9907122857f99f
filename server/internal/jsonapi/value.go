package jsonapi

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/smolwc/smolwc/cells"
)

// typeNames are the types of values, by their names in JSON.
var typeNames = map[string]cells.Type{
	"string": cells.TypeString, "boolean": cells.TypeBool, "byte": cells.TypeByte, "i32": cells.TypeI32, "i64": cells.TypeI64,
	"f32": cells.TypeF32, "f64": cells.TypeF64, "bytes": cells.TypeBytes,
}

// allTypes are the names, for errors.
const allTypes = "string, boolean, byte, i32, i64, f32, f64 and bytes"

func typeName(t cells.Type) string {
	if t == cells.TypeBool {
		return "boolean"
	}
	return t.String()
}

// value is the value of a cell of a type. Numbers may be strings.
func (s scalar) value(t cells.Type) (cells.Value, error) {
	switch t {
	case cells.TypeString:
		if s.kind != '"' {
			return cells.Value{}, s.not("a string")
		}
		return cells.String(s.text), nil
	case cells.TypeBytes:
		if s.kind != '"' {
			return cells.Value{}, s.not("a string of base64")
		}
		b, err := base64.StdEncoding.DecodeString(s.text)
		if err != nil {
			return cells.Value{}, fmt.Errorf("want base64 with padding: %w", err)
		}
		return cells.Bytes(b), nil
	case cells.TypeBool:
		if s.kind != 't' && s.kind != 'f' {
			return cells.Value{}, s.not("true or false")
		}
		return cells.Bool(s.kind == 't'), nil
	case cells.TypeF32, cells.TypeF64:
		return s.float(t)
	}
	least, most := t.Bounds()
	want := fmt.Sprintf("a whole number from %d to %d", least, most)
	if s.kind != '0' && s.kind != '"' {
		return cells.Value{}, s.not(want)
	}
	n, err := strconv.ParseInt(s.text, 10, 64)
	v, ok := cells.Integer(t, n)
	if err != nil || !ok {
		return v, fmt.Errorf("want %s, got %s", want, short(s.text))
	}
	return v, nil
}

func (s scalar) not(want string) error { return fmt.Errorf("want %s, got %s", want, kindOf(s.kind)) }

// short shortens a text of the client for an error.
func short(text string) string {
	const most = 40
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// unusual are the floats that are not JSON numbers.
var unusual = map[string]float64{"NaN": math.NaN(), "Infinity": math.Inf(1), "-Infinity": math.Inf(-1)}

func (s scalar) float(t cells.Type) (cells.Value, error) {
	bits := 64
	if t == cells.TypeF32 {
		bits = 32
	}
	f, ok := unusual[s.text]
	if ok = ok && s.kind == '"'; !ok {
		if s.kind != '0' && s.kind != '"' {
			return cells.Value{}, s.not("a number")
		}
		var err error
		if f, err = strconv.ParseFloat(s.text, bits); errors.Is(err, strconv.ErrRange) {
			return cells.Value{}, fmt.Errorf("%s is too large for %s", short(s.text), t)
		} else if err != nil || math.IsNaN(f) || math.IsInf(f, 0) || strings.ContainsAny(s.text, "xX_") {
			return cells.Value{}, fmt.Errorf(`want a number, or "NaN", "Infinity" or "-Infinity", got %q`, short(s.text))
		}
	}
	if t == cells.TypeF32 {
		return cells.F32(float32(f)), nil
	}
	return cells.F64(f), nil
}

// exactInJSON is the largest integer up to which every JSON reader represents all
// integers exactly.
const exactInJSON = 1 << 53

// value appends a value, as its type says.
func (c *call) value(v cells.Value) {
	switch v := v.Any().(type) {
	case string:
		c.quote(v)
	case bool:
		c.bool(v)
	case byte:
		c.int(int64(v))
	case int32:
		c.int(int64(v))
	case int64:
		if c.strings && (v > exactInJSON || v < -exactInJSON) {
			c.put(`"`).int(v).put(`"`)
		} else {
			c.int(v)
		}
	case float32:
		c.float(float64(v), 32)
	case float64:
		c.float(v, 64)
	case []byte:
		c.base64(v)
	}
}

func (c *call) base64(b []byte) {
	*c.buf = append(*c.buf, '"')
	*c.buf = base64.StdEncoding.AppendEncode(*c.buf, b)
	*c.buf = append(*c.buf, '"')
}

// float appends a float with a point or an exponent. Floats that are not JSON numbers
// are strings on request, and null otherwise, as in Smoltable.
func (c *call) float(f float64, bits int) {
	name := ""
	switch {
	case math.IsNaN(f):
		name = "NaN"
	case math.IsInf(f, 1):
		name = "Infinity"
	case math.IsInf(f, -1):
		name = "-Infinity"
	}
	switch {
	case name == "":
		from := len(*c.buf)
		*c.buf = strconv.AppendFloat(*c.buf, f, 'g', -1, bits)
		if !bytes.ContainsAny((*c.buf)[from:], ".e") {
			c.put(".0")
		}
	case c.strings:
		c.quote(name)
	default:
		c.put("null")
	}
}

// Times are nanoseconds in JSON, and microseconds in the database. Small times are
// numbers of versions and no times of day: they are the same in both. Those between
// cannot be told apart from microseconds, and are refused.
const (
	versionsEnd = 1e13 // versions are below it; as microseconds it is in April 1970
	nanosBegin  = versionsEnd * 1000
)

// timeOf returns the timestamp of a time in JSON. It rounds nanoseconds to the nearest
// microsecond, so that a time that a client rounded to a float64 finds its cell.
func timeOf(s scalar) (cells.Timestamp, error) {
	if s.kind != '0' && s.kind != '"' || s.text == "" || strings.Trim(s.text, "0123456789") != "" {
		return 0, errors.New("want nanoseconds since 1970, a whole number from 0")
	}
	digits := strings.TrimLeft(s.text, "0")
	if n, err := strconv.ParseInt(digits, 10, 64); err == nil && n < versionsEnd || digits == "" {
		return cells.Timestamp(n), nil
	} else if err == nil && n < nanosBegin {
		return 0, fmt.Errorf("want nanoseconds since 1970, or the number of a version below %d, got %s, which may be microseconds", int64(versionsEnd), digits)
	}
	cut := len(digits) - 3
	n, err := strconv.ParseInt(digits[:cut], 10, 64)
	if err != nil || digits[cut] >= '5' && n == math.MaxInt64 {
		return 0, fmt.Errorf("want nanoseconds up to %d499, got %s", int64(cells.MaxTimestamp), short(digits))
	}
	if digits[cut] >= '5' {
		n++
	}
	return cells.Timestamp(n), nil
}

// time appends a timestamp as a time of JSON.
func (c *call) time(ts cells.Timestamp) {
	asText := c.strings && ts > exactInJSON/1000 && ts >= versionsEnd
	if asText {
		c.put(`"`)
	}
	c.int(int64(ts))
	if ts >= versionsEnd {
		c.put("000")
	}
	if asText {
		c.put(`"`)
	}
}

// A column is family:qualifier; without a colon it is the column without a qualifier.
func cutColumn(text string) (family, qualifier string, err error) {
	family, qualifier, _ = strings.Cut(text, ":")
	if family == "" {
		return "", "", fmt.Errorf("want family:qualifier, got %q", short(text))
	}
	return family, qualifier, nil
}

// isText reports whether a key or qualifier can be a string of JSON.
func isText(s string) bool { return utf8.ValidString(s) }
