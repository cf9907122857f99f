package value

import (
	"encoding/binary"
	"math"
	"unsafe"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/genproto/googleapis/type/date"
	"google.golang.org/protobuf/types/known/timestamppb"

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

func Message(v any) *bigtablepb.Value {
	switch v := v.(type) {
	case []byte:
		return &bigtablepb.Value{Kind: &bigtablepb.Value_BytesValue{BytesValue: v}}
	case string:
		return &bigtablepb.Value{Kind: &bigtablepb.Value_StringValue{StringValue: v}}
	case int64:
		return &bigtablepb.Value{Kind: &bigtablepb.Value_IntValue{IntValue: v}}
	case float32:
		return &bigtablepb.Value{Kind: &bigtablepb.Value_FloatValue{FloatValue: float64(v)}}
	case float64:
		return &bigtablepb.Value{Kind: &bigtablepb.Value_FloatValue{FloatValue: v}}
	case bool:
		return &bigtablepb.Value{Kind: &bigtablepb.Value_BoolValue{BoolValue: v}}
	case cells.Timestamp:
		return &bigtablepb.Value{Kind: &bigtablepb.Value_TimestampValue{TimestampValue: timestamppb.New(v.Time())}}
	case Date:
		year, month, day := v.Time().Date()
		return &bigtablepb.Value{Kind: &bigtablepb.Value_DateValue{DateValue: &date.Date{Year: int32(year), Month: int32(month), Day: int32(day)}}}
	case Struct:
		return listMessage(v)
	case Array:
		return listMessage(v)
	case Map:
		all := make([]*bigtablepb.Value, len(v))
		for i, c := range v {
			all[i] = arrayMessage(Message([]byte(c.Qualifier)), Message(c.Value))
		}
		return arrayMessage(all...)
	}
	return &bigtablepb.Value{} // NULL
}

func listMessage(vs []any) *bigtablepb.Value {
	all := make([]*bigtablepb.Value, len(vs))
	for i, v := range vs {
		all[i] = Message(v)
	}
	return arrayMessage(all...)
}

func arrayMessage(vs ...*bigtablepb.Value) *bigtablepb.Value {
	return &bigtablepb.Value{Kind: &bigtablepb.Value_ArrayValue{ArrayValue: &bigtablepb.ArrayValue{Values: vs}}}
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
