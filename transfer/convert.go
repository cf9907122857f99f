package transfer

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/smolwc/smolwc/cells"
)

// convert parses text as a value of a type; problem says why it cannot.
//
// Spaces around numbers and booleans are ignored. Whole numbers may end in ".0", as
// tools write them that have only floating point; they are never rounded. Booleans are
// true, false, t, f, 1, 0, in any case.
func convert(text string, typ cells.Type) (v cells.Value, problem string) {
	switch typ {
	case cells.TypeString:
		if !utf8.ValidString(text) {
			return v, quote(text) + " is not valid UTF-8; a column of type bytes takes it, and encoding= reads other encodings"
		}
		v = cells.String(text)
	case cells.TypeBytes:
		v = cells.Bytes([]byte(text))
	case cells.TypeBool:
		b, err := strconv.ParseBool(strings.ToLower(strings.TrimSpace(text)))
		if err != nil {
			return v, quote(text) + " is not a bool; true, false, 1 and 0 are"
		}
		v = cells.Bool(b)
	case cells.TypeByte, cells.TypeI32, cells.TypeI64:
		return whole(text, typ)
	case cells.TypeF32, cells.TypeF64:
		return floating(text, typ)
	default:
		return v, "cannot be read as " + typ.String()
	}
	if v.Len() > cells.MaxValue {
		return cells.Value{}, fmt.Sprintf("is %d bytes long; a value has at most %d", v.Len(), cells.MaxValue)
	}
	return v, ""
}

func whole(text string, typ cells.Type) (v cells.Value, problem string) {
	least, most := typ.Bounds()
	digits := strings.TrimSpace(text)
	if i := strings.IndexByte(digits, '.'); i > 0 && strings.Trim(digits[i+1:], "0") == "" {
		digits = digits[:i]
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return v, fmt.Sprintf("%s is not a whole number; %s is %d to %d", quote(text), typ, least, most)
	}
	v, fits := cells.Integer(typ, n)
	if err != nil || !fits {
		return v, fmt.Sprintf("%s does not fit %s, which is %d to %d", quote(text), typ, least, most)
	}
	return v, ""
}

func floating(text string, typ cells.Type) (v cells.Value, problem string) {
	bits := 64
	if typ == cells.TypeF32 {
		bits = 32
	}
	if v, ok := parseNaN(strings.TrimSpace(text), typ); ok {
		return v, ""
	}
	f, err := strconv.ParseFloat(strings.TrimSpace(text), bits)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return v, fmt.Sprintf("%s does not fit %s", quote(text), typ)
	case err != nil:
		return v, fmt.Sprintf("%s is not a number; the column takes %s", quote(text), typ)
	case bits == 32:
		return cells.F32(float32(f)), ""
	}
	return cells.F64(f), ""
}

// timeLayouts are the spellings of a timestamp, besides microseconds. A spelling
// without a zone is UTC.
var timeLayouts = [...]string{time.RFC3339Nano, "2006-01-02", "2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04", "2006-01-02T15:04"}

// parseTimestamp parses a cell's timestamp; problem says why it cannot.
func parseTimestamp(text string) (ts cells.Timestamp, problem string) {
	s := strings.TrimSpace(text)
	if isDigits(strings.TrimPrefix(s, "-")) {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return 0, fmt.Sprintf("timestamp %s is out of range; timestamps are microseconds from 0 to %d", s, cells.MaxTimestamp)
		}
		ts = cells.Timestamp(n)
	} else {
		t, ok := parseTime(s)
		if !ok {
			return 0, quote(text) + " is not a timestamp; microseconds since 1970, 2024-01-25, and 2024-01-25T10:00:00Z are"
		}
		ts = cells.TimestampOf(t)
	}
	if err := ts.Check(); err != nil {
		return 0, err.Error()
	}
	return ts, ""
}

func parseTime(s string) (time.Time, bool) {
	for _, layout := range timeLayouts {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}
