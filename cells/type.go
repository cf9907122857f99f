package cells

import (
	"fmt"
	"math"
	"strings"
)

// A Type is the type of a value, and also the tag byte that its encoding
// starts with, so the numbers never change. The zero Type is no type: a family
// declared without one takes cells of every type.
type Type uint8

// The types of values. Their numbers are on disk.
const (
	TypeAny    Type = 0 // no type; never the type of a value that was written
	TypeBytes  Type = 1 // any bytes
	TypeString Type = 2 // valid UTF-8
	TypeBool   Type = 3
	TypeByte   Type = 4 // unsigned, 8 bits
	TypeI32    Type = 5
	TypeI64    Type = 6
	TypeF32    Type = 7
	TypeF64    Type = 8
)

// typeNames is indexed by Type.
var typeNames = [...]string{"any", "bytes", "string", "bool", "byte", "i32", "i64", "f32", "f64"}

// String is the type's name in YAML and in the language: "i32", "string".
func (t Type) String() string {
	if int(t) < len(typeNames) {
		return typeNames[t]
	}
	return fmt.Sprintf("type(%d)", uint8(t))
}

// Valid reports whether t is one of the types that a value can have.
func (t Type) Valid() bool { return t != TypeAny && int(t) < len(typeNames) }

// Numeric reports whether values of t are numbers: byte, i32, i64, f32, f64.
func (t Type) Numeric() bool { return t >= TypeByte && t <= TypeF64 }

// Bounds are the least and the greatest number of an integer type, 0 and 0 for other
// types.
func (t Type) Bounds() (least, most int64) {
	switch t {
	case TypeByte:
		return 0, math.MaxUint8
	case TypeI32:
		return math.MinInt32, math.MaxInt32
	case TypeI64:
		return math.MinInt64, math.MaxInt64
	}
	return 0, 0
}

// ParseType is the type with this name. An unknown name is an error that lists all
// names.
func ParseType(name string) (Type, error) {
	for i, n := range typeNames[1:] {
		if n == name {
			return Type(i + 1), nil
		}
	}
	return TypeAny, fmt.Errorf("unknown type %q; the types are %s", name, strings.Join(typeNames[1:], ", "))
}
