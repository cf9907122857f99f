package server

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/schema"
)

// A sqlType is the type of an expression. Values of it are nil for NULL, and:
// []byte, string, int64, float64 (also of FLOAT32), bool, cells.Timestamp,
// sqlFamily, sqlHistory, cells.Cell.
type sqlType struct {
	kind sqlTypeKind
	of   sqlTypeKind // a family's values
}

type sqlTypeKind uint8

const (
	typeNull sqlTypeKind = iota
	typeBytes
	typeString
	typeInt64
	typeFloat32
	typeFloat64
	typeBool
	typeTimestamp
	typeMap      // a family: qualifier to value
	typeVersions // a family with its history: qualifier to array
	typeArray    // the history of a column
	typeStruct   // timestamp and value of a cell
)

var sqlTypeNames = map[string]sqlTypeKind{
	"BYTES": typeBytes, "STRING": typeString, "INT64": typeInt64, "FLOAT32": typeFloat32,
	"FLOAT64": typeFloat64, "BOOL": typeBool, "TIMESTAMP": typeTimestamp,
}

func (k sqlTypeKind) String() string {
	for name, kind := range sqlTypeNames {
		if kind == k {
			return name
		}
	}
	return "NULL"
}

func (t sqlType) String() string {
	of := t.of.String()
	switch t.kind {
	case typeMap:
		return "MAP<BYTES, " + of + ">"
	case typeVersions:
		return "MAP<BYTES, ARRAY<STRUCT<timestamp TIMESTAMP, value " + of + ">>>"
	case typeArray:
		return "ARRAY<STRUCT<timestamp TIMESTAMP, value " + of + ">>"
	case typeStruct:
		return "STRUCT<timestamp TIMESTAMP, value " + of + ">"
	}
	return t.kind.String()
}

func (t sqlType) numeric() bool {
	return t.kind == typeInt64 || t.kind == typeFloat32 || t.kind == typeFloat64
}

// comparable reports whether two values of the type can be compared.
func (t sqlType) comparable() bool { return t.kind <= typeTimestamp }

// familyType is what the cells of a family are in SQL.
func familyType(f *schema.Family) sqlTypeKind {
	if f.Aggregate != schema.NoAggregate {
		return typeInt64
	}
	switch f.Type {
	case cells.TypeString:
		return typeString
	case cells.TypeI64, cells.TypeI32, cells.TypeByte:
		return typeInt64
	case cells.TypeF32:
		return typeFloat32
	case cells.TypeF64:
		return typeFloat64
	case cells.TypeBool:
		return typeBool
	}
	return typeBytes
}

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

func (k sqlTypeKind) message() *bigtablepb.Type {
	switch k {
	case typeString:
		return &bigtablepb.Type{Kind: &bigtablepb.Type_StringType{StringType: &bigtablepb.Type_String{}}}
	case typeInt64, typeNull: // as in GoogleSQL, which has to say something
		return &bigtablepb.Type{Kind: &bigtablepb.Type_Int64Type{Int64Type: &bigtablepb.Type_Int64{}}}
	case typeFloat32:
		return &bigtablepb.Type{Kind: &bigtablepb.Type_Float32Type{Float32Type: &bigtablepb.Type_Float32{}}}
	case typeFloat64:
		return &bigtablepb.Type{Kind: &bigtablepb.Type_Float64Type{Float64Type: &bigtablepb.Type_Float64{}}}
	case typeBool:
		return &bigtablepb.Type{Kind: &bigtablepb.Type_BoolType{BoolType: &bigtablepb.Type_Bool{}}}
	case typeTimestamp:
		return &bigtablepb.Type{Kind: &bigtablepb.Type_TimestampType{TimestampType: &bigtablepb.Type_Timestamp{}}}
	}
	return &bigtablepb.Type{Kind: &bigtablepb.Type_BytesType{BytesType: &bigtablepb.Type_Bytes{}}}
}

func (t sqlType) message() *bigtablepb.Type {
	switch t.kind {
	case typeMap:
		return &bigtablepb.Type{Kind: &bigtablepb.Type_MapType{MapType: &bigtablepb.Type_Map{KeyType: typeBytes.message(), ValueType: t.of.message()}}}
	case typeVersions:
		array := sqlType{typeArray, t.of}
		return &bigtablepb.Type{Kind: &bigtablepb.Type_MapType{MapType: &bigtablepb.Type_Map{KeyType: typeBytes.message(), ValueType: array.message()}}}
	case typeArray:
		element := sqlType{typeStruct, t.of}
		return &bigtablepb.Type{Kind: &bigtablepb.Type_ArrayType{ArrayType: &bigtablepb.Type_Array{ElementType: element.message()}}}
	case typeStruct:
		return &bigtablepb.Type{Kind: &bigtablepb.Type_StructType{StructType: &bigtablepb.Type_Struct{Fields: []*bigtablepb.Type_Struct_Field{
			{FieldName: "timestamp", Type: typeTimestamp.message()}, {FieldName: "value", Type: t.of.message()},
		}}}}
	}
	return t.kind.message()
}

