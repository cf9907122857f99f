package wire

import (
	"strconv"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/genproto/googleapis/type/date"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/value"
)

// Unnamed is how Bigtable names a column without a name, by its place from 0.
func Unnamed(i int) string { return "$col" + strconv.Itoa(i+1) }

// SQLType is the message of a type of SQL.
func SQLType(t value.Type) *bigtablepb.Type {
	switch t.Kind {
	case value.TypeMap:
		return &bigtablepb.Type{Kind: &bigtablepb.Type_MapType{MapType: &bigtablepb.Type_Map{KeyType: sqlTypes[value.TypeBytes], ValueType: SQLType(*t.Of)}}}
	case value.TypeArray:
		return &bigtablepb.Type{Kind: &bigtablepb.Type_ArrayType{ArrayType: &bigtablepb.Type_Array{ElementType: SQLType(*t.Of)}}}
	case value.TypeStruct:
		s := &bigtablepb.Type_Struct{}
		for _, f := range t.Fields {
			s.Fields = append(s.Fields, &bigtablepb.Type_Struct_Field{FieldName: f.Name, Type: SQLType(f.Type)})
		}
		return &bigtablepb.Type{Kind: &bigtablepb.Type_StructType{StructType: s}}
	case value.TypeMessage:
		return &bigtablepb.Type{Kind: &bigtablepb.Type_ProtoType{ProtoType: &bigtablepb.Type_Proto{SchemaBundleId: t.Proto.Bundle, MessageName: t.Proto.Name}}}
	case value.TypeEnum:
		return &bigtablepb.Type{Kind: &bigtablepb.Type_EnumType{EnumType: &bigtablepb.Type_Enum{SchemaBundleId: t.Proto.Bundle, EnumName: t.Proto.Name}}}
	}
	return sqlTypes[t.Kind]
}

// CheckSQLType is an error if Bigtable's API has no message for a type.
func CheckSQLType(t value.Type) error {
	switch t.Kind {
	case value.TypeNumeric, value.TypeInterval:
		return parse.Invalid("%s, which Bigtable's API has no type for; CAST(… AS STRING) makes a text of it", t)
	case value.TypeJSON:
		return parse.Invalid("%s, which Bigtable's API has no type for; TO_JSON_STRING makes a text of it, and JSON_VALUE one of a value in it", t)
	case value.TypeDatetime:
		return parse.Invalid("%s, which Bigtable's API has no type for; CAST(… AS STRING) makes a text of it, and CAST(… AS TIMESTAMP) the time at which clocks show it in UTC", t)
	case value.TypeArray, value.TypeMap:
		return CheckSQLType(*t.Of)
	}
	for _, f := range t.Fields {
		if err := CheckSQLType(f.Type); err != nil {
			return err
		}
	}
	return nil
}

// sqlTypes are the scalar types. As in GoogleSQL, NULL needs a type.
var sqlTypes = map[value.Kind]*bigtablepb.Type{
	value.TypeNull:      {Kind: &bigtablepb.Type_Int64Type{Int64Type: &bigtablepb.Type_Int64{}}},
	value.TypeBytes:     {Kind: &bigtablepb.Type_BytesType{BytesType: &bigtablepb.Type_Bytes{}}},
	value.TypeString:    {Kind: &bigtablepb.Type_StringType{StringType: &bigtablepb.Type_String{}}},
	value.TypeInt64:     {Kind: &bigtablepb.Type_Int64Type{Int64Type: &bigtablepb.Type_Int64{}}},
	value.TypeFloat32:   {Kind: &bigtablepb.Type_Float32Type{Float32Type: &bigtablepb.Type_Float32{}}},
	value.TypeFloat64:   {Kind: &bigtablepb.Type_Float64Type{Float64Type: &bigtablepb.Type_Float64{}}},
	value.TypeBool:      {Kind: &bigtablepb.Type_BoolType{BoolType: &bigtablepb.Type_Bool{}}},
	value.TypeTimestamp: {Kind: &bigtablepb.Type_TimestampType{TimestampType: &bigtablepb.Type_Timestamp{}}},
	value.TypeDate:      {Kind: &bigtablepb.Type_DateType{DateType: &bigtablepb.Type_Date{}}},
}

// maxNested bounds types within types.
const maxNested = 100

// ReadSQLType is the type of a message. A type that SQL lacks here is an error.
func ReadSQLType(m *bigtablepb.Type) (value.Type, error) { return readSQLType(m, 0) }

