package function

import (
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/internal/walltime"
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/value"
)

// ofZones are the elements that a DATETIME does not have.
const ofZones = "Zz"

// datetimes are the functions of DATETIME.
// https://github.com/google/googlesql/blob/master/docs/datetime_functions.md
var datetimes = []declaration{
	{"DATETIME_ADD(DATETIME, INTERVAL INT64 PART) DATETIME", func(v []any) (any, error) {
		return addDatetime(v[0].(value.Datetime), v[1].(int64), 1, v[2].(string))
	}},
	{"DATETIME_SUB(DATETIME, INTERVAL INT64 PART) DATETIME", func(v []any) (any, error) {
		return addDatetime(v[0].(value.Datetime), v[1].(int64), -1, v[2].(string))
	}},
	{"DATETIME_DIFF(DATETIME, DATETIME, PART) INT64", func(v []any) (any, error) {
		a, b, part := v[0].(value.Datetime), v[1].(value.Datetime), v[2].(string)
		unit, ok := units[part]
		if !ok || part == "DAY" {
			days, err := datesOf(a, b)
			if err != nil {
				return nil, err
			}
			return dateDiff(append(days, part))
		}
		return (int64(a)-remainder(int64(a), unit))/unit - (int64(b)-remainder(int64(b), unit))/unit, nil
	}},
	{"DATETIME_TRUNC(DATETIME, PART) DATETIME", func(v []any) (any, error) {
		t, err := truncated(v[0].(value.Datetime).Time(), v[1].(string))
		if err != nil {
			return nil, err
		}
		return datetimeOf(t)
	}},
	{"LAST_DAY(DATETIME[PART]) DATE", func(v []any) (any, error) {
		days, err := datesOf(v[0].(value.Datetime))
		if err != nil {
			return nil, err
		}
		return lastDay(append(days, v[1:]...))
	}},
	{"FORMAT_DATETIME(STRING, DATETIME) STRING", func(v []any) (any, error) {
		return formatted(v[0].(string), v[1].(value.Datetime).Time(), ofZones)
	}},
	{"PARSE_DATETIME(STRING, STRING) DATETIME", func(v []any) (any, error) {
		t, err := parsed(v[0].(string), v[1].(string), time.UTC, ofZones)
		if err != nil {
			return nil, err
		}
		return datetimeOf(t)
	}},
	{"DATETIME(INT64, INT64, INT64, INT64, INT64, INT64) DATETIME", func(v []any) (any, error) {
		day, err := value.NewDate(v[0].(int64), v[1].(int64), v[2].(int64))
		if err != nil {
			return nil, err
		}
		h, m, s := v[3].(int64), v[4].(int64), v[5].(int64)
		if h < 0 || h > 23 || m < 0 || m > 59 || s < 0 || s > 59 {
			return nil, parse.Invalid("%d:%d:%d is not a time of a day", h, m, s)
		}
		return datetimeOf(day.Time().Add(time.Duration(h*3600+m*60+s) * time.Second))
	}},
	{"DATETIME(TIMESTAMP, STRING) DATETIME", func(v []any) (any, error) {
		zone, err := zoneOf(v, 1)
		if err != nil {
			return nil, err
		}
		return datetimeOf(v[0].(cells.Timestamp).Time().In(zone))
	}},
	{"TIMESTAMP(DATETIME, STRING) TIMESTAMP", func(v []any) (any, error) {
		zone, err := zoneOf(v, 1)
		if err != nil {
			return nil, err
		}
		return value.TimestampOf(walltime.At(v[0].(value.Datetime).Time(), zone))
	}},
	{"STRING(DATETIME) STRING", func(v []any) (any, error) { return v[0].(value.Datetime).String(), nil }},
}

// datesOf are the days of times, and room for another argument.
func datesOf(all ...value.Datetime) (days []any, err error) {
	for _, d := range all {
		day, err := value.DateOf(d.Time())
		if err != nil {
			return nil, err
		}
		days = append(days, day)
	}
	return days, nil
}

func datetimeOf(t time.Time) (any, error) {
	d, err := value.DatetimeOf(t)
	if err != nil {
		return nil, err
	}
	return d, nil
}

// addDatetime adds a part of a fixed length, or months as [addDate] does.
func addDatetime(d value.Datetime, n, sign int64, part string) (any, error) {
	if unit, ok := units[part]; ok {
		if n > farthest/unit || n < -farthest/unit {
			return nil, parse.Invalid("the time is not in the years 1 to 9999")
		}
		return datetimeOf((d + value.Datetime(sign*n*unit)).Time())
	}
	days, err := datesOf(d)
	if err != nil {
		return nil, err
	}
	day, err := addDate(days[0].(value.Date), n, sign, part)
	if err != nil {
		return nil, err
	}
	return datetimeOf(day.(value.Date).Time().Add(time.Duration(remainder(int64(d), units["DAY"])) * time.Microsecond))
}
