package sql

import (
	"context"
	"time"
	"unicode/utf8"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/sql/bind"
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/value"
)

// Params are the parameters of a query: their types and, once they are bound, their
// values. The zero Params is empty.
type Params = bind.Params

// NewParams are parameters of these types, by name: scalar types, and arrays of them.
func NewParams(types map[string]value.Type) (Params, error) { return bind.NewParams(types) }

// A Param is a value for the parameter @Name of a query: a string, []byte, int, int64,
// float32, float64, bool, [time.Time], [cells.Timestamp],
// [value.Numeric], [value.Interval], [value.Datetime], [value.Date] or [value.JSON], or a slice of
// string, []byte, int64, float64 or bool for an ARRAY. A nil slice is an empty ARRAY, and nil
// []byte is empty BYTES. Times have a precision of microseconds.
//
// A Param of a view is a string for VIEW_PARAMETERS(Name) in the queries of logical views. The
// text of the query sees it only as the views show it.
type Param struct {
	Name   string // without the @
	Value  any
	OfView bool
}

// ParamsOf are bound parameters.
func ParamsOf(params ...Param) (Params, error) {
	types, values := map[string]value.Type{}, map[string]any{}
	view := map[string]string{}
	for _, p := range params {
		if p.OfView {
			text, ok := p.Value.(string)
			if !ok {
				return Params{}, parse.Invalid("view parameter %q: its value is not a string", p.Name)
			}
			if _, twice := view[p.Name]; twice {
				return Params{}, parse.Invalid("view parameter %q has two values", p.Name)
			}
			view[p.Name] = text
			continue
		}
		if _, twice := types[p.Name]; twice {
			return Params{}, parse.Invalid("parameter @%s has two values", p.Name)
		}
		kind, v := valueOf(p.Value)
		if text, ok := v.(value.JSON); ok {
			j, err := value.ParseJSON(context.Background(), string(text), false)
			if err != nil {
				return Params{}, parse.Invalid("parameter @%s: %v", p.Name, err)
			}
			v = j
		}
		switch v := v.(type) {
		case nil:
			return Params{}, parse.Invalid("parameter @%s: a value of Go's type %T is not supported", p.Name, p.Value)
		case string:
			if !utf8.ValidString(v) {
				return Params{}, parse.Invalid("parameter @%s: a STRING must be UTF-8; []byte are BYTES", p.Name)
			}
		}
		if err := inRange(v); err != nil {
			return Params{}, parse.Invalid("parameter @%s: %v", p.Name, err)
		}
		if types[p.Name] = (value.Type{Kind: kind}); isList(v) {
			types[p.Name] = value.ArrayOf(value.Type{Kind: kind})
		}
		values[p.Name] = v
	}
	ps, err := NewParams(types)
	if err != nil {
		return Params{}, err
	}
	if ps, err = ps.WithView(view); err != nil {
		return Params{}, err
	}
	return ps.Bind(values)
}

// inRange is an error for a time that its type does not have.
func inRange(v any) (err error) {
	switch v := v.(type) {
	case cells.Timestamp:
		_, err = value.TimestampOf(v.Time())
	case value.Datetime:
		_, err = value.DatetimeOf(v.Time())
	case value.Date:
		_, err = value.DateOf(v.Time())
	case value.Interval:
		_, err = value.NewInterval(int64(v.Months), int64(v.Days), v.Micros)
	}
	return err
}

func isList(v any) bool { _, ok := v.(value.Array); return ok }

// valueOf returns a value of Go as one of SQL, and its kind, or the kind of its elements.
func valueOf(v any) (value.Kind, any) {
	switch v := v.(type) {
	case string:
		return value.TypeString, v
	case []byte:
		return value.TypeBytes, v
	case int:
		return value.TypeInt64, int64(v)
	case int64:
		return value.TypeInt64, v
	case float32:
		return value.TypeFloat32, v
	case float64:
		return value.TypeFloat64, v
	case bool:
		return value.TypeBool, v
	case time.Time:
		return value.TypeTimestamp, cells.TimestampOf(v)
	case cells.Timestamp:
		return value.TypeTimestamp, v
	case value.Numeric:
		return value.TypeNumeric, v
	case value.Interval:
		return value.TypeInterval, v
	case value.Datetime:
		return value.TypeDatetime, v
	case value.Date:
		return value.TypeDate, v
	case value.JSON:
		return value.TypeJSON, v
	case []string:
		return value.TypeString, listOf(v)
	case [][]byte:
		return value.TypeBytes, listOf(v)
	case []int64:
		return value.TypeInt64, listOf(v)
	case []float64:
		return value.TypeFloat64, listOf(v)
	case []bool:
		return value.TypeBool, listOf(v)
	}
	return value.TypeNull, nil
}

func listOf[T any](vs []T) value.Array {
	list := make(value.Array, len(vs))
	for i, v := range vs {
		list[i] = v
	}
	return list
}
