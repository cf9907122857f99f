package value

import (
	"slices"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/sql/parse"
)

// OfTypeMessage is the type of a column of a result. It is an error if a message has a
// type that SQL lacks here.
func OfTypeMessage(m *bigtablepb.Type) (Type, error) { return typeOf(m, 0) }

// maxNested bounds types within types.
const maxNested = 100

func typeOf(m *bigtablepb.Type, depth int) (Type, error) {
	if depth > maxNested {
		return Type{}, parse.Invalid("the type of a column is nested too deeply")
	}
	switch k := m.GetKind().(type) {
	case *bigtablepb.Type_ArrayType:
		of, err := typeOf(k.ArrayType.GetElementType(), depth+1)
		return ArrayOf(of), err
	case *bigtablepb.Type_MapType:
		of, err := typeOf(k.MapType.GetValueType(), depth+1)
		return MapOf(of), err
	case *bigtablepb.Type_StructType:
		t := Type{Kind: TypeStruct}
		for _, f := range k.StructType.GetFields() {
			of, err := typeOf(f.GetType(), depth+1)
			if err != nil {
				return t, err
			}
			t.Fields = append(t.Fields, Field{f.GetFieldName(), of})
		}
		return t, nil
	case *bigtablepb.Type_BytesType:
		return Type{Kind: TypeBytes}, nil
	case *bigtablepb.Type_StringType:
		return Type{Kind: TypeString}, nil
	case *bigtablepb.Type_Int64Type:
		return Type{Kind: TypeInt64}, nil
	case *bigtablepb.Type_Float32Type:
		return Type{Kind: TypeFloat32}, nil
	case *bigtablepb.Type_Float64Type:
		return Type{Kind: TypeFloat64}, nil
	case *bigtablepb.Type_BoolType:
		return Type{Kind: TypeBool}, nil
	case *bigtablepb.Type_TimestampType:
		return Type{Kind: TypeTimestamp}, nil
	case *bigtablepb.Type_DateType:
		return Type{Kind: TypeDate}, nil
	case *bigtablepb.Type_ProtoType:
		return Type{Kind: TypeMessage, Proto: &Proto{Bundle: k.ProtoType.GetSchemaBundleId(), Name: k.ProtoType.GetMessageName()}}, nil
	case *bigtablepb.Type_EnumType:
		return Type{Kind: TypeEnum, Proto: &Proto{Bundle: k.EnumType.GetSchemaBundleId(), Name: k.EnumType.GetEnumName()}}, nil
	}
	return Type{}, parse.Invalid("a column has a type that is not known: %.100s", m)
}

// OfMessage is the value of a message, nil for NULL: what [Message] made the message of.
func OfMessage(m *bigtablepb.Value, t Type) (any, error) {
	bad := parse.Invalid("a value is not a valid %s", t)
	switch k := m.GetKind().(type) {
	case nil:
		return nil, nil
	case *bigtablepb.Value_BytesValue:
		return k.BytesValue, fits(t, bad, TypeBytes, TypeMessage)
	case *bigtablepb.Value_StringValue:
		return k.StringValue, fits(t, bad, TypeString)
	case *bigtablepb.Value_IntValue:
		return k.IntValue, fits(t, bad, TypeInt64, TypeEnum)
	case *bigtablepb.Value_BoolValue:
		return k.BoolValue, fits(t, bad, TypeBool)
	case *bigtablepb.Value_FloatValue:
		if t.Kind == TypeFloat32 {
			return float32(k.FloatValue), nil
		}
		return k.FloatValue, fits(t, bad, TypeFloat64)
	case *bigtablepb.Value_TimestampValue:
		return cells.TimestampOf(k.TimestampValue.AsTime()), fits(t, bad, TypeTimestamp)
	case *bigtablepb.Value_DateValue:
		d, err := NewDate(int64(k.DateValue.GetYear()), int64(k.DateValue.GetMonth()), int64(k.DateValue.GetDay()))
		if err != nil {
			return nil, err
		}
		return d, fits(t, bad, TypeDate)
	case *bigtablepb.Value_ArrayValue:
		return ofList(k.ArrayValue.GetValues(), t, bad)
	}
	return nil, bad
}

func fits(t Type, bad error, kinds ...Kind) error {
	if slices.Contains(kinds, t.Kind) {
		return nil
	}
	return bad
}

// ofList is an array, a struct, or a map as an array of arrays of key and value.
func ofList(values []*bigtablepb.Value, t Type, bad error) (any, error) {
	types := func(int) Type { return *t.Of }
	switch {
	case t.Kind == TypeMap:
		return ofEntries(values, *t.Of, bad)
	case t.Kind == TypeStruct && len(values) == len(t.Fields):
		types = func(i int) Type { return t.Fields[i].Type }
	case t.Kind != TypeArray:
		return nil, bad
	}
	list := make([]any, len(values))
	for i, v := range values {
		var err error
		if list[i], err = OfMessage(v, types(i)); err != nil {
			return nil, err
		}
	}
	if t.Kind == TypeStruct {
		return Struct(list), nil
	}
	return Array(list), nil
}

func ofEntries(values []*bigtablepb.Value, of Type, bad error) (any, error) {
	m := make(Map, len(values))
	for i, v := range values {
		entry := v.GetArrayValue().GetValues()
		if len(entry) != 2 {
			return nil, bad
		}
		of, err := OfMessage(entry[1], of)
		if err != nil {
			return nil, err
		}
		m[i] = Entry{Qualifier: string(entry[0].GetBytesValue()), Value: of}
	}
	return m, nil
}
