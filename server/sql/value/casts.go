package value

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/server/sql/parse"
)

func CanCast(from, to Kind) bool { return slices.Contains(castable[from], to) }

func CastHint(from, to Kind) string {
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
			return rounded(float64(v), to), nil
		case TypeBool:
			return v != 0, nil
		}
	case float64:
		switch to {
		case TypeString:
			return FloatText(v), nil
		case TypeFloat32, TypeFloat64:
			return rounded(v, to), nil
		case TypeInt64:
			r := math.Round(v)
			if !(r >= math.MinInt64 && r < math.MaxInt64) {
				return nil, parse.Invalid("%v cannot be cast to INT64: it is out of range", v)
			}
			return int64(r), nil
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
			return v.Time().UTC().Format("2006-01-02 15:04:05.999999+00"), nil
		case TypeDate:
			return DateOf(v.Time())
		}
	case Date:
		switch to {
		case TypeString:
			return v.String(), nil
		case TypeTimestamp:
			return cells.TimestampOf(v.Time()), nil
		}
	}
	return fails()
}

// FloatText is a FLOAT64 as a STRING: 15 digits, or 17 if they are needed to read the same
// number again.
// https://cloud.google.com/bigquery/docs/reference/standard-sql/conversion_functions#cast_as_string
func FloatText(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 0):
		return strings.Trim(strings.ToLower(strconv.FormatFloat(f, 'g', -1, 64)), "+")
	}
	text := strconv.FormatFloat(f, 'g', 15, 64)
	if back, err := strconv.ParseFloat(text, 64); err == nil && back == f {
		return text
	}
	return strconv.FormatFloat(f, 'g', 17, 64)
}

func rounded(f float64, to Kind) float64 {
	if to == TypeFloat32 {
		return float64(float32(f))
	}
	return f
}

func castString(s string, to Kind) (any, error) {
	trimmed := strings.TrimSpace(s)
	switch to {
	case TypeBytes:
		return []byte(s), nil
	case TypeInt64:
		if n, err := LiteralInt(trimmed); err == nil {
			return n, nil
		}
	case TypeFloat32, TypeFloat64:
		if f, err := strconv.ParseFloat(trimmed, 64); err == nil {
			return rounded(f, to), nil
		}
	case TypeBool:
		switch strings.ToLower(trimmed) {
		case "true":
			return true, nil
		case "false":
			return false, nil
		}
	case TypeDate:
		if t, err := time.Parse("2006-1-2", trimmed); err == nil {
			return DateOf(t)
		}
	case TypeTimestamp:
		for _, layout := range timestampLayouts {
			if t, err := time.Parse(layout, trimmed); err == nil {
				return TimestampOf(t)
			}
		}
	}
	return nil, parse.Invalid("%.100q cannot be cast to %s", s, to)
}

// timestampLayouts are the forms of timestamps; without a zone they are in UTC.
var timestampLayouts = []string{
	time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02", "2006-01-02 15:04:05.999999999",
	"2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999Z07", "2006-01-02 15:04:05.999999999 UTC",
}

// castable says which types can be cast to which others, besides themselves.
var castable = map[Kind][]Kind{
	TypeBytes:     {TypeString},
	TypeString:    {TypeBytes, TypeInt64, TypeFloat32, TypeFloat64, TypeBool, TypeTimestamp, TypeDate},
	TypeInt64:     {TypeString, TypeFloat32, TypeFloat64, TypeBool},
	TypeFloat32:   {TypeString, TypeInt64, TypeFloat64},
	TypeFloat64:   {TypeString, TypeInt64, TypeFloat32},
	TypeBool:      {TypeString, TypeInt64},
	TypeTimestamp: {TypeString, TypeDate},
	TypeDate:      {TypeString, TypeTimestamp},
}

func NumberOf(b []byte, as Kind) (any, error) {
	switch {
	case as == TypeInt64 && len(b) == 8:
		return int64(binary.BigEndian.Uint64(b)), nil
	case as == TypeFloat64 && len(b) == 8:
		return math.Float64frombits(binary.BigEndian.Uint64(b)), nil
	case as == TypeFloat32 && len(b) == 4:
		return float64(math.Float32frombits(binary.BigEndian.Uint32(b))), nil
	}
	return nil, parse.Invalid("%d bytes are not a big-endian %s", len(b), as)
}

// literalInt is the value of an integer as it is written.
func LiteralInt(text string) (int64, error) {
	base := 10
	if strings.Contains(strings.ToLower(text), "0x") {
		base = 0
	}
	return strconv.ParseInt(text, base, 64)
}

// CastElements casts the elements of an array.
func CastElements(to Kind) func(any) (any, error) {
	return func(v any) (any, error) {
		var err error
		array := slices.Clone(v.(Array))
		for i, element := range array {
			if element != nil && err == nil {
				array[i], err = Cast(element, to)
			}
		}
		return array, err
	}
}
