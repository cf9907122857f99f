package server

import (
	"bytes"
	"cmp"
	"math"
	"strings"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/genproto/googleapis/type/date"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/smolwc/smolwc/cells"
)

// sqlValueOf is a cell's value in SQL.
func sqlValueOf(c *cells.Cell, as sqlTypeKind) (any, error) {
	v := c.Value
	switch as {
	case typeBytes:
		return appendPayload(nil, v), nil
	case typeString:
		if s, ok := v.AsString(); ok {
			return s, nil
		}
	case typeInt64:
		if n, ok := v.Int(); ok {
			return n, nil
		}
	case typeFloat32, typeFloat64:
		if f, ok := v.Float(); ok {
			return f, nil
		}
	case typeBool:
		if b, ok := v.AsBool(); ok {
			return b, nil
		}
	}
	return nil, invalid("%s: a cell is of type %s, and its family is %s in SQL", c.Column(), v.Type(), as)
}

// paramValue is the value of a parameter, nil for NULL.
func paramValue(name string, v *bigtablepb.Value, as sqlType) (any, error) {
	switch k := v.GetKind().(type) {
	case nil:
		return nil, nil
	case *bigtablepb.Value_BytesValue:
		if as.kind == typeBytes {
			return k.BytesValue, nil
		}
	case *bigtablepb.Value_StringValue:
		if as.kind == typeString {
			return k.StringValue, nil
		}
	case *bigtablepb.Value_IntValue:
		if as.kind == typeInt64 {
			return k.IntValue, nil
		}
	case *bigtablepb.Value_FloatValue:
		if as.kind == typeFloat32 || as.kind == typeFloat64 {
			return k.FloatValue, nil
		}
	case *bigtablepb.Value_BoolValue:
		if as.kind == typeBool {
			return k.BoolValue, nil
		}
	case *bigtablepb.Value_TimestampValue:
		if as.kind == typeTimestamp && k.TimestampValue.CheckValid() == nil {
			return cells.TimestampOf(k.TimestampValue.AsTime()), nil
		}
	case *bigtablepb.Value_DateValue:
		if d, err := newDate(int64(k.DateValue.GetYear()), int64(k.DateValue.GetMonth()), int64(k.DateValue.GetDay())); err == nil && as.kind == typeDate {
			return d, nil
		}
	case *bigtablepb.Value_ArrayValue:
		if as.kind == typeArray {
			return arrayParam(name, k.ArrayValue.GetValues(), *as.of)
		}
	}
	return nil, invalid("parameter @%s: its value is not a valid one of its type, %s", name, as)
}

func arrayParam(name string, values []*bigtablepb.Value, of sqlType) (any, error) {
	array := make(sqlArray, len(values))
	for i, v := range values {
		var err error
		if array[i], err = paramValue(name, v, of); err != nil {
			return nil, err
		}
	}
	return array, nil
}

// sqlMessage is a value in a result.
func sqlMessage(v any) *bigtablepb.Value {
	switch v := v.(type) {
	case []byte:
		return &bigtablepb.Value{Kind: &bigtablepb.Value_BytesValue{BytesValue: v}}
	case string:
		return &bigtablepb.Value{Kind: &bigtablepb.Value_StringValue{StringValue: v}}
	case int64:
		return &bigtablepb.Value{Kind: &bigtablepb.Value_IntValue{IntValue: v}}
	case float64:
		return &bigtablepb.Value{Kind: &bigtablepb.Value_FloatValue{FloatValue: v}}
	case bool:
		return &bigtablepb.Value{Kind: &bigtablepb.Value_BoolValue{BoolValue: v}}
	case cells.Timestamp:
		return &bigtablepb.Value{Kind: &bigtablepb.Value_TimestampValue{TimestampValue: timestamppb.New(v.Time())}}
	case sqlDate:
		year, month, day := v.time().Date()
		return &bigtablepb.Value{Kind: &bigtablepb.Value_DateValue{DateValue: &date.Date{Year: int32(year), Month: int32(month), Day: int32(day)}}}
	case sqlStruct:
		return sqlMessages(v)
	case sqlArray:
		return sqlMessages(v)
	case sqlFamily:
		all := make([]*bigtablepb.Value, len(v))
		for i, c := range v {
			all[i] = arrayMessage(sqlMessage([]byte(c.qualifier)), sqlMessage(c.value))
		}
		return arrayMessage(all...)
	}
	return &bigtablepb.Value{} // NULL
}

func sqlMessages(vs []any) *bigtablepb.Value {
	all := make([]*bigtablepb.Value, len(vs))
	for i, v := range vs {
		all[i] = sqlMessage(v)
	}
	return arrayMessage(all...)
}

func arrayMessage(vs ...*bigtablepb.Value) *bigtablepb.Value {
	return &bigtablepb.Value{Kind: &bigtablepb.Value_ArrayValue{ArrayValue: &bigtablepb.ArrayValue{Values: vs}}}
}

// A sqlFamily is the columns of a row's family. The history of a column is an
// array of its cells, newest first, each a struct of timestamp and value.
type (
	sqlFamily []sqlEntry
	sqlEntry  struct {
		qualifier string
		value     any
	}
	sqlArray  []any
	sqlStruct []any
)

// compareSQL orders two values of one type, or two numbers.
func compareSQL(a, b any) (order int, ok bool) {
	switch a := a.(type) {
	case []byte:
		return bytes.Compare(a, b.([]byte)), true
	case string:
		return strings.Compare(a, b.(string)), true
	case cells.Timestamp:
		return cmp.Compare(a, b.(cells.Timestamp)), true
	case sqlDate:
		return cmp.Compare(a, b.(sqlDate)), true
	case bool:
		return cmp.Compare(boolInt(a), boolInt(b.(bool))), true
	case int64:
		if b, ok := b.(int64); ok {
			return cmp.Compare(a, b), true
		}
	}
	x, y := cells.F64(toFloat(a)), cells.F64(toFloat(b))
	if math.IsNaN(toFloat(a)) || math.IsNaN(toFloat(b)) {
		return 0, false
	}
	return cells.Compare(x, y)
}

func boolInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func toFloat(v any) float64 {
	if n, ok := v.(int64); ok {
		return float64(n)
	}
	return v.(float64)
}
