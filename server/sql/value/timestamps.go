package value

import (
	"cmp"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/server/sql/parse"
)

// TimestampText is a timestamp in a time zone. It has no fraction, or one of three or six
// digits, and the offset of the zone.
func TimestampText(ts cells.Timestamp, zone *time.Location) string {
	layout := "2006-01-02 15:04:05.000000"
	switch {
	case ts%1_000_000 == 0:
		layout = "2006-01-02 15:04:05"
	case ts%1000 == 0:
		layout = "2006-01-02 15:04:05.000"
	}
	t := ts.Time().In(zone)
	if _, offset := t.Zone(); offset%3600 == 0 {
		return t.Format(layout + "-07")
	}
	return t.Format(layout + "-07:00")
}

// timestampForm is a date, a time and a zone: an offset, which follows at once, or a name
// after a space.
var timestampForm = regexp.MustCompile(`^(\d{4}-\d{1,2}-\d{1,2})(?:[ Tt](\d{1,2}:\d{1,2}:\d{1,2}(?:\.\d{0,9})?))?(?:([+-]\d{1,2}(?::\d{2})?)|[Zz]| ([A-Za-z][\w/+-]*))?$`)

// ReadTimestamp reads a timestamp. Without a zone in the text it is in that zone, and with
// one that zone must be UTC.
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
	if name := cmp.Or(part[3], part[4]); name != "" {
		found, err := Zone(name)
		if err != nil {
			return 0, err
		}
		zone = found
	} else if strings.HasSuffix(trimmed, "Z") || strings.HasSuffix(trimmed, "z") {
		zone = time.UTC
	}
	t, err := time.ParseInLocation("2006-1-2 15:4:5", part[1]+" "+cmp.Or(strings.TrimSuffix(part[2], "."), "0:0:0"), zone)
	if err != nil {
		return 0, bad
	}
	return TimestampOf(t)
}

// zones has the time zones that were used, by their names. There are some hundred of them.
var zones sync.Map

var offsetForm = regexp.MustCompile(`^([+-])(\d{1,2})(?::(\d{2}))?$`)

// Zone is the time zone of a name, or of an offset such as +02:00.
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