// typeOfParam is the type that a parameter is declared with.
func typeOfParam(name string, t *bigtablepb.Type) (sqlType, error) {
	switch t.GetKind().(type) {
	case *bigtablepb.Type_BytesType:
		return sqlType{kind: typeBytes}, nil
	case *bigtablepb.Type_StringType:
		return sqlType{kind: typeString}, nil
	case *bigtablepb.Type_Int64Type:
		return sqlType{kind: typeInt64}, nil
	case *bigtablepb.Type_Float32Type:
		return sqlType{kind: typeFloat32}, nil
	case *bigtablepb.Type_Float64Type:
		return sqlType{kind: typeFloat64}, nil
	case *bigtablepb.Type_BoolType:
		return sqlType{kind: typeBool}, nil
	case *bigtablepb.Type_TimestampType:
		return sqlType{kind: typeTimestamp}, nil
	}
	return sqlType{}, invalid("parameter @%s: its type is not one of BYTES, STRING, INT64, FLOAT32, FLOAT64, BOOL, TIMESTAMP", name)
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
	}
	return nil, invalid("parameter @%s: its value is not a valid one of its type, %s", name, as)
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
		return &bigtablepb.Value{Kind: &bigtablepb.Value_TimestampValue{TimestampValue: timestamppb.New(time.UnixMicro(int64(v)))}}
	case sqlStruct:
		return arrayMessage(sqlMessage(v.at), sqlMessage(v.value))
	case sqlHistory:
		all := make([]*bigtablepb.Value, len(v))
		for i, c := range v {
			all[i] = sqlMessage(c)
		}
		return arrayMessage(all...)
	case sqlFamily:
		all := make([]*bigtablepb.Value, len(v))
		for i, c := range v {
			all[i] = arrayMessage(sqlMessage([]byte(c.qualifier)), sqlMessage(c.value))
		}
		return arrayMessage(all...)
	}
	return &bigtablepb.Value{} // NULL
}

func arrayMessage(vs ...*bigtablepb.Value) *bigtablepb.Value {
	return &bigtablepb.Value{Kind: &bigtablepb.Value_ArrayValue{ArrayValue: &bigtablepb.ArrayValue{Values: vs}}}
}

// A sqlFamily is the columns of a row's family, and a sqlHistory the cells of a
// column, newest first.
type (
	sqlFamily  []sqlEntry
	sqlHistory []sqlStruct
	sqlEntry   struct {
		qualifier string
		value     any
	}
	sqlStruct struct {
		at    cells.Timestamp
		value any
	}
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

// castSQL converts a value, which is not NULL, or says that it cannot.
func castSQL(v any, to sqlTypeKind) (any, error) {
	fails := func() (any, error) { return nil, invalid("a value cannot be cast to %s", to) }
	switch v := v.(type) {
	case []byte:
		if to == typeString && !utf8.Valid(v) {
			return nil, invalid("bytes that are not valid UTF-8 cannot be cast to STRING")
		} else if to == typeString {
			return string(v), nil
		}
	case string:
		return castString(v, to)
	case int64:
		switch to {
		case typeString:
			return strconv.FormatInt(v, 10), nil
		case typeFloat32, typeFloat64:
			return rounded(float64(v), to), nil
		case typeBool:
			return v != 0, nil
		}
	case float64:
		switch to {
		case typeString:
			return strconv.FormatFloat(v, 'g', -1, 64), nil
		case typeFloat32, typeFloat64:
			return rounded(v, to), nil
		case typeInt64:
			r := math.Round(v)
			if !(r >= math.MinInt64 && r < math.MaxInt64) {
				return nil, invalid("%v cannot be cast to INT64: it is out of range", v)
			}
			return int64(r), nil
		}
	case bool:
		switch to {
		case typeString:
			return strconv.FormatBool(v), nil
		case typeInt64:
			return boolInt(v), nil
		}
	case cells.Timestamp:
		if to == typeString {
			return time.UnixMicro(int64(v)).UTC().Format("2006-01-02 15:04:05.999999+00"), nil
		}
	}
	return fails()
}

func rounded(f float64, to sqlTypeKind) float64 {
	if to == typeFloat32 {
		return float64(float32(f))
	}
	return f
}

func castString(s string, to sqlTypeKind) (any, error) {
	trimmed := strings.TrimSpace(s)
	switch to {
	case typeBytes:
		return []byte(s), nil
	case typeInt64:
		if n, err := literalInt(trimmed); err == nil {
			return n, nil
		}
	case typeFloat32, typeFloat64:
		if f, err := strconv.ParseFloat(trimmed, 64); err == nil {
			return rounded(f, to), nil
		}
	case typeBool:
		switch strings.ToLower(trimmed) {
		case "true":
			return true, nil
		case "false":
			return false, nil
		}
	case typeTimestamp:
		for _, layout := range timestampLayouts {
			if t, err := time.Parse(layout, trimmed); err == nil {
				return cells.TimestampOf(t), nil
			}
		}
	}
	return nil, invalid("%.100q cannot be cast to %s", s, to)
}

// timestampLayouts are how timestamps are written, in UTC where there is no zone.
var timestampLayouts = []string{
	time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02", "2006-01-02 15:04:05.999999999",
	"2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999Z07", "2006-01-02 15:04:05.999999999 UTC",
}

// castable says which types can be cast to which others, besides themselves.
var castable = map[sqlTypeKind][]sqlTypeKind{
	typeBytes:     {typeString},
	typeString:    {typeBytes, typeInt64, typeFloat32, typeFloat64, typeBool, typeTimestamp},
	typeInt64:     {typeString, typeFloat32, typeFloat64, typeBool},
	typeFloat32:   {typeString, typeInt64, typeFloat64},
	typeFloat64:   {typeString, typeInt64, typeFloat32},
	typeBool:      {typeString, typeInt64},
	typeTimestamp: {typeString},
}

// numberOf reads the big-endian number that bytes are.
func numberOf(b []byte, as sqlTypeKind) (any, error) {
	switch {
	case as == typeInt64 && len(b) == 8:
		return int64(binary.BigEndian.Uint64(b)), nil
	case as == typeFloat64 && len(b) == 8:
		return math.Float64frombits(binary.BigEndian.Uint64(b)), nil
	case as == typeFloat32 && len(b) == 4:
		return float64(math.Float32frombits(binary.BigEndian.Uint32(b))), nil
	}
	return nil, invalid("%d bytes are not a big-endian %s", len(b), as)
}
