package function

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/value"
)

// JSONText is a value of a type as TO_JSON_STRING writes it, in one line or in many.
// https://cloud.google.com/bigquery/docs/reference/standard-sql/json_functions#json_encodings
func JSONText(v any, t value.Type, pretty bool) (any, error) {
	var b bytes.Buffer
	if err := writeJSON(&b, v, t); err != nil {
		return nil, err
	}
	if pretty {
		var lines bytes.Buffer
		if err := json.Indent(&lines, b.Bytes(), "", "  "); err != nil {
			return nil, parse.Invalid("TO_JSON_STRING: %v", err)
		}
		b = lines
	}
	return b.String(), sized(b.Len())
}

// CheckJSON says which type TO_JSON_STRING does not take.
func CheckJSON(t value.Type) error {
	switch t.Kind {
	case value.TypeMap, value.TypeMessage, value.TypeEnum:
		return parse.Invalid("TO_JSON_STRING does not take %s; take columns, and cast messages and enums to STRING", t)
	case value.TypeArray:
		if t.Of != nil {
			return CheckJSON(*t.Of)
		}
	case value.TypeStruct:
		for _, f := range t.Fields {
			if err := CheckJSON(f.Type); err != nil {
				return err
			}
		}
	}
	return nil
}

// wholeNumbers are the integers that a reader of JSON gets exactly.
const wholeNumbers = 1 << 53

func writeJSON(b *bytes.Buffer, v any, t value.Type) error {
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
	case bool:
		b.WriteString(strconv.FormatBool(v))
	case int64:
		if v < -wholeNumbers || v > wholeNumbers {
			b.WriteString(`"` + strconv.FormatInt(v, 10) + `"`)
		} else {
			b.WriteString(strconv.FormatInt(v, 10))
		}
	case float32, float64:
		b.WriteString(jsonFloat(v))
	case string:
		writeText(b, v)
	case []byte:
		b.WriteString(`"` + base64.StdEncoding.EncodeToString(v) + `"`)
	case value.Numeric:
		text := v.String()
		if whole, ok := v.Int(); !ok || whole < -wholeNumbers || whole > wholeNumbers || strings.Contains(text, ".") {
			text = `"` + text + `"`
		}
		b.WriteString(text)
	case value.Interval:
		b.WriteString(`"` + v.ISO() + `"`)
	case value.Date:
		b.WriteString(`"` + v.String() + `"`)
	case value.Datetime:
		b.WriteString(v.Time().Format(`"2006-01-02T15:04:05.999999"`))
	case cells.Timestamp:
		b.WriteString(v.Time().UTC().Format(`"2006-01-02T15:04:05.999999Z"`))
	case value.Array:
		b.WriteByte('[')
		for i, e := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := writeJSON(b, e, *t.Of); err != nil {
				return err
			}
		}
		b.WriteByte(']')
	case value.Struct:
		b.WriteByte('{')
		for i, e := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			name := t.Fields[i].Name
			if name == "" {
				name = "_field_" + strconv.Itoa(i+1)
			}
			writeText(b, name)
			b.WriteByte(':')
			if err := writeJSON(b, e, t.Fields[i].Type); err != nil {
				return err
			}
		}
		b.WriteByte('}')
	}
	return sized(b.Len())
}

func jsonFloat(v any) string {
	switch f := value.ToFloat(v); {
	case math.IsNaN(f):
		return `"NaN"`
	case math.IsInf(f, 1):
		return `"Infinity"`
	case math.IsInf(f, -1):
		return `"-Infinity"`
	}
	return value.FloatText(v)
}

func writeText(b *bytes.Buffer, s string) {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	_ = e.Encode(strings.ToValidUTF8(s, "\uFFFD")) // a string can always be encoded
	b.Truncate(b.Len() - 1)                        // the line feed
}