func readSQLType(m *bigtablepb.Type, depth int) (value.Type, error) {
	if depth > maxNested {
		return value.Type{}, parse.Invalid("the type of a column is nested too deeply")
	}
	switch k := m.GetKind().(type) {
	case *bigtablepb.Type_ArrayType:
		of, err := readSQLType(k.ArrayType.GetElementType(), depth+1)
		return value.ArrayOf(of), err
	case *bigtablepb.Type_MapType:
		of, err := readSQLType(k.MapType.GetValueType(), depth+1)
		return value.MapOf(of), err
	case *bigtablepb.Type_StructType:
		t := value.Type{Kind: value.TypeStruct}
		for _, f := range k.StructType.GetFields() {
			of, err := readSQLType(f.GetType(), depth+1)
			if err != nil {
				return t, err
			}
			t.Fields = append(t.Fields, value.Field{Name: f.GetFieldName(), Type: of})
		}
		return t, nil
	case *bigtablepb.Type_BytesType:
		return value.Type{Kind: value.TypeBytes}, nil
	case *bigtablepb.Type_StringType:
		return value.Type{Kind: value.TypeString}, nil
	case *bigtablepb.Type_Int64Type:
		return value.Type{Kind: value.TypeInt64}, nil
	case *bigtablepb.Type_Float32Type:
		return value.Type{Kind: value.TypeFloat32}, nil
	case *bigtablepb.Type_Float64Type:
		return value.Type{Kind: value.TypeFloat64}, nil
	case *bigtablepb.Type_BoolType:
		return value.Type{Kind: value.TypeBool}, nil
	case *bigtablepb.Type_TimestampType:
		return value.Type{Kind: value.TypeTimestamp}, nil
	case *bigtablepb.Type_DateType:
		return value.Type{Kind: value.TypeDate}, nil
	case *bigtablepb.Type_ProtoType:
		return value.Type{Kind: value.TypeMessage, Proto: &value.Proto{Bundle: k.ProtoType.GetSchemaBundleId(), Name: k.ProtoType.GetMessageName()}}, nil
	case *bigtablepb.Type_EnumType:
		return value.Type{Kind: value.TypeEnum, Proto: &value.Proto{Bundle: k.EnumType.GetSchemaBundleId(), Name: k.EnumType.GetEnumName()}}, nil
	}
	return value.Type{}, parse.Invalid("a column has a type that is not known: %.100s", m)
}

// ReadSQLValue is the value of a message, nil for NULL: the inverse of [SQLValue].
// It shares the bytes of the message. It is an error if the value is not of the type.
func ReadSQLValue(m *bigtablepb.Value, t value.Type) (any, error) {
	v, ok := readSQLValue(m, t)
	if !ok {
		return nil, parse.Invalid("a value is not a valid %s", t)
	}
	return v, nil
}

func readSQLValue(m *bigtablepb.Value, t value.Type) (v any, ok bool) {
	switch k := m.GetKind().(type) {
	case nil:
		return nil, true
	case *bigtablepb.Value_BytesValue:
		v = k.BytesValue
	case *bigtablepb.Value_StringValue:
		v = k.StringValue
	case *bigtablepb.Value_IntValue:
		v = k.IntValue
	case *bigtablepb.Value_BoolValue:
		v = k.BoolValue
	case *bigtablepb.Value_FloatValue:
		if v = k.FloatValue; t.Kind == value.TypeFloat32 {
			v = float32(k.FloatValue)
		}
	case *bigtablepb.Value_TimestampValue:
		if k.TimestampValue.CheckValid() != nil {
			return nil, false
		}
		v = cells.TimestampOf(k.TimestampValue.AsTime())
	case *bigtablepb.Value_DateValue:
		d, err := value.NewDate(int64(k.DateValue.GetYear()), int64(k.DateValue.GetMonth()), int64(k.DateValue.GetDay()))
		if err != nil {
			return nil, false
		}
		v = d
	case *bigtablepb.Value_ArrayValue:
		return readSQLList(k.ArrayValue.GetValues(), t)
	default:
		return nil, false
	}
	return v, t.Fits(v)
}

// readSQLList is an array, a struct, or a map as an array of arrays of key and value.
func readSQLList(values []*bigtablepb.Value, t value.Type) (v any, ok bool) {
	types := func(int) value.Type { return *t.Of }
	switch {
	case t.Kind == value.TypeMap:
		return readSQLMap(values, *t.Of)
	case t.Kind == value.TypeStruct && len(values) == len(t.Fields):
		types = func(i int) value.Type { return t.Fields[i].Type }
	case t.Kind != value.TypeArray:
		return nil, false
	}
	list := make([]any, len(values))
	for i, m := range values {
		if list[i], ok = readSQLValue(m, types(i)); !ok {
			return nil, false
		}
	}
	if t.Kind == value.TypeStruct {
		return value.Struct(list), true
	}
	return value.Array(list), true
}

func readSQLMap(values []*bigtablepb.Value, of value.Type) (v any, ok bool) {
	all := make(value.Map, len(values))
	for i, m := range values {
		entry := m.GetArrayValue().GetValues()
		if len(entry) != 2 {
			return nil, false
		}
		all[i].Qualifier = string(entry[0].GetBytesValue())
		if all[i].Value, ok = readSQLValue(entry[1], of); !ok {
			return nil, false
		}
	}
	return all, true
}

// SQLValue is the message of a value of SQL, nil for NULL.
func SQLValue(v any) *bigtablepb.Value {
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
	case value.Date:
		year, month, day := v.Time().Date()
		return &bigtablepb.Value{Kind: &bigtablepb.Value_DateValue{DateValue: &date.Date{Year: int32(year), Month: int32(month), Day: int32(day)}}}
	case value.Struct:
		return sqlList(v)
	case value.Array:
		return sqlList(v)
	case value.Map:
		all := make([]*bigtablepb.Value, len(v))
		for i, c := range v {
			all[i] = sqlArray(SQLValue([]byte(c.Qualifier)), SQLValue(c.Value))
		}
		return sqlArray(all...)
	}
	return &bigtablepb.Value{} // NULL
}

func sqlList(vs []any) *bigtablepb.Value {
	all := make([]*bigtablepb.Value, len(vs))
	for i, v := range vs {
		all[i] = SQLValue(v)
	}
	return sqlArray(all...)
}

func sqlArray(vs ...*bigtablepb.Value) *bigtablepb.Value {
	return &bigtablepb.Value{Kind: &bigtablepb.Value_ArrayValue{ArrayValue: &bigtablepb.ArrayValue{Values: vs}}}
}
