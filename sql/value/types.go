// Package value is the types and the values of SQL: casts, comparison and dates.
package value

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/schema"
)

// A Type is the type of an expression. Values of it are nil for NULL, and:
// []byte, string, int64, float32, float64, Numeric, bool, Interval, cells.Timestamp,
// Datetime, Date, JSON, Array, Struct, Map. A message is its encoded []byte, an enum its number as int64.
type Type struct {
	Kind   Kind
	Of     *Type   // an array's elements, a map's values
	Fields []Field // a struct's
	Proto  *Proto  // a message's or an enum's
}

// A Proto is a message or an enum of a schema bundle.
type Proto struct {
	Bundle string                  // the bundle's id
	Name   string                  // the full name, with its package
	Of     protoreflect.Descriptor // nil where the bundle is not known, as in clients
}

type Field struct {
	Name string
	Type Type
}

type Kind uint8

const (
	TypeNull Kind = iota
	TypeBytes
	TypeString
	TypeInt64
	TypeFloat32
	TypeFloat64
	TypeNumeric
	TypeBool
	TypeInterval
	TypeTimestamp
	TypeDatetime
	TypeDate // the last scalar type
	TypeArray
	TypeStruct
	TypeMap // of qualifiers: a family
	TypeMessage
	TypeEnum
	TypeJSON
)

var TypeNames = map[string]Kind{
	"BYTES": TypeBytes, "STRING": TypeString, "INT64": TypeInt64, "FLOAT32": TypeFloat32,
	"FLOAT64": TypeFloat64, "NUMERIC": TypeNumeric, "BOOL": TypeBool, "INTERVAL": TypeInterval, "TIMESTAMP": TypeTimestamp, "DATETIME": TypeDatetime, "DATE": TypeDate,
	"JSON": TypeJSON,
}

// ScalarNames lists them in messages.
const ScalarNames = "BYTES, STRING, INT64, FLOAT32, FLOAT64, NUMERIC, BOOL, INTERVAL, TIMESTAMP, DATETIME, DATE, JSON"

func (k Kind) String() string {
	for name, kind := range TypeNames {
		if kind == k {
			return name
		}
	}
	return "NULL"
}

func (t Type) String() string {
	switch t.Kind {
	case TypeMap:
		return "MAP<BYTES, " + t.Of.String() + ">"
	case TypeArray:
		return "ARRAY<" + t.Of.String() + ">"
	case TypeStruct:
		fields := make([]string, len(t.Fields))
		for i, f := range t.Fields {
			fields[i] = strings.TrimSpace(f.Name + " " + f.Type.String())
		}
		return "STRUCT<" + strings.Join(fields, ", ") + ">"
	case TypeMessage:
		return "PROTO" + t.Proto.String()
	case TypeEnum:
		return "ENUM" + t.Proto.String()
	}
	return t.Kind.String()
}

func ArrayOf(t Type) Type { return Type{Kind: TypeArray, Of: &t} }
func MapOf(t Type) Type   { return Type{Kind: TypeMap, Of: &t} }

// cellType is a cell in the history of a column.
func CellType(value Type) Type {
	return Type{Kind: TypeStruct, Fields: []Field{{"timestamp", Type{Kind: TypeTimestamp}}, {"value", value}}}
}

// Numeric reports whether values of the type are numbers.
func (t Type) Numeric() bool {
	return t.Kind >= TypeInt64 && t.Kind <= TypeNumeric
}

// Temporal reports whether the type is one of times, which literals of text can be.
func (k Kind) Temporal() bool { return k >= TypeTimestamp && k <= TypeDate }

// Comparable reports whether values of the type have an order.
func (t Type) Comparable() bool { return t.Kind <= TypeDate || t.Kind == TypeEnum }

// Groupable reports whether values of the type can be equal: those that have an order,
// and arrays and structs of such ones.
func (t Type) Groupable() bool {
	switch t.Kind {
	case TypeArray:
		return t.Of.Groupable()
	case TypeStruct:
		return !slices.ContainsFunc(t.Fields, func(f Field) bool { return !f.Type.Groupable() })
	}
	return t.Comparable()
}

// Same reports whether two types are one. A NULL that stands for an enum or a message can
// be of any.
func (t Type) Same(u Type) bool {
	return t.Kind == u.Kind && ((t.Kind == TypeEnum || t.Kind == TypeMessage) && (t.Proto == nil || u.Proto == nil) || t.String() == u.String())
}

// String is the name of the message or enum, as <bundle.package.Name>.
func (p *Proto) String() string {
	if p == nil {
		return ""
	}
	return "<" + p.Bundle + "." + p.Name + ">"
}

func FamilyType(f *schema.Family) Type { return Type{Kind: FamilyKind(f)} }

func FamilyKind(f *schema.Family) Kind {
	if f.Aggregate != schema.NoAggregate {
		return TypeInt64
	}
	switch f.Type {
	case cells.TypeString:
		return TypeString
	case cells.TypeI64, cells.TypeI32, cells.TypeByte:
		return TypeInt64
	case cells.TypeF32:
		return TypeFloat32
	case cells.TypeF64:
		return TypeFloat64
	case cells.TypeBool:
		return TypeBool
	}
	return TypeBytes
}
