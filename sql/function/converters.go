package function

import (
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/value"
)

// converters are the functions that take a value of SQL out of a JSON. The LAX_ functions yield
// NULL for a value that cannot be converted.
// https://cloud.google.com/bigquery/docs/reference/standard-sql/json_functions
var converters = func() (list []declaration) {
	type converter = func(raw string, round bool) (any, error)
	add := func(name, of, mode string, convert converter, lax bool) {
		list = append(list, declaration{name + "(JSON" + mode + ") " + of, func(v []any) (any, error) {
			round, err := rounds(v, true)
			if err != nil {
				return nil, err
			}
			return convert(string(v[0].(value.JSON)), round)
		}}, declaration{name + "_ARRAY(JSON" + mode + ") ARRAY<" + of + ">", func(v []any) (any, error) {
			round, err := rounds(v, true)
			if err != nil {
				return nil, err
			}
			parts, ok, err := elementsOf(string(v[0].(value.JSON)))
			if !ok || err != nil {
				if !lax && err == nil {
					err = isNot(string(v[0].(value.JSON)), "an array")
				}
				return nil, err
			}
			all := make(value.Array, len(parts))
			for i, e := range parts {
				if all[i], err = convert(e, round); err != nil {
					return nil, err
				}
			}
			return all, nil
		}})
	}
	add("BOOL", "BOOL", "", jsonBool, false)
	add("INT64", "INT64", "", jsonInt, false)
	add("FLOAT64", "FLOAT64", "[STRING]", jsonFloat64, false)
	add("FLOAT32", "FLOAT32", "[STRING]", jsonFloat32, false)
	add("STRING", "STRING", "", jsonString, false)
	for _, of := range []value.Kind{value.TypeBool, value.TypeInt64, value.TypeFloat64, value.TypeFloat32, value.TypeString} {
		add("LAX_"+of.String(), of.String(), "", func(raw string, _ bool) (any, error) { return lax(raw, of), nil }, true)
	}
	return append(list, declaration{"JSON_TYPE(JSON) STRING", func(v []any) (any, error) { return jsonType(string(v[0].(value.JSON))), nil }})
}()

// jsonType is the result of JSON_TYPE.
func jsonType(raw string) string {
	switch raw[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}

func isNot(raw, what string) error {
	return parse.Invalid("the JSON %.100s is not %s", raw, what)
}

func jsonBool(raw string, _ bool) (any, error) {
	if jsonType(raw) != "boolean" {
		return nil, isNot(raw, "a boolean")
	}
	return raw == "true", nil
}

func jsonString(raw string, _ bool) (any, error) {
	if raw[0] != '"' {
		return nil, isNot(raw, "a string")
	}
	return scalar(raw), nil
}

// jsonInt is a number that is whole, also one written with a point or an exponent.
func jsonInt(raw string, _ bool) (any, error) {
	if n, err := strconv.ParseInt(raw, 10, 64); err == nil {
		return n, nil
	}
	if jsonType(raw) == "number" && strings.ContainsAny(raw, ".e") {
		if f, _ := strconv.ParseFloat(raw, 64); f == math.Trunc(f) && f >= math.MinInt64 && f < math.MaxInt64 {
			return int64(f), nil
		}
	}
	return nil, isNot(raw, "an INT64")
}

func jsonFloat64(raw string, round bool) (any, error) {
	if jsonType(raw) != "number" {
		return nil, isNot(raw, "a number")
	}
	f, _ := strconv.ParseFloat(raw, 64) // of a JSON it is in range
	if !round && !exact(raw, f) {
		return nil, isNot(raw, "a FLOAT64 without loss")
	}
	return f, nil
}

func jsonFloat32(raw string, round bool) (any, error) {
	if jsonType(raw) != "number" {
		return nil, isNot(raw, "a number")
	}
	f, _ := strconv.ParseFloat(raw, 64)
	short, err := value.Cast(f, value.TypeFloat32)
	if err != nil {
		return nil, err
	}
	if !round && (float64(short.(float32)) != f || !exact(raw, f)) {
		return nil, isNot(raw, "a FLOAT32 without loss")
	}
	return short, nil
}

// exact reports whether a number is the FLOAT64 that is nearest to it. As in GoogleSQL no integer
// beyond 2⁵³ counts as one.
func exact(raw string, f float64) bool {
	return strings.ContainsAny(raw, ".e") || math.Abs(f) < 1<<53 || strings.TrimPrefix(raw, "-") == "9007199254740992"
}

// lax is a value as a type, as far as it can be one; nil: it cannot.
func lax(raw string, to value.Kind) any {
	var from any
	switch jsonType(raw) {
	case "boolean":
		if from = raw == "true"; to == value.TypeBool {
			return from
		}
	case "string":
		if from = scalar(raw); to == value.TypeInt64 {
			return roundedInt(from.(string))
		}
		if to == value.TypeString {
			return from
		}
	case "number":
		if from, _ = strconv.ParseFloat(raw, 64); to == value.TypeBool {
			return from != 0.0
		}
		if n, err := strconv.ParseInt(raw, 10, 64); err == nil {
			from = n
		} else if !strings.ContainsAny(raw, ".e") { // beyond INT64
			switch to {
			case value.TypeInt64:
				return nil
			case value.TypeString:
				return strings.Clone(raw)
			}
		}
	default:
		return nil
	}
	v, err := value.Cast(from, to)
	if err != nil {
		return nil
	}
	return v
}

var decimalNumber = regexp.MustCompile(`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$`)

// roundedInt is a decimal number rounded half away from zero; nil: it is no such number, or out of
// the range of INT64.
func roundedInt(s string) any {
	s = strings.Trim(s, " \t\n\v\f\r")
	if !decimalNumber.MatchString(s) {
		return nil
	}
	negative, digits, power := value.Decimal(s)
	const most = 20 // digits are out of range
	switch whole := len(digits) + power; {
	case digits == "" || whole < 0:
		return int64(0)
	case whole > most:
		return nil
	case power >= 0:
		digits += strings.Repeat("0", power)
	default:
		up := digits[whole] >= '5'
		digits = "0" + digits[:whole]
		if n, err := strconv.ParseUint(digits, 10, 64); err == nil && up {
			digits = strconv.FormatUint(n+1, 10)
		}
	}
	if negative {
		digits = "-" + digits
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return nil
	}
	return n
}
