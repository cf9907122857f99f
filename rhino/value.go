package rhino

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"

	"github.com/smolwc/smolwc/cells"
)

// A Row is the columns of a row, or some of them, by their names.
type Row map[string]Value

// Check returns an error for a column that cannot be.
func (r Row) Check() error {
	for name, v := range r {
		if err := CheckName("the name of a column", name); err != nil {
			return err
		}
		if v.Type() == cells.TypeAny {
			return invalid("column %q has no value", short(name))
		}
	}
	return nil
}

// A Value is the value of a column. In JSON it is an object whose only key is the type:
//
//	{"String":"text"}  {"U64":18446744073709551615}  {"I64":-1}  {"I32":-1}
//	{"Byte":255}  {"Bool":true}  {"F64":0.5}  {"F32":0.5}  {"Bytes":"AP8="}
//
// Bytes are in base 64. The floats that JSON lacks are the strings "NaN", "Infinity" and
// "-Infinity".
type Value struct {
	cells.Value
	// Unsigned says that an i64 holds the bits of a U64.
	Unsigned bool
}

// U64 is an unsigned integer.
func U64(n uint64) Value { return Value{cells.I64(int64(n)), true} }

// String is a text.
func String(s string) Value { return Value{Value: cells.String(s)} }

// Equal reports whether two values have the same type and the same bits.
func (v Value) Equal(w Value) bool { return v.Unsigned == w.Unsigned && v.Value.Equal(w.Value) }

// tags are the types' names.
var tags = map[cells.Type]string{
	cells.TypeString: "String", cells.TypeBytes: "Bytes", cells.TypeBool: "Bool", cells.TypeByte: "Byte",
	cells.TypeI32: "I32", cells.TypeI64: "I64", cells.TypeF32: "F32", cells.TypeF64: "F64",
}

const unsignedTag = "U64"

// MarshalJSON implements [json.Marshaler].
func (v Value) MarshalJSON() ([]byte, error) {
	tag, ok := tags[v.Type()]
	if !ok {
		return nil, invalid("the value has no type")
	}
	if v.Unsigned {
		tag = unsignedTag
	}
	text, err := v.text()
	if err != nil {
		return nil, err
	}
	return []byte(`{"` + tag + `":` + string(text) + `}`), nil
}

// text is the value without its type, in JSON.
func (v Value) text() ([]byte, error) {
	switch x := v.Any().(type) {
	case string:
		return plain(x)
	case []byte:
		return json.Marshal(append([]byte{}, x...))
	case bool:
		return strconv.AppendBool(nil, x), nil
	case float32:
		return float(float64(x), 32), nil
	case float64:
		return float(x, 64), nil
	}
	n, _ := v.Int()
	if v.Unsigned {
		return strconv.AppendUint(nil, uint64(n), 10), nil
	}
	return strconv.AppendInt(nil, n, 10), nil
}

// plain is a string in JSON, with < and > as they are.
func plain(s string) ([]byte, error) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	err := enc.Encode(s)
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), err
}

func float(f float64, bits int) []byte {
	switch {
	case math.IsNaN(f):
		return []byte(`"NaN"`)
	case math.IsInf(f, 1):
		return []byte(`"Infinity"`)
	case math.IsInf(f, -1):
		return []byte(`"-Infinity"`)
	}
	return strconv.AppendFloat(nil, f, 'g', -1, bits)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (v *Value) UnmarshalJSON(text []byte) error {
	tag, raw, err := onlyKey(text)
	if err != nil {
		return invalid("a value must be an object with its type as the only key, as in {\"String\":\"text\"}: %v", err)
	}
	decode, ok := decoders[tag]
	if !ok {
		return invalid("there is no type %q; the types are String, U64, I64, I32, Byte, Bool, F64, F32 and Bytes", short(tag))
	}
	w, err := decode(raw)
	if err != nil {
		return invalid("%s is not a %s", short(string(raw)), tag)
	}
	*v = w
	return nil
}

var decoders = map[string]func(json.RawMessage) (Value, error){
	"String": decoder(cells.String),
	"Bytes": func(raw json.RawMessage) (Value, error) {
		if !bytes.HasPrefix(raw, []byte(`"`)) {
			return Value{}, invalid("it is not text")
		}
		return decoder(cells.Bytes)(raw)
	},
	"Bool": decoder(cells.Bool),
	"Byte": decoder(cells.Byte),
	"I32":  decoder(cells.I32),
	"I64":  decoder(cells.I64),
	"F32":  floats(32, func(f float64) cells.Value { return cells.F32(float32(f)) }),
	"F64":  floats(64, cells.F64),
	unsignedTag: func(raw json.RawMessage) (Value, error) {
		n, err := strconv.ParseUint(string(raw), 10, 64)
		return U64(n), err
	},
}

// decoder reads a T and makes a value of it.
func decoder[T any](value func(T) cells.Value) func(json.RawMessage) (Value, error) {
	return func(raw json.RawMessage) (Value, error) {
		var t *T
		if err := json.Unmarshal(raw, &t); err != nil {
			return Value{}, err
		}
		if t == nil {
			return Value{}, invalid("it is null")
		}
		return Value{Value: value(*t)}, nil
	}
}

func floats(bits int, value func(float64) cells.Value) func(json.RawMessage) (Value, error) {
	return func(raw json.RawMessage) (Value, error) {
		switch string(raw) {
		case `"NaN"`:
			return Value{Value: value(math.NaN())}, nil
		case `"Infinity"`:
			return Value{Value: value(math.Inf(1))}, nil
		case `"-Infinity"`:
			return Value{Value: value(math.Inf(-1))}, nil
		}
		var n json.Number
		if len(raw) == 0 || raw[0] == '"' {
			return Value{}, invalid("it is not a number")
		}
		if err := json.Unmarshal(raw, &n); err != nil {
			return Value{}, err
		}
		f, err := strconv.ParseFloat(n.String(), bits)
		return Value{Value: value(f)}, err
	}
}
