package wire_test

import (
	"math"
	"reflect"
	"testing"
	"time"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/genproto/googleapis/type/date"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/sql/value"
)

// typedValue is a type of SQL, and a value of it or NULL.
func typedValue(r *rapid.T, depth int) (value.Type, any) {
	kinds := []value.Kind{value.TypeBytes, value.TypeString, value.TypeInt64, value.TypeFloat32, value.TypeFloat64, value.TypeBool, value.TypeTimestamp, value.TypeDate, value.TypeMessage, value.TypeEnum}
	if depth > 0 {
		kinds = append(kinds, value.TypeArray, value.TypeStruct, value.TypeMap)
	}
	t := value.Type{Kind: rapid.SampledFrom(kinds).Draw(r, "kind")}
	var v any
	switch t.Kind {
	case value.TypeMessage, value.TypeEnum:
		if t.Proto = (&value.Proto{Bundle: "b", Name: "p.N"}); t.Kind == value.TypeEnum {
			v = rapid.Int64().Draw(r, "enum")
		} else {
			v = rapid.SliceOf(rapid.Byte()).Draw(r, "message")
		}
	case value.TypeBytes:
		v = rapid.SliceOf(rapid.Byte()).Draw(r, "bytes")
	case value.TypeString:
		v = rapid.String().Draw(r, "string")
	case value.TypeInt64:
		v = rapid.Int64().Draw(r, "int")
	case value.TypeFloat32:
		v = rapid.Float32().Draw(r, "float32")
	case value.TypeFloat64:
		v = rapid.Float64().Draw(r, "float64")
	case value.TypeBool:
		v = rapid.Bool().Draw(r, "bool")
	case value.TypeTimestamp:
		at := time.Date(rapid.IntRange(1, 9999).Draw(r, "year"), 12, 31, 23, 59, 59, 999_999_000, time.UTC)
		v = cells.TimestampOf(at)
	case value.TypeDate:
		v, _ = value.NewDate(int64(rapid.IntRange(1, 9999).Draw(r, "year")), 12, 31)
	case value.TypeArray:
		of, e := typedValue(r, depth-1)
		t, v = value.ArrayOf(of), value.Array{e, nil}
	case value.TypeMap:
		of, e := typedValue(r, depth-1)
		t, v = value.MapOf(of), value.Map{{Qualifier: "q", Value: e}, {Qualifier: "\xff"}}
	case value.TypeStruct:
		fields := value.Struct{}
		for range rapid.IntRange(0, 3).Draw(r, "fields") {
			of, e := typedValue(r, depth-1)
			t.Fields, fields = append(t.Fields, value.Field{Name: rapid.StringN(0, 3, 9).Draw(r, "name"), Type: of}), append(fields, e)
		}
		v = fields
	}
	if rapid.IntRange(0, 9).Draw(r, "null") == 0 {
		v = nil
	}
	return t, v
}

func TestValuesOfSQLAreReadAsTheyWereWritten(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		typ, v := typedValue(r, 3)
		if back, err := wire.ReadSQLType(wire.SQLType(typ)); err != nil || !reflect.DeepEqual(back, typ) {
			r.Fatalf("the type %v reads as %v, %v", typ, back, err)
		}
		back, err := wire.ReadSQLValue(wire.SQLValue(v), typ)
		if err != nil || !reflect.DeepEqual(back, v) {
			r.Fatalf("%v %#v reads as %#v, %v", typ, v, back, err)
		}
	})
}

// A value of another type is an error, never a value that looks right.
func TestValuesOfSQLThatAreOfAnotherType(t *testing.T) {
	number, text := &bigtablepb.Value{Kind: &bigtablepb.Value_IntValue{IntValue: 7}}, &bigtablepb.Value{Kind: &bigtablepb.Value_StringValue{StringValue: "7"}}
	list := func(of ...*bigtablepb.Value) *bigtablepb.Value {
		return &bigtablepb.Value{Kind: &bigtablepb.Value_ArrayValue{ArrayValue: &bigtablepb.ArrayValue{Values: of}}}
	}
	of := func(k value.Kind) value.Type { return value.Type{Kind: k} }
	pair := value.Type{Kind: value.TypeStruct, Fields: []value.Field{{Name: "a", Type: of(value.TypeInt64)}, {Name: "b", Type: of(value.TypeString)}}}
	for name, c := range map[string]struct {
		m *bigtablepb.Value
		t value.Type
	}{
		"an integer as FLOAT64":   {number, of(value.TypeFloat64)},
		"an integer as FLOAT32":   {number, of(value.TypeFloat32)},
		"a text as INT64":         {text, of(value.TypeInt64)},
		"a text as BYTES":         {text, of(value.TypeBytes)},
		"a float as INT64":        {&bigtablepb.Value{Kind: &bigtablepb.Value_FloatValue{FloatValue: math.Pi}}, of(value.TypeInt64)},
		"a day that is not":       {&bigtablepb.Value{Kind: &bigtablepb.Value_DateValue{DateValue: &date.Date{Year: 2023, Month: 2, Day: 29}}}, of(value.TypeDate)},
		"a time that is not":      {&bigtablepb.Value{Kind: &bigtablepb.Value_TimestampValue{TimestampValue: &timestamppb.Timestamp{Nanos: -1}}}, of(value.TypeTimestamp)},
		"an element":              {list(number, text), value.ArrayOf(of(value.TypeInt64))},
		"an array as a scalar":    {list(number), of(value.TypeInt64)},
		"a field too few":         {list(number), pair},
		"a field of another type": {list(text, text), pair},
		"an entry without value":  {list(list(text)), value.MapOf(of(value.TypeString))},
		"a value of another map":  {list(list(text, number)), value.MapOf(of(value.TypeString))},
		"a raw value":             {&bigtablepb.Value{Kind: &bigtablepb.Value_RawValue{}}, of(value.TypeBytes)},
	} {
		if v, err := wire.ReadSQLValue(c.m, c.t); err == nil {
			t.Errorf("%s: read as %#v", name, v)
		}
	}
}
