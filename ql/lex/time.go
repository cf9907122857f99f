package lex

import (
	"strconv"
	"strings"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/internal/walltime"
	"github.com/smolwc/smolwc/schema"
)

// A Time is a timestamp as a statement gives it: fixed, or relative to the time when
// the statement runs.
type Time struct {
	Pos Pos
	// Now says that the time is the time of running plus Offset.
	Now    bool
	Offset time.Duration
	// At is the time when Now is false.
	At cells.Timestamp
	// Loose says that At is a date without a zone, taken as UTC.
	Loose bool
}

// In returns the time as one of a zone if it names no zone itself. A nil zone is UTC.
// Where the zone's clocks are changed, the offset before the change counts, as in SQL.
func (t *Time) In(zone *time.Location) *Time {
	if t == nil || !t.Loose {
		return t
	}
	sure := *t
	if sure.Loose = false; zone != nil {
		sure.At = cells.TimestampOf(walltime.At(t.At.Time().UTC(), zone))
	}
	return &sure
}

// Resolve returns the timestamp of a statement that runs at now.
func (t *Time) Resolve(now cells.Timestamp) (cells.Timestamp, error) {
	if t == nil {
		return 0, ErrorAt(Pos{}, "there is no time")
	}
	at := t.At
	if t.Now {
		at = now + cells.Timestamp(t.Offset/time.Microsecond)
	}
	if err := at.Check(); err != nil {
		return 0, ErrorAt(t.Pos, "%s", err)
	}
	return at, nil
}

// String returns the time in the language's syntax, without the @.
func (t *Time) String() string {
	switch {
	case t == nil:
		return ""
	case !t.Now:
		return t.At.String()
	case t.Offset > 0:
		return "now+" + schema.FormatAge(t.Offset)
	case t.Offset < 0:
		return "now-" + schema.FormatAge(-t.Offset)
	}
	return "now"
}

// timeLayouts are the spellings of a date, in UTC unless the text names a zone.
var timeLayouts = []string{
	time.DateOnly,
	time.RFC3339Nano, // with or without fractions
	"2006-01-02T15:04:05.999999999",
	"2006-01-02T15:04Z07:00",
	"2006-01-02T15:04",
}

// ParseTime parses the text after an @: microseconds since 1970, a date, an RFC 3339
// time, now, now-36h.
func ParseTime(at Pos, s string) (*Time, error) {
	t := &Time{Pos: at}
	if s != "" && (isDigit(s[0]) || s[0] == '-') && IsInteger(s) {
		n, err := ParseInteger(s)
		t.At = cells.Timestamp(n)
		switch {
		case err != nil && s[0] == '-':
			return nil, ErrorAt(at, "timestamp %s is negative; timestamps are microseconds from 0 to %d", Clip(s), cells.MaxTimestamp)
		case err != nil:
			return nil, ErrorAt(at, "timestamp %s is too large; timestamps are microseconds from 0 to %d", Clip(s), cells.MaxTimestamp)
		}
		if err := t.At.Check(); err != nil {
			return nil, ErrorAt(at, "%s", err)
		}
		return t, nil
	}
	if len(s) >= 3 && equalKeyword(s[:3], "now") {
		return t.relative(s[3:])
	}
	for _, layout := range timeLayouts {
		when, err := time.Parse(layout, s)
		if err != nil {
			continue
		}
		if when.Nanosecond()%1000 != 0 {
			return nil, ErrorAt(at, "%s has a fraction of more than six digits; timestamps are whole microseconds", Clip(s))
		}
		t.At, t.Loose = cells.TimestampOf(when), !strings.HasSuffix(layout, "Z07:00")
		const day = 24 * 3600 * 1_000_000
		if err := t.At.Check(); err != nil && (!t.Loose || t.At < -day) { // a zone can move it into 1970
			return nil, ErrorAt(at, "%s: %s", Clip(s), err)
		}
		return t, nil
	}
	return nil, ErrorAt(at, "%s is not a timestamp (microseconds, 2024-01-25, 2024-01-25T10:00:00Z, now, now-36h); quote the value if it holds an @", QuoteText(Clip(s)))
}

func (t *Time) relative(s string) (*Time, error) {
	t.Now = true
	if s == "" {
		return t, nil
	}
	age, err := schema.ParseAge(s[1:])
	switch {
	case s[0] != '-' && s[0] != '+':
		return nil, ErrorAt(t.Pos, "%s is not a timestamp; after now comes - or + and an age, as in now-36h", QuoteText(Clip("now"+s)))
	case err != nil:
		return nil, ErrorAt(t.Pos, "%s", err)
	case s[0] == '-':
		age = -age
	}
	t.Offset = age
	return t, nil
}

// FormatTimestamp writes a cell's timestamp for people and in the syntax after an @:
// RFC 3339 in a zone, in UTC if zone is nil. Before 1970-01-12 (versions numbered by hand) and after the year
// 9999 it writes microseconds.
func FormatTimestamp(ts cells.Timestamp, zone *time.Location) string {
	const readableFrom, readableTo = 1_000_000_000_000, 253_402_300_800_000_000
	if ts < readableFrom || ts >= readableTo {
		return strconv.FormatInt(int64(ts), 10)
	}
	at := ts.Time()
	if zone != nil {
		at = walltime.InMinutes(at.In(zone))
	}
	return at.Format("2006-01-02T15:04:05.999999Z07:00")
}
