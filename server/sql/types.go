package sql

import (
	"strings"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/schema"
)

// A valueType is the type of an expression. Values of it are nil for NULL, and:
// []byte, string, int64, float64 (also of FLOAT32), bool, cells.Timestamp,
// dateValue, arrayValue, structValue, mapValue.
type valueType struct {
	kind   typeKind
	of     *valueType // an array's elements, a map's values
	fields []field    // a struct's
}

type field struct {
	name string
	typ  valueType
}

type typeKind uint8

const (
	typeNull typeKind = iota
	typeBytes
	typeString
	typeInt64
	typeFloat32
	typeFloat64
	typeBool
	typeTimestamp
	typeDate // the last scalar type
	typeArray
	typeStruct
	typeMap // of qualifiers: a family
)

var typeNames = map[string]typeKind{
	"BYTES": typeBytes, "STRING": typeString, "INT64": typeInt64, "FLOAT32": typeFloat32,
	"FLOAT64": typeFloat64, "BOOL": typeBool, "TIMESTAMP": typeTimestamp, "DATE": typeDate,
}

// scalarNames lists them in messages.
const scalarNames = "BYTES, STRING, INT64, FLOAT32, FLOAT64, BOOL, TIMESTAMP, DATE"

func (k typeKind) String() string {
	for name, kind := range typeNames {
		if kind == k {
			return name
		}
	}
	return "NULL"
}

func (t valueType) String() string {
	switch t.kind {
	case typeMap:
		return "MAP<BYTES, " + t.of.String() + ">"
	case typeArray:
		return "ARRAY<" + t.of.String() + ">"
	case typeStruct:
		fields := make([]string, len(t.fields))
		for i, f := range t.fields {
			fields[i] = strings.TrimSpace(f.name + " " + f.typ.String())
		}
		return "STRUCT<" + strings.Join(fields, ", ") + ">"
	}
	return t.kind.String()
}

func arrayOf(t valueType) valueType { return valueType{kind: typeArray, of: &t} }
func mapOf(t valueType) valueType   { return valueType{kind: typeMap, of: &t} }

// cellType is a cell in the history of a column.
func cellType(value valueType) valueType {
	return valueType{kind: typeStruct, fields: []field{{"timestamp", valueType{kind: typeTimestamp}}, {"value", value}}}
}

func (t valueType) numeric() bool {
	return t.kind == typeInt64 || t.kind == typeFloat32 || t.kind == typeFloat64
}

// comparable reports whether two values of the type can be compared.
func (t valueType) comparable() bool { return t.kind <= typeDate }

// familyType is the SQL type of a family's cells.
func familyType(f *schema.Family) valueType { return valueType{kind: familyKind(f)} }

func familyKind(f *schema.Family) typeKind {
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

func (t valueType) message() *bigtablepb.Type {
	switch t.kind {
	case typeMap:
		return &bigtablepb.Type{Kind: &bigtablepb.Type_MapType{MapType: &bigtablepb.Type_Map{KeyType: typeBytes.message(), ValueType: t.of.message()}}}
	case typeArray:
		return &bigtablepb.Type{Kind: &bigtablepb.Type_ArrayType{ArrayType: &bigtablepb.Type_Array{ElementType: t.of.message()}}}
	case typeStruct:
		s := &bigtablepb.Type_Struct{}
		for _, f := range t.fields {
			s.Fields = append(s.Fields, &bigtablepb.Type_Struct_Field{FieldName: f.name, Type: f.typ.message()})
		}
		return &bigtablepb.Type{Kind: &bigtablepb.Type_StructType{StructType: s}}
	}
	return t.kind.message()
}

func (k typeKind) message() *bigtablepb.Type {
	switch k {
	case typeString:
		return &bigtablepb.Type{Kind: &bigtablepb.Type_StringType{StringType: &bigtablepb.Type_String{}}}
	case typeInt64, typeNull: // as in GoogleSQL, NULL needs a type there
		return &bigtablepb.Type{Kind: &bigtablepb.Type_Int64Type{Int64Type: &bigtablepb.Type_Int64{}}}
	case typeFloat32:
		return &bigtablepb.Type{Kind: &bigtablepb.Type_Float32Type{Float32Type: &bigtablepb.Type_Float32{}}}
	case typeFloat64:
		return &bigtablepb.Type{Kind: &bigtablepb.Type_Float64Type{Float64Type: &bigtablepb.Type_Float64{}}}
	case typeBool:
		return &bigtablepb.Type{Kind: &bigtablepb.Type_BoolType{BoolType: &bigtablepb.Type_Bool{}}}
	case typeDate:
		return &bigtablepb.Type{Kind: &bigtablepb.Type_DateType{DateType: &bigtablepb.Type_Date{}}}
	case typeTimestamp:
		return &bigtablepb.Type{Kind: &bigtablepb.Type_TimestampType{TimestampType: &bigtablepb.Type_Timestamp{}}}
	}
	return &bigtablepb.Type{Kind: &bigtablepb.Type_BytesType{BytesType: &bigtablepb.Type_Bytes{}}}
}
