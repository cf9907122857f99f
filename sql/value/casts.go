package value

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/sql/parse"
)

func CanCast(from, to Kind) bool { return slices.Contains(castable[from], to) }

func CastHint(from, to Kind) string {
	switch {
	case to == TypeJSON && from == TypeString:
		return "; PARSE_JSON reads a text, and TO_JSON makes a text of JSON of it"
	case to == TypeJSON:
		return "; TO_JSON makes a JSON of a value"
	case from == TypeJSON && to == TypeString:
		return "; TO_JSON_STRING writes a JSON, and STRING(…) is a text in it"
	case from == TypeJSON:
		return "; BOOL, INT64, FLOAT64, STRING and LAX_ before these take a value out of a JSON"
	}
	if from == TypeBytes && CanCast(TypeString, to) {
		return "; CAST(CAST(… AS STRING) AS " + to.String() + ") reads text, TO_INT64, TO_FLOAT32 and TO_FLOAT64 big-endian numbers"
	}
	return ""
}

// castValue converts a value, which is not NULL, or says that it cannot.
func Cast(v any, to Kind) (any, error) {
	fails := func() (any, error) { return nil, parse.Invalid("a value cannot be cast to %s", to) }
	switch v := v.(type) {
	case []byte:
		if to == TypeString && !utf8.Valid(v) {
			return nil, parse.Invalid("bytes that are not valid UTF-8 cannot be cast to STRING")
		} else if to == TypeString {
			return string(v), nil
		}
	case string:
		return castString(v, to)
	case int64:
		switch to {
		case TypeString:
			return strconv.FormatInt(v, 10), nil
		case TypeFloat32, TypeFloat64:
			return rounded(float64(v), to)
		case TypeNumeric:
			return NumericOf(v), nil
		case TypeBool:
			return v != 0, nil
		}
	case float32, float64:
		switch f := ToFloat(v); to {
		case TypeString:
			return FloatText(v), nil
		case TypeFloat32, TypeFloat64:
			return rounded(f, to)
		case TypeInt64:
			r := math.Round(f)
			if !(r >= math.MinInt64 && r < math.MaxInt64) {
				return nil, parse.Invalid("%v cannot be cast to INT64: it is out of range", v)
			}
			return int64(r), nil
		case TypeNumeric:
			n, ok := NumericOfFloat(f)
			if !ok {
				return nil, parse.Invalid("%v cannot be cast to NUMERIC: it is out of range", v)
			}
			return n, nil
		}
	case Numeric:
		switch to {
		case TypeString:
			return v.String(), nil
		case TypeFloat32, TypeFloat64:
			return rounded(v.Float(), to)
		case TypeInt64:
			n, ok := v.Int()
			if !ok {
				return nil, parse.Invalid("%s cannot be cast to INT64: it is out of range", v)
			}
			return n, nil
		}
	case Interval:
		if to == TypeString {
			return v.String(), nil
		}
	case bool:
		switch to {
		case TypeString:
			return strconv.FormatBool(v), nil
		case TypeInt64:
			return boolInt(v), nil
		}
	case cells.Timestamp:
		switch to {
		case TypeString:
			return TimestampText(v, time.UTC), nil
		case TypeDate:
			return DateOf(v.Time())
		case TypeDatetime:
			return DatetimeOf(v.Time().UTC())
		}
	case Datetime:
		switch to {
		case TypeString:
			return v.String(), nil
		case TypeDate:
			return DateOf(v.Time())
		case TypeTimestamp:
			return TimestampOf(v.Time())
		}
	case Date:
		switch to {
		case TypeString:
			return v.String(), nil
		case TypeTimestamp:
			return cells.TimestampOf(v.Time()), nil
		case TypeDatetime:
			return DatetimeOf(v.Time())
		}
	}
	return fails()
}

// FloatText is a FLOAT32 or FLOAT64 as a STRING, in the form of C's %g: 15 digits, or 17 if
// they are needed to read the same number again. A FLOAT32 takes 6 or 8; as GoogleSQL does
// not write a ninth, some are not read again exactly.
// https://github.com/google/googlesql/blob/master/googlesql/base/string_numbers.cc
func FloatText(v any) string {
	f, few, many, bits := ToFloat(v), 15, 17, 64
	if _, short := v.(float32); short {
		few, many, bits = 6, 8, 32
	}
	switch {
	case f == 0:
		return "0" // also of -0
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 0):
		return strings.Trim(strings.ToLower(strconv.FormatFloat(f, 'g', -1, 64)), "+")
	}
	text := strconv.FormatFloat(f, 'g', few, 64)
	if back, err := strconv.ParseFloat(text, bits); err == nil && back == f {
		return text
	}
	return strconv.FormatFloat(f, 'g', many, 64)
}

