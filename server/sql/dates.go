package sql

import (
	"time"

	"github.com/smolwc/smolwc/cells"
)

// A dateValue is a day of the years 1 to 9999, as a number of days since 0001-01-01.
type dateValue int32

const secondsPerDay = 24 * 60 * 60

// newDate is a day of the calendar.
func newDate(year, month, day int64) (dateValue, error) {
	if year >= 1 && year <= 9999 && month >= 1 && month <= 12 && day >= 1 && day <= 31 {
		if t := time.Date(int(year), time.Month(month), int(day), 0, 0, 0, 0, time.UTC); int64(t.Day()) == day {
			return dateOf(t)
		}
	}
	return 0, invalid("%d-%d-%d is not a DATE", year, month, day)
}

// dateOf is the day of a time in UTC.
func dateOf(t time.Time) (dateValue, error) {
	t = t.UTC()
	if t.Year() < 1 || t.Year() > 9999 {
		return 0, invalid("a time in the year %d has no DATE: years go from 1 to 9999", t.Year())
	}
	return dateValue((t.Unix() - dayOne) / secondsPerDay), nil
}

// timestampOf is a time as a TIMESTAMP, which has the years of a DATE.
func timestampOf(t time.Time) (cells.Timestamp, error) {
	if year := t.UTC().Year(); year < 1 || year > 9999 {
		return 0, invalid("a time in the year %d is not a TIMESTAMP: years go from 1 to 9999", year)
	}
	return cells.TimestampOf(t), nil
}

// dayOne is 0001-01-01, in seconds from the epoch.
var dayOne = time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC).Unix()

func (d dateValue) time() time.Time { return time.Unix(dayOne+int64(d)*secondsPerDay, 0).UTC() }
func (d dateValue) String() string  { return d.time().Format(time.DateOnly) }

// unixUnits are the units of functions that count from the epoch, in microseconds.
var unixUnits = map[string]int64{"SECONDS": 1_000_000, "MILLIS": 1_000, "MICROS": 1}

// fromUnix compiles TIMESTAMP_FROM_UNIX_MILLIS and its like.
func (p *Plan) fromUnix(n *node, unit int64) (*expr, error) {
	e, err := p.only(n, typeInt64)
	if err != nil {
		return nil, err
	}
	return mapped(e, valueType{kind: typeTimestamp}, func(v any) (any, error) {
		ts := v.(int64)
		if micros := ts * unit; micros/unit == ts {
			if ts, err := timestampOf(cells.Timestamp(micros).Time()); err == nil {
				return ts, nil
			}
		}
		return nil, p.errorf(n.pos, "%s(%d) is not a TIMESTAMP of the years 1 to 9999", n.text, ts)
	}), nil
}

// toUnix compiles UNIX_MILLIS and its like.
func (p *Plan) toUnix(n *node, unit int64) (*expr, error) {
	e, err := p.only(n, typeTimestamp)
	if err != nil {
		return nil, err
	}
	return mapped(e, valueType{kind: typeInt64}, func(v any) (any, error) {
		micros := int64(v.(cells.Timestamp))
		count := micros / unit
		if micros%unit < 0 { // round down before the epoch too
			count--
		}
		return count, nil
	}), nil
}

// date compiles DATE of a year, a month and a day, or of what can be cast to one.
func (p *Plan) date(n *node) (*expr, error) {
	if len(n.args) == 1 {
		return p.cast(&node{op: opCast, pos: n.pos, text: "DATE", args: n.args})
	}
	if len(n.args) != 3 {
		return nil, p.errorf(n.pos, "DATE takes a year, a month and a day, or one argument")
	}
	parts := make([]*expr, 3)
	for i, what := range []string{"the year of a DATE", "the month of a DATE", "the day of a DATE"} {
		var err error
		if parts[i], err = p.typed(n.args[i], typeInt64, what); err != nil {
			return nil, err
		}
	}
	return combined(parts, valueType{kind: typeDate}, func(v []any) (any, error) {
		d, err := newDate(v[0].(int64), v[1].(int64), v[2].(int64))
		if err != nil {
			return nil, p.placed(err, n.pos)
		}
		return d, nil
	}), nil
}
