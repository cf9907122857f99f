package function

import (
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/value"
)

// intervals are the functions of INTERVAL.
// https://github.com/google/googlesql/blob/master/docs/interval_functions.md
var intervals = []declaration{
	{"MAKE_INTERVAL(INT64[INT64, INT64, INT64, INT64, INT64]) INTERVAL", func(v []any) (any, error) {
		sum := value.Interval{}
		for i, part := range []string{"YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND"}[:len(v)] {
			of, err := value.IntervalOfPart(v[i].(int64), part)
			if err == nil {
				sum, err = sum.Plus(of)
			}
			if err != nil {
				return nil, err
			}
		}
		return sum, nil
	}},
	{"JUSTIFY_HOURS(INTERVAL) INTERVAL", justified(true, false)},
	{"JUSTIFY_DAYS(INTERVAL) INTERVAL", justified(false, true)},
	{"JUSTIFY_INTERVAL(INTERVAL) INTERVAL", justified(true, true)},
}

func justified(hours, days bool) func([]any) (any, error) {
	return func(v []any) (any, error) { return v[0].(value.Interval).Justified(hours, days) }
}

// AddInterval adds an INTERVAL to a TIMESTAMP or a DATETIME, or subtracts it if the sign is -1:
// months, then days, then the rest. To a TIMESTAMP, whose months depend on its zone, it adds days of
// 24 hours and no months.
func AddInterval(t any, by value.Interval, sign int64) (any, error) {
	if sign < 0 {
		by = by.Negated()
	}
	if ts, ok := t.(cells.Timestamp); ok {
		if by.Months != 0 {
			return nil, parse.Invalid("an INTERVAL with years or months cannot be added to a TIMESTAMP; CAST(… AS DATETIME) takes one")
		}
		return addTimestamp(ts, by.Total(), 1, "MICROSECOND")
	}
	for _, part := range []struct {
		n    int64
		name string
	}{{int64(by.Months), "MONTH"}, {int64(by.Days), "DAY"}, {by.Micros, "MICROSECOND"}} {
		if part.n == 0 {
			continue
		}
		var err error
		if t, err = addDatetime(t.(value.Datetime), part.n, 1, part.name); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// Difference is a - b of two times of one type: days of a DATE, days and the rest of a DATETIME,
// and the rest alone of a TIMESTAMP.
func Difference(a, b any) (any, error) {
	switch a := a.(type) {
	case value.Date:
		return value.NewInterval(0, int64(a)-int64(b.(value.Date)), 0)
	case value.Datetime:
		apart := int64(a) - int64(b.(value.Datetime))
		return value.NewInterval(0, apart/units["DAY"], apart%units["DAY"])
	}
	return value.NewInterval(0, 0, int64(a.(cells.Timestamp))-int64(b.(cells.Timestamp)))
}