// rounded is a number in the precision of a type. A finite number stays finite.
func rounded(f float64, to Kind) (any, error) {
	if to != TypeFloat32 {
		return f, nil
	}
	short := float32(f)
	if math.IsInf(float64(short), 0) && !math.IsInf(f, 0) {
		return nil, parse.Invalid("%v cannot be cast to FLOAT32: it is out of range", f)
	}
	return short, nil
}

func castString(s string, to Kind) (any, error) {
	trimmed := strings.Trim(s, " \t\n\v\f\r")
	switch to {
	case TypeBytes:
		return []byte(s), nil
	case TypeInt64:
		if n, err := LiteralInt(trimmed); err == nil {
			return n, nil
		}
	case TypeFloat32, TypeFloat64:
		if f, ok := parseFloat(trimmed, to); ok {
			return f, nil
		}
	case TypeBool:
		switch strings.ToLower(s) { // without spaces around it, as in GoogleSQL
		case "true":
			return true, nil
		case "false":
			return false, nil
		}
	case TypeDate:
		if t, err := time.Parse("2006-1-2", trimmed); err == nil {
			return DateOf(t)
		}
	case TypeNumeric:
		return ReadNumeric(s, false)
	case TypeInterval:
		return ReadInterval(s)
	case TypeDatetime:
		return ReadDatetime(s)
	case TypeTimestamp:
		return ReadTimestamp(s, time.UTC)
	}
	return nil, parse.Invalid("%.100q cannot be cast to %s", s, to)
}

// parseFloat reads a decimal number, an infinity or NaN in any case; nothing else that Go
// reads as a number. A number that is too large for the type is an infinity.
func parseFloat(s string, as Kind) (v any, ok bool) {
	bits := 64
	if as == TypeFloat32 {
		bits = 32
	}
	if unsigned := strings.TrimLeft(s, "+-"); len(s)-len(unsigned) <= 1 && strings.EqualFold(unsigned, "nan") {
		s = unsigned // Go reads no sign here
	}
	f, err := strconv.ParseFloat(s, bits)
	if strings.ContainsAny(s, "xX_") || err != nil && !errors.Is(err, strconv.ErrRange) {
		return nil, false
	}
	if as == TypeFloat32 {
		return float32(f), true
	}
	return f, true
}

// castable says which types can be cast to which others, besides themselves.
var castable = map[Kind][]Kind{
	TypeBytes:     {TypeString},
	TypeString:    {TypeBytes, TypeInt64, TypeFloat32, TypeFloat64, TypeNumeric, TypeBool, TypeInterval, TypeTimestamp, TypeDatetime, TypeDate},
	TypeInt64:     {TypeString, TypeFloat32, TypeFloat64, TypeNumeric, TypeBool},
	TypeFloat32:   {TypeString, TypeInt64, TypeFloat64, TypeNumeric},
	TypeFloat64:   {TypeString, TypeInt64, TypeFloat32, TypeNumeric},
	TypeNumeric:   {TypeString, TypeInt64, TypeFloat32, TypeFloat64},
	TypeInterval:  {TypeString},
	TypeBool:      {TypeString, TypeInt64},
	TypeTimestamp: {TypeString, TypeDatetime, TypeDate},
	TypeDatetime:  {TypeString, TypeTimestamp, TypeDate},
	TypeDate:      {TypeString, TypeTimestamp, TypeDatetime},
}

func NumberOf(b []byte, as Kind) (any, error) {
	switch {
	case as == TypeInt64 && len(b) == 8:
		return int64(binary.BigEndian.Uint64(b)), nil
	case as == TypeFloat64 && len(b) == 8:
		return math.Float64frombits(binary.BigEndian.Uint64(b)), nil
	case as == TypeFloat32 && len(b) == 4:
		return math.Float32frombits(binary.BigEndian.Uint32(b)), nil
	}
	return nil, parse.Invalid("%d bytes are not a big-endian %s", len(b), as)
}

// literalInt is the value of an integer as it is written.
func LiteralInt(text string) (int64, error) {
	base := 10
	if strings.Contains(strings.ToLower(text), "0x") && !strings.Contains(text, "_") {
		base = 0
	}
	return strconv.ParseInt(text, base, 64)
}
