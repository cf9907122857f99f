package value

import (
	"strconv"
	"strings"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/sql/parse"
)

// A Datetime is a day of the years 1 to 9999 and a time of it, in no time zone: the
// microseconds from 1970-01-01 00:00:00 in a zone whose clocks are never changed.
type Datetime int64

// DatetimeOf is the date and the time of day of a time, in its zone.
func DatetimeOf(t time.Time) (Datetime, error) {
	if year := t.Year(); year < 1 || year > 9999 {
		return 0, parse.Invalid("a time in the year %d is not a DATETIME: years go from 1 to 9999", year)
	}
	_, offset := t.Zone()
	return Datetime(t.UnixMicro() + int64(offset)*1e6), nil
}

// Time is the time in UTC at which clocks show the value.
func (d Datetime) Time() time.Time { return time.UnixMicro(int64(d)).UTC() }

// String ends with no fraction, or one of three or six digits.
func (d Datetime) String() string {
	text := TimestampText(cells.Timestamp(d), time.UTC)
	return text[:len(text)-len("+00")]
}

// ReadDatetime reads a day, and perhaps a time of it.
func ReadDatetime(s string) (Datetime, error) {
	bad := parse.Invalid("%.100q cannot be cast to DATETIME", s)
	trimmed := strings.Trim(s, " \t\n\v\f\r")
	const longest = 40
	if len(trimmed) > longest {
		return 0, bad
	}
	part := timestampForm.FindStringSubmatch(trimmed)
	if part == nil || part[8] != "" {
		return 0, bad
	}
	if len(part[7]) > 6 {
		return 0, parse.Invalid("%.100q has a fraction of %d digits; a DATETIME has up to six", s, len(part[7]))
	}
	n := make([]int, len(part))
	for i := range part {
		n[i], _ = strconv.Atoi(part[i])
	}
	micros, _ := strconv.Atoi((part[7] + "000000")[:6])
	wall, ok := WallTime(n[1], n[2], n[3], n[4], n[5], n[6], micros)
	if !ok {
		return 0, bad
	}
	return DatetimeOf(wall)
}
