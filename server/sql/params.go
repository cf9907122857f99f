package sql

import (
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"

	"github.com/smolwc/smolwc/cells"
)

// Params are the parameters of a query: their types and, once they are bound,
// their values. The zero Params has no parameters.
type Params struct {
	types  map[string]valueType
	values map[string]any // nil until they are bound
}

// NewParams are parameters of these types, by name.
func NewParams(types map[string]*bigtablepb.Type) (Params, error) {
	ps := Params{types: make(map[string]valueType, len(types))}
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
			return Params{}, invalid("parameter @%s has no value", name)
		}
		var err error
		if bound.values[name], err = paramValue(name, v, t); err != nil {
			return Params{}, err
		}
	}
	for name := range values {
		if _, ok := ps.types[name]; !ok {
			return Params{}, invalid("parameter @%s is not one of the query's", name)
		}
	}
	return bound, nil
}

func (ps Params) bound() bool { return ps.values != nil }

// typeOfParam is the type that a parameter is declared with.
func typeOfParam(name string, t *bigtablepb.Type) (valueType, error) {
	switch t.GetKind().(type) {
	case *bigtablepb.Type_BytesType:
		return valueType{kind: typeBytes}, nil
	case *bigtablepb.Type_StringType:
		return valueType{kind: typeString}, nil
	case *bigtablepb.Type_Int64Type:
		return valueType{kind: typeInt64}, nil
	case *bigtablepb.Type_Float32Type:
		return valueType{kind: typeFloat32}, nil
	case *bigtablepb.Type_Float64Type:
		return valueType{kind: typeFloat64}, nil
	case *bigtablepb.Type_BoolType:
		return valueType{kind: typeBool}, nil
	case *bigtablepb.Type_TimestampType:
		return valueType{kind: typeTimestamp}, nil
	case *bigtablepb.Type_DateType:
		return valueType{kind: typeDate}, nil
	case *bigtablepb.Type_ArrayType:
		if of, err := typeOfParam(name, t.GetArrayType().GetElementType()); err == nil && of.kind != typeArray {
			return arrayOf(of), nil
		}
	}
	return valueType{}, invalid("parameter @%s: its type is not one of %s, or an ARRAY of one", name, scalarNames)
}

// paramValue is the value of a parameter, nil for NULL.
func paramValue(name string, v *bigtablepb.Value, as valueType) (any, error) {
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
	return nil, invalid("parameter @%s: the value is not a valid %s", name, as)
}

func arrayParam(name string, values []*bigtablepb.Value, of valueType) (any, error) {
	array := make(arrayValue, len(values))
	for i, v := range values {
		var err error
		if array[i], err = paramValue(name, v, of); err != nil {
			return nil, err
		}
	}
	return array, nil
}
