package value

import (
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/internal/walltime"
	"github.com/smolwc/smolwc/sql/parse"
)

// TimestampText is a timestamp in a time zone. It ends with no fraction, or one of three
// or six digits, and the offset of the zone.
func TimestampText(ts cells.Timestamp, zone *time.Location) string {
	layout := "2006-01-02 15:04:05.000000"
	switch {
	case ts%1_000_000 == 0:
		layout = "2006-01-02 15:04:05"
	case ts%1000 == 0:
		layout = "2006-01-02 15:04:05.000"
	}
	t := walltime.InMinutes(ts.Time().In(zone))
	if _, offset := t.Zone(); offset%3600 == 0 {
		return t.Format(layout + "-07")
	}
	return t.Format(layout + "-07:00")
}

// timestampForm is a date, a time and a zone: an offset, which follows at once, or a name
// after a space.
var timestampForm = regexp.MustCompile(`^(\d{4,5})-(\d\d?)-(\d\d?)(?:[ Tt](\d\d?):(\d\d?):(\d\d?)(?:\.(\d+))?)?([Zz]|[+-].+| [A-Za-z].+|[ Tt][+-].+)?$`)

// ReadTimestamp reads a timestamp. Without a zone in the text it is in that zone. Where
// clocks are changed, the offset before the change counts. Second 60 is a leap second,
// and the same as second 0 of the next minute.
func ReadTimestamp(s string, zone *time.Location) (cells.Timestamp, error) {
	bad := parse.Invalid("%.100q cannot be cast to TIMESTAMP", s)
	const longest = 100 // of all texts that are a timestamp
	trimmed := strings.Trim(s, " \t\n\v\f\r")
	if len(trimmed) > longest {
		return 0, bad
	}
	part := timestampForm.FindStringSubmatch(trimmed)
	if part == nil {
		return 0, bad
	}
	switch fraction, name := part[7], part[8]; {
	case len(fraction) > 6:
		return 0, parse.Invalid("%.100q has a fraction of %d digits; a TIMESTAMP has up to six", s, len(fraction))
	case strings.EqualFold(name, "z"):
		zone = time.UTC
	case name != "":
		if strings.ContainsAny(name[:1], " Tt") {
			if name = name[1:]; part[4] != "" && strings.ContainsAny(name[:1], "+-") {
				return 0, bad // an offset follows a time at once
			}
		}
		found, err := Zone(name)
		if err != nil {
			return 0, err
		}
		zone = found
	}
	number := func(i int) int {
		n, _ := strconv.Atoi(part[i])
		return n
	}
	micros, _ := strconv.Atoi((part[7] + "000000")[:6])
	wall, ok := WallTime(number(1), number(2), number(3), number(4), number(5), number(6), micros)
	if !ok {
		return 0, bad
	}
	return TimestampOf(walltime.At(wall, zone))
}

// WallTime is a date and a time of day in UTC, if it exists. Its second may be 60.
func WallTime(year, month, day, hour, minute, second, micros int) (wall time.Time, ok bool) {
	t := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	if t.Year() != year || int(t.Month()) != month || t.Day() != day || hour > 23 || minute > 59 || second > 60 {
		return t, false
	}
	return time.Date(year, time.Month(month), day, hour, minute, second, micros*1000, time.UTC), true
}

// zones caches the time zones that were used, by their names. There are some hundred of
// them.
var zones sync.Map

var offsetForm = regexp.MustCompile(`^(?:UTC)?([+-])(\d\d?)(?::?(\d\d?))?$`)

// Zone is the time zone of a name, or of an offset such as +02:00, -3 or UTC+0530.
func Zone(name string) (*time.Location, error) {
	if part := offsetForm.FindStringSubmatch(name); part != nil {
		hours, _ := strconv.Atoi(part[2])
		minutes, _ := strconv.Atoi(part[3])
		if seconds := hours*3600 + minutes*60; minutes < 60 && seconds <= 14*3600 {
			if part[1] == "-" {
				seconds = -seconds
			}
			return time.FixedZone("", seconds), nil
		}
	}
	if zone, ok := zones.Load(name); ok {
		return zone.(*time.Location), nil
	}
	if name != "" && name != "Local" && name == path.Clean(name) { // a//b would be another name of a/b
		name = strings.Clone(name) // it may lie in a row that is only lent
		if zone, err := time.LoadLocation(name); err == nil {
			zones.Store(name, zone)
			return zone, nil
		}
	}
	return nil, parse.Invalid("%.100q is not a time zone; there are names such as Europe/Paris, and offsets such as +02:00", name)
}
