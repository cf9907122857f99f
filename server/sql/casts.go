package sql

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/smolwc/smolwc/cells"
)

// cast compiles CAST and SAFE_CAST.
func (p *Plan) cast(n *node) (*expr, error) {
	to, ok := typeNames[n.text]
	if !ok {
		return nil, p.errorf(n.pos, "type %s is not one of %s", n.text, scalarNames)
	}
	e, err := p.compile(n.args[0])
	if err != nil {
		return nil, err
	}
	from := e.typ.kind
	if from == typeNull || from == to {
		return &expr{typ: valueType{kind: to}, key: e.key, fixed: e.fixed, strict: e.strict, eval: e.eval}, nil
	}
	if !canCast(from, to) {
		return nil, p.errorf(n.pos, "Invalid cast from %s to %s%s", e.typ, to, castHint(from, to))
	}
	return mapped(e, valueType{kind: to}, func(v any) (any, error) {
		c, err := castValue(v, to)
		switch {
		case err == nil:
			return c, nil
		case n.op == opSafeCast:
			return nil, nil
		}
		return nil, p.placed(err, n.pos)
	}), nil
}

func canCast(from, to typeKind) bool { return slices.Contains(castable[from], to) }

func castHint(from, to typeKind) string {
	if from == typeBytes && canCast(typeString, to) {
		return "; CAST(CAST(… AS STRING) AS " + to.String() + ") reads text, TO_INT64, TO_FLOAT32 and TO_FLOAT64 big-endian numbers"
	}
	return ""
}

// castValue converts a value, which is not NULL, or says that it cannot.
func castValue(v any, to typeKind) (any, error) {
	fails := func() (any, error) { return nil, invalid("a value cannot be cast to %s", to) }
	switch v := v.(type) {
	case []byte:
		if to == typeString && !utf8.Valid(v) {
			return nil, invalid("bytes that are not valid UTF-8 cannot be cast to STRING")
		} else if to == typeString {
			return string(v), nil
		}
	case string:
		return castString(v, to)
	case int64:
		switch to {
		case typeString:
			return strconv.FormatInt(v, 10), nil
		case typeFloat32, typeFloat64:
			return rounded(float64(v), to), nil
		case typeBool:
			return v != 0, nil
		}
	case float64:
		switch to {
		case typeString:
			return strconv.FormatFloat(v, 'g', -1, 64), nil
		case typeFloat32, typeFloat64:
			return rounded(v, to), nil
		case typeInt64:
			r := math.Round(v)
			if !(r >= math.MinInt64 && r < math.MaxInt64) {
				return nil, invalid("%v cannot be cast to INT64: it is out of range", v)
			}
			return int64(r), nil
		}
	case bool:
		switch to {
		case typeString:
			return strconv.FormatBool(v), nil
		case typeInt64:
			return boolInt(v), nil
		}
	case cells.Timestamp:
		switch to {
		case typeString:
			return v.Time().UTC().Format("2006-01-02 15:04:05.999999+00"), nil
		case typeDate:
			return dateOf(v.Time())
		}
	case dateValue:
		switch to {
		case typeString:
			return v.String(), nil
		case typeTimestamp:
			return cells.TimestampOf(v.time()), nil
		}
	}
	return fails()
}

func rounded(f float64, to typeKind) float64 {
	if to == typeFloat32 {
		return float64(float32(f))
	}
	return f
}

func castString(s string, to typeKind) (any, error) {
	trimmed := strings.TrimSpace(s)
	switch to {
	case typeBytes:
		return []byte(s), nil
	case typeInt64:
		if n, err := literalInt(trimmed); err == nil {
			return n, nil
		}
	case typeFloat32, typeFloat64:
		if f, err := strconv.ParseFloat(trimmed, 64); err == nil {
			return rounded(f, to), nil
		}
	case typeBool:
		switch strings.ToLower(trimmed) {
		case "true":
			return true, nil
		case "false":
			return false, nil
		}
	case typeDate:
		if t, err := time.Parse("2006-1-2", trimmed); err == nil {
			return dateOf(t)
		}
	case typeTimestamp:
		for _, layout := range timestampLayouts {
			if t, err := time.Parse(layout, trimmed); err == nil {
				return timestampOf(t)
			}
		}
	}
	return nil, invalid("%.100q cannot be cast to %s", s, to)
}

// timestampLayouts are the forms of timestamps; without a zone they are in UTC.
var timestampLayouts = []string{
	time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02", "2006-01-02 15:04:05.999999999",
	"2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999Z07", "2006-01-02 15:04:05.999999999 UTC",
}

// castable says which types can be cast to which others, besides themselves.
var castable = map[typeKind][]typeKind{
	typeBytes:     {typeString},
	typeString:    {typeBytes, typeInt64, typeFloat32, typeFloat64, typeBool, typeTimestamp, typeDate},
	typeInt64:     {typeString, typeFloat32, typeFloat64, typeBool},
	typeFloat32:   {typeString, typeInt64, typeFloat64},
	typeFloat64:   {typeString, typeInt64, typeFloat32},
	typeBool:      {typeString, typeInt64},
	typeTimestamp: {typeString, typeDate},
	typeDate:      {typeString, typeTimestamp},
}

// numberOf decodes a big-endian number.
func numberOf(b []byte, as typeKind) (any, error) {
	switch {
	case as == typeInt64 && len(b) == 8:
		return int64(binary.BigEndian.Uint64(b)), nil
	case as == typeFloat64 && len(b) == 8:
		return math.Float64frombits(binary.BigEndian.Uint64(b)), nil
	case as == typeFloat32 && len(b) == 4:
		return float64(math.Float32frombits(binary.BigEndian.Uint32(b))), nil
	}
	return nil, invalid("%d bytes are not a big-endian %s", len(b), as)
}

// literalInt is the value of an integer as it is written.
func literalInt(text string) (int64, error) { return strconv.ParseInt(text, intBase(text), 64) }

func intBase(text string) int {
	if strings.Contains(strings.ToLower(text), "0x") {
		return 0
	}
	return 10
}
