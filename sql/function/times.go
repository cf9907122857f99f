package function

import (
	"strings"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/internal/walltime"
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/value"
)

// times are the functions of DATE and TIMESTAMP. A PART is a word such as DAY.
// https://cloud.google.com/bigquery/docs/reference/standard-sql/timestamp_functions
var times = []declaration{
	{"DATE_ADD(DATE, INTERVAL INT64 PART) DATE", func(v []any) (any, error) { return addDate(v[0].(value.Date), v[1].(int64), 1, v[2].(string)) }},
	{"DATE_SUB(DATE, INTERVAL INT64 PART) DATE", func(v []any) (any, error) { return addDate(v[0].(value.Date), v[1].(int64), -1, v[2].(string)) }},
	{"TIMESTAMP_ADD(TIMESTAMP, INTERVAL INT64 PART) TIMESTAMP", func(v []any) (any, error) {
		return addTimestamp(v[0].(cells.Timestamp), v[1].(int64), 1, v[2].(string))
	}},
	{"TIMESTAMP_SUB(TIMESTAMP, INTERVAL INT64 PART) TIMESTAMP", func(v []any) (any, error) {
		return addTimestamp(v[0].(cells.Timestamp), v[1].(int64), -1, v[2].(string))
	}},
	{"DATE_DIFF(DATE, DATE, PART) INT64", dateDiff},
	{"TIMESTAMP_DIFF(TIMESTAMP, TIMESTAMP, PART) INT64", func(v []any) (any, error) {
		unit, err := unitOf(v[2].(string))
		if err != nil {
			return nil, err
		}
		return (int64(v[0].(cells.Timestamp)) - int64(v[1].(cells.Timestamp))) / unit, nil
	}},
	{"DATE_TRUNC(DATE, PART) DATE", func(v []any) (any, error) {
		t, err := truncated(v[0].(value.Date).Time(), v[1].(string))
		if err != nil {
			return nil, err
		}
		return value.DateOf(t)
	}},
	{"TIMESTAMP_TRUNC(TIMESTAMP, PART[STRING]) TIMESTAMP", func(v []any) (any, error) {
		zone, err := zoneOf(v, 2)
		if err != nil {
			return nil, err
		}
		t, err := truncated(v[0].(cells.Timestamp).Time().In(zone), v[1].(string))
		if err != nil {
			return nil, err
		}
		return value.TimestampOf(t)
	}},
	{"LAST_DAY(DATE[PART]) DATE", lastDay},
	{"DATE(TIMESTAMP, STRING) DATE", func(v []any) (any, error) {
		zone, err := zoneOf(v, 1)
		if err != nil {
			return nil, err
		}
		year, month, day := v[0].(cells.Timestamp).Time().In(zone).Date()
		return value.NewDate(int64(year), int64(month), int64(day))
	}},
	{"TIMESTAMP(STRING, STRING) TIMESTAMP", func(v []any) (any, error) {
		zone, err := zoneOf(v, 1)
		if err != nil {
			return nil, err
		}
		return value.ReadTimestamp(v[0].(string), zone)
	}},
	{"TIMESTAMP(DATE, STRING) TIMESTAMP", func(v []any) (any, error) {
		zone, err := zoneOf(v, 1)
		if err != nil {
			return nil, err
		}
		return value.TimestampOf(walltime.At(v[0].(value.Date).Time(), zone))
	}},
	{"UNIX_DATE(DATE) INT64", func(v []any) (any, error) { return v[0].(value.Date).Time().Unix() / secondsPerDay, nil }},
	{"DATE_FROM_UNIX_DATE(INT64) DATE", func(v []any) (any, error) { return addDate(epoch, v[0].(int64), 1, "DAY") }},
	{"FORMAT_DATE(STRING, DATE) STRING", func(v []any) (any, error) { return formatted(v[0].(string), v[1].(value.Date).Time(), ofTimes) }},
	{"FORMAT_TIMESTAMP(STRING, TIMESTAMP[STRING]) STRING", func(v []any) (any, error) {
		zone, err := zoneOf(v, 2)
		if err != nil {
			return nil, err
		}
		return formatted(v[0].(string), walltime.InMinutes(v[1].(cells.Timestamp).Time().In(zone)), "")
	}},
	{"PARSE_DATE(STRING, STRING) DATE", func(v []any) (any, error) {
		t, err := parsed(v[0].(string), v[1].(string), time.UTC, ofTimes)
		if err != nil {
			return nil, err
		}
		return value.DateOf(t)
	}},
	{"PARSE_TIMESTAMP(STRING, STRING[STRING]) TIMESTAMP", func(v []any) (any, error) {
		zone, err := zoneOf(v, 2)
		if err != nil {
			return nil, err
		}
		t, err := parsed(v[0].(string), v[1].(string), zone, "")
		if err != nil {
			return nil, err
		}
		return value.TimestampOf(t)
	}},
}

