package mcp

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/sql/value"
)

// Results have numbers as JSON's, but those that a reader may round are text; bytes that are not
// UTF-8, or have control characters, are {"base64": "…"}.

// in64 are bytes that are not text.
type in64 struct {
	Base64 []byte `json:"base64"`
}

// bytesOf are bytes, which may be a text or a number.
func bytesOf(b []byte) any {
	if bytes.ContainsFunc(b, func(r rune) bool { return r < ' ' && r != '\t' && r != '\n' && r != '\r' }) {
		return in64{b}
	}
	return textOr64(string(b))
}

func textOr64(s string) any {
	if utf8.ValidString(s) {
		return s
	}
	return in64{[]byte(s)}
}

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

func sizeOf(v any) (int, error) {
	b, err := encode(v)
	return len(b), err
}

// wholeNumbers is the largest of the integers that every reader of JSON has exactly, and takes for
// no other one.
const wholeNumbers = 1<<53 - 1

func wholeOf(n int64) any {
	if n < -wholeNumbers || n > wholeNumbers {
		return strconv.FormatInt(n, 10)
	}
	return n
}

func floatOf(f float64, bits int) any {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return strconv.FormatFloat(f, 'g', -1, bits)
	}
	if bits == 32 {
		return float32(f)
	}
	return f
}

func timeOf(t cells.Timestamp) string { return t.Time().UTC().Format(time.RFC3339Nano) }

func jsonOfCell(v cells.Value) any {
	if n, ok := v.Int(); ok {
		return wholeOf(n)
	}
	if f, ok := v.AsF32(); ok {
		return floatOf(float64(f), 32)
	}
	if f, ok := v.Float(); ok {
		return floatOf(f, 64)
	}
	if b, ok := v.AsBool(); ok {
		return b
	}
	if b, ok := v.AsBytes(); ok {
		return bytesOf(b)
	}
	return textOr64(v.String())
}

// jsonOf is a value of SQL.
func jsonOf(v any, t value.Type) any {
	switch v := v.(type) {
	case nil, bool:
		return v
	case int64:
		return wholeOf(v)
	case float32:
		return floatOf(float64(v), 32)
	case float64:
		return floatOf(v, 64)
	case string:
		return textOr64(v)
	case []byte:
		return bytesOf(v)
	case value.JSON:
		return json.RawMessage(v)
	case cells.Timestamp:
		return timeOf(v)
	case value.Datetime:
		return v.Time().Format("2006-01-02T15:04:05.999999")
	case value.Interval:
		return v.ISO()
	case value.Array:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = jsonOf(e, of(t))
		}
		return list
	case value.Struct:
		list := make([]any, len(v))
		for i, e := range v {
			f := value.Field{}
			if i < len(t.Fields) {
				f = t.Fields[i]
			}
			list[i] = map[string]any{"name": f.Name, "value": jsonOf(e, f.Type)}
		}
		return list
	case value.Map:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = map[string]any{"qualifier": textOr64(string(e.Qualifier)), "value": jsonOf(e.Value, of(t))}
		}
		return list
	case fmt.Stringer: // NUMERIC, DATE
		return v.String()
	}
	return fmt.Sprint(v)
}

// of is the type of elements.
func of(t value.Type) value.Type {
	if t.Of == nil {
		return value.Type{}
	}
	return *t.Of
}

// textOf is an argument: a string, or bytes in base64.
func textOf(name string, v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case map[string]any:
		if text, ok := v["base64"].(string); ok && len(v) == 1 {
			b, err := base64.StdEncoding.DecodeString(text)
			if err != nil {
				return "", fmt.Errorf("%s: its base64 is not valid: %w", name, err)
			}
			return string(b), nil
		}
	}
	return "", fmt.Errorf(`%s must be a string, or {"base64": "…"}`, name)
}

// valueOf is the value of a write, of the type of its family, or else of the type that is named,
// or else of the JSON.
func valueOf(v any, named string, f *schema.Family) (cells.Value, error) {
	t := f.Type
	if f.Aggregate != 0 {
		t = cells.TypeI64
	}
	if named != "" {
		own, err := cells.ParseType(named)
		if err != nil {
			return cells.Value{}, err
		}
		if t != cells.TypeAny && own != t {
			return cells.Value{}, fmt.Errorf("type is %s, and family %s is declared %s", own, f.Name, t)
		}
		t = own
	}
	switch x := v.(type) {
	case bool:
		if t == cells.TypeAny || t == cells.TypeBool {
			return cells.Bool(x), nil
		}
	case float64:
		return numberOf(x, t)
	case string, map[string]any:
		text, err := textOf("value", x)
		_, isText := x.(string)
		switch {
		case err != nil:
			return cells.Value{}, err
		case t == cells.TypeString || t == cells.TypeAny && isText:
			return cells.String(text), nil
		case t == cells.TypeBytes || t == cells.TypeAny:
			return cells.Bytes([]byte(text)), nil
		}
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && isText && t == cells.TypeI64 && wholeOf(n) == text {
			return cells.I64(n), nil // a large one, as in results
		}
		return cells.Value{}, fmt.Errorf("value is %.200q, which is not %s", text, t)
	}
	return cells.Value{}, fmt.Errorf("value is %.200v, which is not %s", v, t)
}

func numberOf(x float64, t cells.Type) (cells.Value, error) {
	whole := x == math.Trunc(x) && math.Abs(x) <= wholeNumbers
	switch t {
	case cells.TypeF64:
		return cells.F64(x), nil
	case cells.TypeF32:
		if f := float32(x); !math.IsInf(float64(f), 0) {
			return cells.F32(f), nil
		}
		return cells.Value{}, fmt.Errorf("value is %v, which is not f32", x)
	case cells.TypeAny:
		if !whole {
			return cells.F64(x), nil
		}
		t = cells.TypeI64
	}
	if v, ok := cells.Integer(t, int64(x)); ok && whole {
		return v, nil
	}
	return cells.Value{}, fmt.Errorf("value is %v, which is not %s; give an integer above 2^53 as a string", x, t)
}
