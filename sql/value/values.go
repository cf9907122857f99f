package value

import (
	"encoding/binary"
	"math"
	"slices"
	"unsafe"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/sql/parse"
)

func OfCell(c *cells.Cell, as Kind) (any, error) {
	v := c.Value
	switch as {
	case TypeBytes:
		return bytesOf(v), nil
	case TypeString:
		if s, ok := v.AsString(); ok {
			return s, nil
		}
	case TypeInt64:
		if n, ok := v.Int(); ok {
			return n, nil
		}
	case TypeFloat32:
		if f, ok := v.Float(); ok {
			return float32(f), nil
		}
	case TypeFloat64:
		if f, ok := v.Float(); ok {
			return f, nil
		}
	case TypeBool:
		if b, ok := v.AsBool(); ok {
			return b, nil
		}
	}
	return nil, parse.Invalid("%s: a cell is of type %s, and its family is %s in SQL", c.Column(), v.Type(), as)
}

// bytesOf is a cell's value in the bytes that clients also get outside of
// queries: integers have eight bytes.
func bytesOf(v cells.Value) []byte {
	if b, ok := v.AsBytes(); ok {
		return b
	}
	if n, ok := v.Int(); ok {
		return binary.BigEndian.AppendUint64(nil, uint64(n))
	}
	const tag = 1
	return cells.AppendValue(make([]byte, 0, v.EncodedLen()), v)[tag:]
}

// A Map is the columns of a row's family. The history of a column is an
// array of its cells, newest first, each a struct of timestamp and value.
type (
	Map   []Entry
	Entry struct {
		Qualifier string
		Value     any
	}
	Array  []any
	Struct []any
)

// Fits reports whether v is NULL, or a value of the type. A message and an enum are not
// looked into.
func (t Type) Fits(v any) bool {
	kind := t.Kind
	switch v := v.(type) {
	case nil:
		return true
	case []byte:
		return kind == TypeBytes || kind == TypeMessage
	case string:
		return kind == TypeString
	case int64:
		return kind == TypeInt64 || kind == TypeEnum
	case float32:
		return kind == TypeFloat32
	case float64:
		return kind == TypeFloat64
	case Numeric:
		return kind == TypeNumeric
	case bool:
		return kind == TypeBool
	case Interval:
		return kind == TypeInterval
	case cells.Timestamp:
		return kind == TypeTimestamp
	case Datetime:
		return kind == TypeDatetime
	case Date:
		return kind == TypeDate
	case JSON:
		return kind == TypeJSON
	case Array:
		return kind == TypeArray && !slices.ContainsFunc(v, func(e any) bool { return !t.Of.Fits(e) })
	case Map:
		return kind == TypeMap && !slices.ContainsFunc(v, func(e Entry) bool { return !t.Of.Fits(e.Value) })
	case Struct:
		if kind != TypeStruct || len(v) != len(t.Fields) {
			return false
		}
		for i, e := range v {
			if !t.Fields[i].Type.Fits(e) {
				return false
			}
		}
		return true
	}
	return false
}

func boolInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func ToFloat(v any) float64 {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case float32:
		return float64(v)
	case Numeric:
		return v.Float()
	}
	return v.(float64)
}

// IsNaN reports whether a value is a FLOAT32 or FLOAT64 that is not a number.
func IsNaN(v any) bool {
	switch v := v.(type) {
	case float32:
		return v != v
	case float64:
		return math.IsNaN(v)
	}
	return false
}

// TextOf returns a STRING, or BYTES as a string without a copy. The bytes are never
// changed.
func TextOf(v any) string {
	if b, ok := v.([]byte); ok {
		return unsafe.String(unsafe.SliceData(b), len(b))
	}
	return v.(string)
}