const secondsPerDay = 24 * 60 * 60

var epoch, _ = value.NewDate(1970, 1, 1)

// units are the parts of a fixed length, in microseconds.
var units = map[string]int64{"MICROSECOND": 1, "MILLISECOND": 1e3, "SECOND": 1e6, "MINUTE": 60e6, "HOUR": 3600e6, "DAY": secondsPerDay * 1e6}

func unitOf(part string) (int64, error) {
	if unit := units[part]; unit > 0 {
		return unit, nil
	}
	return 0, parse.Invalid("%.100s is not a part of a TIMESTAMP; there are MICROSECOND, MILLISECOND, SECOND, MINUTE, HOUR and DAY", part)
}

// farthest is more microseconds than all years have.
const farthest = 10_000 * 366 * secondsPerDay * 1_000_000

func addTimestamp(ts cells.Timestamp, n, sign int64, part string) (any, error) {
	unit, err := unitOf(part)
	if err != nil {
		return nil, err
	}
	if n > farthest/unit || n < -farthest/unit {
		return nil, parse.Invalid("the time is not in the years 1 to 9999")
	}
	t, err := value.TimestampOf(cells.Timestamp(int64(ts) + sign*n*unit).Time())
	if err != nil {
		return nil, err
	}
	return t, nil
}

// addDate adds days, or months, which end with the last day of a shorter month.
func addDate(d value.Date, n, sign int64, part string) (any, error) {
	days, months := int64(0), int64(0)
	switch part {
	case "DAY":
		days = 1
	case "WEEK":
		days = 7
	case "MONTH":
		months = 1
	case "QUARTER":
		months = 3
	case "YEAR":
		months = 12
	default:
		return nil, parse.Invalid("%.100s cannot be added to a DATE; DAY, WEEK, MONTH, QUARTER and YEAR can", part)
	}
	const most = 10_000 * 366
	if n > most || n < -most {
		return nil, parse.Invalid("the date is not in the years 1 to 9999")
	}
	n *= sign
	t := d.Time()
	if months > 0 {
		year, month, day := t.Date()
		first := time.Date(year, month+time.Month(n*months), 1, 0, 0, 0, 0, time.UTC)
		t = first.AddDate(0, 0, min(day, first.AddDate(0, 1, -1).Day())-1)
	} else {
		t = t.AddDate(0, 0, int(n*days))
	}
	sum, err := value.DateOf(t)
	if err != nil {
		return nil, err
	}
	return sum, nil
}

