package function

import (
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/value"
)

// buckets are the functions that find the beginning of the bucket in which a time lies.
// Without an origin buckets begin at 1950-01-01.
// https://github.com/google/googlesql/blob/master/docs/time-series-functions.md
var buckets = []declaration{
	{"DATE_BUCKET(DATE, INTERVAL INT64 PART[DATE]) DATE", func(v []any) (any, error) {
		origin := bucketOrigin
		if len(v) == 4 {
			origin = v[3].(value.Date)
		}
		return dateBucket(v[0].(value.Date), v[1].(int64), v[2].(string), origin)
	}},
	{"TIMESTAMP_BUCKET(TIMESTAMP, INTERVAL INT64 PART[TIMESTAMP]) TIMESTAMP", func(v []any) (any, error) {
		origin := cells.TimestampOf(bucketOrigin.Time())
		if len(v) == 4 {
			origin = v[3].(cells.Timestamp)
		}
		unit, err := unitOf(v[2].(string))
		if err != nil {
			return nil, err
		}
		n := v[1].(int64)
		if n < 1 || n > farthest/unit {
			return nil, errWidth
		}
		at := int64(v[0].(cells.Timestamp))
		return timestampIn(at - remainder(at-int64(origin), n*unit))
	}},
}

var bucketOrigin, _ = value.NewDate(1950, 1, 1)

var errWidth = parse.Invalid("the width of a bucket must be positive, and at most 10,000 years")

// remainder is never negative.
func remainder(n, by int64) int64 { return (n%by + by) % by }

func timestampIn(micros int64) (any, error) {
	ts, err := value.TimestampOf(cells.Timestamp(micros).Time())
	if err != nil {
		return nil, err
	}
	return ts, nil
}

// dateBucket counts days, or months from a day that is the last of a month where the origin
// is, or has the origin's number, or is the last of a shorter month.
func dateBucket(d value.Date, n int64, part string, origin value.Date) (any, error) {
	if n < 1 || n > 10_000*366 {
		return nil, errWidth
	}
	months := map[string]int64{"MONTH": 1, "QUARTER": 3, "YEAR": 12}[part] * n
	if months == 0 {
		days := map[string]int64{"DAY": 1, "WEEK": 7}[part] * n
		if days == 0 {
			return nil, parse.Invalid("%.100s is not a part of the width of a DATE_BUCKET; there are DAY, WEEK, MONTH, QUARTER and YEAR", part)
		}
		return addDate(d, -remainder(int64(d)-int64(origin), days), 1, "DAY")
	}
	t, from := d.Time(), origin.Time()
	between := int64(t.Year()-from.Year())*12 + int64(t.Month()-from.Month())
	if t.Day() < from.Day() && !(lastOfMonth(t) && lastOfMonth(from)) && between%months == 0 {
		between--
	}
	begin := between - remainder(between, months)
	if begin < -10_000*12 {
		return nil, parse.Invalid("the bucket is not in the years 1 to 9999")
	}
	return addDate(origin, begin, 1, "MONTH")
}

func lastOfMonth(t time.Time) bool { return t.AddDate(0, 0, 1).Day() == 1 }
