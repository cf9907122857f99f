package value

import (
	"encoding/base64"
	"math"
	"strconv"
	"strings"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/sql/parse"
)

// ToJSON is a value of a type as TO_JSON makes a JSON of it. An integer or a NUMERIC that a FLOAT64
// does not have is a text if wide is set; else a NUMERIC that a JSON does not have is an error.
// There is no JSON of families, messages and enums.
// https://cloud.google.com/bigquery/docs/reference/standard-sql/json_functions#json_encodings
func ToJSON(v any, t Type, wide bool) (JSON, error) {
	w := encoder{wide: wide}
	if err := w.value(v, t); err != nil {
		return "", err
	}
	return JSON(w.out), JSON(w.out).Check()
}

// JSONString is a value as TO_JSON_STRING writes it: as a JSON, but for the order of fields, and for
// numbers: those that a FLOAT64 does not have are texts, and 1.0 is 1.
func JSONString(v any, t Type) ([]byte, error) {
	w := encoder{text: true}
	err := w.value(v, t)
	return w.out, err
}

// An encoder writes values of SQL as JSON.
type encoder struct {
	jsonWriter
	text bool // for TO_JSON_STRING
	wide bool // numbers that a FLOAT64 lacks are texts
}

// wholeNumbers are the integers that a reader of JSON gets exactly.
const wholeNumbers = 1 << 53

func (w *encoder) value(v any, t Type) (err error) {
	switch v := v.(type) {
	case nil:
		w.out = append(w.out, "null"...)
	case bool:
		w.out = strconv.AppendBool(w.out, v)
	case int64:
		w.whole(strconv.FormatInt(v, 10), v < -wholeNumbers || v > wholeNumbers)
	case float32, float64:
		w.float(v)
	case string:
		w.string(strings.ToValidUTF8(v, "\uFFFD"))
	case []byte:
		w.string(base64.StdEncoding.EncodeToString(v))
	case Numeric:
		err = w.numeric(v)
	case Interval:
		w.string(v.ISO())
	case Date:
		w.string(v.String())
	case Datetime:
		w.string(v.Time().Format("2006-01-02T15:04:05.999999"))
	case cells.Timestamp:
		w.string(v.Time().UTC().Format("2006-01-02T15:04:05.999999Z"))
	case JSON:
		w.out = append(w.out, v...)
	case Array:
		w.out = append(w.out, '[')
		for i, e := range v {
			if i > 0 {
				w.out = append(w.out, ',')
			}
			if err := w.value(e, *t.Of); err != nil {
				return err
			}
		}
		w.out = append(w.out, ']')
	case Struct:
		err = w.fields(v, t)
	}
	if err == nil && len(w.out) > MaxJSON {
		err = parse.Invalid("the result is larger than 16 MiB")
	}
	return err
}

func (w *encoder) fields(v Struct, t Type) error {
	w.out = append(w.out, '{')
	first, start := len(w.members), len(w.out)
	for i, e := range v {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		name := t.Fields[i].Name
		if name == "" && w.text {
			name = "_field_" + strconv.Itoa(i+1)
		}
		w.open(name)
		if err := w.value(e, t.Fields[i].Type); err != nil {
			return err
		}
		w.members[len(w.members)-1].end = len(w.out)
	}
	if w.text {
		w.members = w.members[:first]
	}
	w.closeObject(first, start)
	w.out = append(w.out, '}')
	return nil
}

// string writes a text. TO_JSON_STRING escapes U+2028 and U+2029, which end lines in JavaScript.
func (w *encoder) string(s string) {
	if !w.text {
		w.out = AppendJSONText(w.out, s)
		return
	}
	from := len(w.out)
	w.out = AppendJSONText(w.out, s)
	if strings.Contains(s, "\u2028") || strings.Contains(s, "\u2029") {
		w.out = append(w.out[:from:from], strings.NewReplacer("\u2028", `\u2028`, "\u2029", `\u2029`).Replace(string(w.out[from:]))...)
	}
}

// whole writes an integer; beyond says that a FLOAT64 may not have it.
func (w *encoder) whole(digits string, beyond bool) {
	if beyond && (w.text || w.wide) {
		w.string(digits)
	} else {
		w.out = append(w.out, digits...)
	}
}

func (w *encoder) float(v any) {
	switch f := ToFloat(v); {
	case math.IsNaN(f):
		w.string("NaN")
	case math.IsInf(f, 0):
		w.string(map[bool]string{true: "Infinity", false: "-Infinity"}[f > 0])
	case w.text:
		w.out = append(w.out, FloatText(v)...)
	default:
		w.out = appendJSONFloat(w.out, f+0) // -0 + 0 is 0
	}
}

func (w *encoder) numeric(v Numeric) error {
	text := v.String()
	whole, ok := v.Int()
	beyond := !ok || whole < -wholeNumbers || whole > wholeNumbers
	if strings.Contains(text, ".") {
		beyond = true
	} else if _, err := strconv.ParseUint(text, 10, 64); ok || err == nil {
		w.whole(text, beyond)
		return nil
	}
	if !w.text {
		if f := string(appendJSONFloat(nil, v.Float())); sameDecimal(text, f) {
			w.out = append(w.out, f...)
			return nil
		}
		if !w.wide {
			return parse.Invalid("NUMERIC %s is neither an integer of 64 bits nor a FLOAT64, and no number of JSON; TO_JSON(…, stringify_wide_numbers => TRUE) and CAST(… AS STRING) make a text of it", text)
		}
	}
	w.string(text)
	return nil
}