// dateDiff counts the boundaries of a part between two days.
func dateDiff(v []any) (any, error) {
	a, b := v[0].(value.Date).Time(), v[1].(value.Date).Time()
	months := int64(a.Year()-b.Year())*12 + int64(a.Month()-b.Month())
	switch part := v[2].(string); part {
	case "MONTH":
		return months, nil
	case "QUARTER":
		return int64(a.Year()-b.Year())*4 + int64((a.Month()-1)/3-(b.Month()-1)/3), nil
	case "YEAR":
		return int64(a.Year() - b.Year()), nil
	case "ISOYEAR":
		x, _ := a.ISOWeek()
		y, _ := b.ISOWeek()
		return int64(x - y), nil
	default:
		x, err := truncated(a, part)
		if err != nil {
			return nil, err
		}
		y, err := truncated(b, part)
		days := (x.Unix() - y.Unix()) / secondsPerDay
		if part != "DAY" {
			days /= 7
		}
		return days, err
	}
}

// truncated is the beginning of the part in which a time lies, in its zone. Where clocks
// are changed then, the offset before the change counts.
func truncated(t time.Time, part string) (time.Time, error) {
	year, month, day := t.Date()
	date := func(year int, month time.Month, day int) time.Time {
		return walltime.At(time.Date(year, month, day, 0, 0, 0, 0, time.UTC), t.Location())
	}
	weekday := func(first time.Weekday) time.Time { return date(year, month, day-int(t.Weekday()-first+7)%7) }
	switch part {
	case "DAY":
		return date(year, month, day), nil
	case "WEEK":
		return weekday(time.Sunday), nil
	case "ISOWEEK":
		return weekday(time.Monday), nil
	case "MONTH":
		return date(year, month, 1), nil
	case "QUARTER":
		return date(year, month-(month-1)%3, 1), nil
	case "YEAR":
		return date(year, 1, 1), nil
	case "ISOYEAR":
		iso, _ := t.ISOWeek()
		first := isoYear(iso)
		return date(first.Year(), first.Month(), first.Day()), nil
	}
	if unit, ok := units[part]; ok {
		_, offset := t.Zone()
		micros := t.UnixMicro() + int64(offset)*1e6
		return time.UnixMicro(t.UnixMicro() - (micros%unit+unit)%unit).In(t.Location()), nil
	}
	for first := time.Sunday; first <= time.Saturday; first++ {
		if part == "WEEK("+strings.ToUpper(first.String())+")" {
			return weekday(first), nil
		}
	}
	return t, parse.Invalid("%.100s is not a part that a time can be cut to; there are DAY, WEEK, WEEK(MONDAY), ISOWEEK, MONTH, QUARTER, YEAR, ISOYEAR, and of a TIMESTAMP MICROSECOND, MILLISECOND, SECOND, MINUTE and HOUR", part)
}

// isoYear is the Monday on which an ISO year begins.
func isoYear(year int) time.Time {
	fourth := time.Date(year, 1, 4, 0, 0, 0, 0, time.UTC) // is in the first week
	return fourth.AddDate(0, 0, -int(fourth.Weekday()+6)%7)
}

func lastDay(v []any) (any, error) {
	part := "MONTH"
	if len(v) == 2 {
		part = v[1].(string)
	}
	first, err := truncated(v[0].(value.Date).Time(), part)
	if err != nil {
		return nil, err
	}
	switch part {
	case "MONTH":
		first = first.AddDate(0, 1, -1)
	case "QUARTER":
		first = first.AddDate(0, 3, -1)
	case "YEAR":
		first = first.AddDate(1, 0, -1)
	case "ISOYEAR":
		if first, err = truncated(first.AddDate(0, 0, 53*7+3), part); err != nil {
			return nil, err
		}
		first = first.AddDate(0, 0, -1)
	case "DAY":
		return nil, parse.Invalid("LAST_DAY takes WEEK, ISOWEEK, MONTH, QUARTER, YEAR or ISOYEAR, not DAY")
	default:
		first = first.AddDate(0, 0, 6)
	}
	d, err := value.DateOf(first)
	if err != nil {
		return nil, err
	}
	return d, nil
}

// zoneOf is the time zone of an optional argument: a name, or an offset such as +02:00.
func zoneOf(v []any, i int) (*time.Location, error) {
	if len(v) <= i {
		return time.UTC, nil
	}
	return value.Zone(v[i].(string))
}
