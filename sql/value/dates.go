package value

import (
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/sql/parse"
)

// A Date is a day of the years 1 to 9999, as a number of days since 0001-01-01.
type Date int32

const secondsPerDay = 24 * 60 * 60

func NewDate(year, month, day int64) (Date, error) {
	if year >= 1 && year <= 9999 && month >= 1 && month <= 12 && day >= 1 && day <= 31 {
		if t := time.Date(int(year), time.Month(month), int(day), 0, 0, 0, 0, time.UTC); int64(t.Day()) == day {
			return DateOf(t)
		}
	}
	return 0, parse.Invalid("%d-%d-%d is not a DATE", year, month, day)
}

// dateOf is the day of a time in UTC.
func DateOf(t time.Time) (Date, error) {
	t = t.UTC()
	if t.Year() < 1 || t.Year() > 9999 {
		return 0, parse.Invalid("a time in the year %d has no DATE: years go from 1 to 9999", t.Year())
	}
	return Date((t.Unix() - dayOne) / secondsPerDay), nil
}

// TimestampOf is a time as a TIMESTAMP, which covers the years of a DATE.
func TimestampOf(t time.Time) (cells.Timestamp, error) {
	if year := t.UTC().Year(); year < 1 || year > 9999 {
		return 0, parse.Invalid("a time in the year %d is not a TIMESTAMP: years go from 1 to 9999", year)
	}
	return cells.TimestampOf(t), nil
}

// dayOne is 0001-01-01, in seconds from the epoch.
var dayOne = time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC).Unix()

func (d Date) Time() time.Time { return time.Unix(dayOne+int64(d)*secondsPerDay, 0).UTC() }
func (d Date) String() string  { return d.Time().Format(time.DateOnly) }

// UnixUnits are the units of functions that count from the epoch, in microseconds.
var UnixUnits = map[string]int64{"SECONDS": 1_000_000, "MILLIS": 1_000, "MICROS": 1}
