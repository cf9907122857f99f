package function

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/value"
)

// JSONText is a value of a type as TO_JSON_STRING writes it, in one line or in many.
// https://cloud.google.com/bigquery/docs/reference/standard-sql/json_functions#json_encodings
func JSONText(v any, t value.Type, pretty bool) (any, error) {
	b, err := value.JSONString(v, t)
	if err != nil {
		return nil, err
	}
	if pretty {
		return inLines(b)
	}
	return string(b), nil
}

// inLines is a text of JSON with a line for each value.
func inLines(text []byte) (any, error) {
	var lines bytes.Buffer
	if err := json.Indent(&lines, text, "", "  "); err != nil {
		return nil, parse.Invalid("TO_JSON_STRING: %v", err)
	}
	return lines.String(), sized(lines.Len())
}

// CheckJSON says which type the named function, which makes JSON of values, does not take.
func CheckJSON(name string, t value.Type) error {
	switch t.Kind {
	case value.TypeMap, value.TypeMessage, value.TypeEnum:
		return parse.Invalid("%s does not take %s; take columns, and cast messages and enums to STRING", name, t)
	case value.TypeArray:
		if t.Of != nil {
			return CheckJSON(name, *t.Of)
		}
	case value.TypeStruct:
		for _, f := range t.Fields {
			if err := CheckJSON(name, f.Type); err != nil {
				return err
			}
		}
	}
	return nil
}

// parsers are PARSE_JSON of a text, with a wide_number_mode.
var parsers = []long{{"PARSE_JSON(STRING[STRING]) JSON", func(ctx context.Context, v []any) (any, error) {
	round, err := rounds(v, false)
	if err != nil {
		return nil, err
	}
	return value.ParseJSON(ctx, v[0].(string), round)
}}}

// rounds reports whether the second argument, wide_number_mode, says so.
func rounds(v []any, otherwise bool) (bool, error) {
	if len(v) < 2 {
		return otherwise, nil
	}
	switch v[1] {
	case "round":
		return true, nil
	case "exact":
		return false, nil
	}
	return false, parse.Invalid("%.100q is not a wide_number_mode; there are 'exact' and 'round'", v[1])
}

// JSONArray is JSON_ARRAY of values of these types.
func JSONArray(values []any, types []value.Type) (value.JSON, error) {
	b := []byte{'['}
	for i, v := range values {
		if i > 0 {
			b = append(b, ',')
		}
		e, err := value.ToJSON(v, types[i], false)
		if err != nil {
			return "", err
		}
		if b = append(b, e...); len(b) > value.MaxJSON {
			return "", sized(len(b))
		}
	}
	j := value.JSON(append(b, ']'))
	return j, j.Check()
}

// JSONObject is JSON_OBJECT of names, each followed by a value, or of an array of names and
// one of as many values. The first of values with one name counts.
func JSONObject(values []any, types []value.Type) (value.JSON, error) {
	if len(types) == 2 && types[0].Kind == value.TypeArray {
		names, ok := values[0].(value.Array)
		of, also := values[1].(value.Array)
		switch {
		case !ok || !also:
			return "", parse.Invalid("the arrays of JSON_OBJECT cannot be NULL")
		case len(names) != len(of):
			return "", parse.Invalid("JSON_OBJECT has %d names and %d values", len(names), len(of))
		}
		name, element := types[0].Of, types[1].Of
		values, types = nil, nil
		for i := range names {
			values, types = append(values, names[i], of[i]), append(types, *name, *element)
		}
	}
	var made value.Struct
	object := value.Type{Kind: value.TypeStruct}
	for i := 0; i+1 < len(values); i += 2 {
		name, ok := values[i].(string)
		if !ok {
			return "", parse.Invalid("a name of JSON_OBJECT cannot be NULL")
		}
		made, object.Fields = append(made, values[i+1]), append(object.Fields, value.Field{Name: name, Type: types[i+1]})
	}
	return value.ToJSON(made, object, false)
}
