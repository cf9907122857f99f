package sql

import (
	"reflect"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/server/sql/parse"
	"github.com/smolwc/smolwc/server/sql/value"
)

// Params are the parameters of a query: their types and, once they are bound,
// their values. The zero Params has no parameters.
type Params struct {
	types  map[string]value.Type
	values map[string]any // nil until they are bound
}

// NewParams are parameters of these types, by name.
func NewParams(types map[string]*bigtablepb.Type) (Params, error) {
	ps := Params{types: make(map[string]value.Type, len(types))}
	for name, t := range types {
		var err error
		if ps.types[name], err = typeOfParam(name, t); err != nil {
			return Params{}, err
		}
	}
	return ps, nil
}

// Bind returns the parameters with values. Each parameter must have one. The
// values share the bytes of the messages.
func (ps Params) Bind(values map[string]*bigtablepb.Value) (Params, error) {
	bound := Params{types: ps.types, values: make(map[string]any, len(ps.types))}
	for name, t := range ps.types {
		v, ok := values[name]
		if !ok {
			return Params{}, parse.Invalid("parameter @%s has no value", name)
		}
		var err error
		if bound.values[name], err = paramValue(name, v, t); err != nil {
			return Params{}, err
		}
	}
	for name := range values {
		if _, ok := ps.types[name]; !ok {
			return Params{}, parse.Invalid("the query has no parameter @%s", name)
		}
	}
	return bound, nil
}

func (ps Params) bound() bool { return ps.values != nil }

// typeOfParam is the type that a parameter is declared with.
func typeOfParam(name string, t *bigtablepb.Type) (value.Type, error) {
	for kind := value.TypeBytes; kind <= value.TypeDate; kind++ {
		if reflect.TypeOf(value.TypeMessages[kind].Kind) == reflect.TypeOf(t.GetKind()) {
			return value.Type{Kind: kind}, nil
		}
	}
	if array := t.GetArrayType(); array != nil {
		if of, err := typeOfParam(name, array.GetElementType()); err == nil && of.Kind != value.TypeArray {
			return value.ArrayOf(of), nil
		}
	}
	return value.Type{}, parse.Invalid("parameter @%s: its type is not one of %s, or an ARRAY of one", name, value.ScalarNames)
}

// paramValue is the value of a parameter, nil for NULL.
func paramValue(name string, v *bigtablepb.Value, as value.Type) (any, error) {
	switch k := v.GetKind().(type) {
	case nil:
		return nil, nil
	case *bigtablepb.Value_BytesValue:
		if as.Kind == value.TypeBytes {
			return k.BytesValue, nil
		}
	case *bigtablepb.Value_StringValue:
		if as.Kind == value.TypeString {
			return k.StringValue, nil
		}
	case *bigtablepb.Value_IntValue:
		if as.Kind == value.TypeInt64 {
			return k.IntValue, nil
		}
	case *bigtablepb.Value_FloatValue:
		switch as.Kind {
		case value.TypeFloat32:
			return float32(k.FloatValue), nil
		case value.TypeFloat64:
			return k.FloatValue, nil
		}
	case *bigtablepb.Value_BoolValue:
		if as.Kind == value.TypeBool {
			return k.BoolValue, nil
		}
	case *bigtablepb.Value_TimestampValue:
		if as.Kind == value.TypeTimestamp && k.TimestampValue.CheckValid() == nil {
			return cells.TimestampOf(k.TimestampValue.AsTime()), nil
		}
	case *bigtablepb.Value_DateValue:
		if d, err := value.NewDate(int64(k.DateValue.GetYear()), int64(k.DateValue.GetMonth()), int64(k.DateValue.GetDay())); err == nil && as.Kind == value.TypeDate {
			return d, nil
		}
	case *bigtablepb.Value_ArrayValue:
		if as.Kind == value.TypeArray {
			return arrayParam(name, k.ArrayValue.GetValues(), *as.Of)
		}
	}
	return nil, parse.Invalid("parameter @%s: the value is not a valid %s", name, as)
}

func arrayParam(name string, values []*bigtablepb.Value, of value.Type) (any, error) {
	array := make(value.Array, len(values))
	for i, v := range values {
		var err error
		if array[i], err = paramValue(name, v, of); err != nil {
			return nil, err
		}
	}
	return array, nil
}
