package bind

import (
	"slices"
	"strings"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/run"
	"github.com/smolwc/smolwc/sql/value"
)

// timeParts are the parts that EXTRACT takes of a TIMESTAMP in UTC; a DATE allows only parts
// from the day up. DAYOFWEEK counts from Sunday, which is 1.
// https://cloud.google.com/bigquery/docs/reference/standard-sql/timestamp_functions#extract
var timeParts = map[string]func(time.Time) int{
	"YEAR": time.Time.Year, "MONTH": func(t time.Time) int { return int(t.Month()) }, "DAY": time.Time.Day,
	"QUARTER":   func(t time.Time) int { return (int(t.Month()) + 2) / 3 },
	"WEEK":      func(t time.Time) int { return (t.YearDay() + 6 - int(t.Weekday())) / 7 },
	"DAYOFWEEK": func(t time.Time) int { return int(t.Weekday()) + 1 }, "DAYOFYEAR": time.Time.YearDay,
	"ISOWEEK": func(t time.Time) int { _, w := t.ISOWeek(); return w }, "ISOYEAR": func(t time.Time) int { y, _ := t.ISOWeek(); return y },
	"HOUR": time.Time.Hour, "MINUTE": time.Time.Minute, "SECOND": time.Time.Second,
	"MILLISECOND": func(t time.Time) int { return t.Nanosecond() / 1_000_000 }, "MICROSECOND": func(t time.Time) int { return t.Nanosecond() / 1000 },
}

func compileExtract(p *planner, n *parse.Node) (*expr, error) {
	part := strings.ToUpper(n.Args[0].Text)
	if part == "DATE" {
		return compileDate(p, &parse.Node{Op: parse.OpCall, Pos: n.Pos, Text: "DATE", Args: n.Args[1:]})
	}
	if part == "DATETIME" {
		return compileDatetime(p, &parse.Node{Op: parse.OpCall, Pos: n.Pos, Text: part, Args: n.Args[1:]})
	}
	of, ok := timeParts[part]
	for first := time.Sunday; !ok && first <= time.Saturday; first++ {
		if ok = part == "WEEK("+strings.ToUpper(first.String())+")"; ok {
			part, of = "WEEK", func(t time.Time) int { return (t.YearDay() + 6 - int(t.Weekday()-first+7)%7) / 7 }
		}
	}
	if !ok {
		return nil, p.Errorf(n.Args[0].Pos, "EXTRACT has no part %s", part)
	}
	e, err := p.compile(n.Args[1])
	if err != nil {
		return nil, err
	}
	if e.typ.Kind == value.TypeInterval {
		return compileIntervalPart(p, n, e, part)
	}
	day := slices.Contains([]string{"YEAR", "MONTH", "DAY", "QUARTER", "DAYOFWEEK", "DAYOFYEAR", "WEEK", "ISOWEEK", "ISOYEAR"}, part)
	if k := e.typ.Kind; k != value.TypeTimestamp && k != value.TypeDatetime && k != value.TypeNull && !(k == value.TypeDate && day) {
		return nil, p.Errorf(n.Args[1].Pos, "EXTRACT takes no %s of %s", part, e.typ)
	}
	if len(n.Args) < 3 {
		return mapped(e, value.Type{Kind: value.TypeInt64}, func(v any) (any, error) {
			return int64(of(v.(interface{ Time() time.Time }).Time().UTC())), nil
		}), nil
	}
	if e.typ.Kind == value.TypeDate || e.typ.Kind == value.TypeDatetime {
		return nil, p.Errorf(n.Args[2].Pos, "a %s has no time zone", e.typ)
	}
	zone, err := p.typed(n.Args[2], value.TypeString, "a time zone")
	if err != nil {
		return nil, err
	}
	return combined([]*expr{e, zone}, value.Type{Kind: value.TypeInt64}, func(v []any) (any, error) {
		in, err := value.Zone(v[1].(string))
		if err != nil {
			return nil, p.Placed(err, n.Pos)
		}
		return int64(of(v[0].(cells.Timestamp).Time().In(in))), nil
	}), nil
}

// compileTimestamp compiles TIMESTAMP, which with a time zone is a function of package function.
func compileTimestamp(p *planner, n *parse.Node) (*expr, error) {
	switch len(n.Args) {
	case 2:
		return compileForms(p, n)
	case 1:
		return compileCast(p, &parse.Node{Op: parse.OpCast, Pos: n.Pos, Text: "TIMESTAMP", Args: n.Args})
	}
	return nil, p.Errorf(n.Pos, "TIMESTAMP takes a text, a DATE or a TIMESTAMP, and perhaps a time zone")
}

// compileFromUnix compiles TIMESTAMP_FROM_UNIX_MILLIS and its like.
func compileFromUnix(p *planner, n *parse.Node, unit int64) (*expr, error) {
	if len(n.Args) != 1 {
		return nil, p.Errorf(n.Pos, "%s takes one argument", n.Text)
	}
	e, err := p.compile(n.Args[0])
	switch {
	case err != nil:
		return nil, err
	case e.typ.Kind == value.TypeTimestamp && strings.HasPrefix(n.Text, "TIMESTAMP_FROM_UNIX_"):
		return e, nil
	case e.typ.Kind != value.TypeInt64 && e.typ.Kind != value.TypeNull:
		return nil, p.Errorf(n.Args[0].Pos, "the argument of %s is %s; it must be INT64", n.Text, e.typ)
	}
	return mapped(e, value.Type{Kind: value.TypeTimestamp}, func(v any) (any, error) {
		ts := v.(int64)
		if micros := ts * unit; micros/unit == ts {
			if ts, err := value.TimestampOf(cells.Timestamp(micros).Time()); err == nil {
				return ts, nil
			}
		}
		return nil, p.Errorf(n.Pos, "%s(%d) is not a TIMESTAMP of the years 1 to 9999", n.Text, ts)
	}), nil
}

// compileToUnix compiles UNIX_MILLIS and its like.
func compileToUnix(p *planner, n *parse.Node, unit int64) (*expr, error) {
	e, err := p.only(n, value.TypeTimestamp)
	if err != nil {
		return nil, err
	}
	return mapped(e, value.Type{Kind: value.TypeInt64}, func(v any) (any, error) {
		micros := int64(v.(cells.Timestamp))
		count := micros / unit
		if micros%unit < 0 { // round down before the epoch too
			count--
		}
		return count, nil
	}), nil
}

// compileCurrent compiles CURRENT_TIMESTAMP and CURRENT_DATE, in UTC, which are the same in the
// whole query.
func compileCurrent(p *planner, n *parse.Node) (*expr, error) {
	if p.steady {
		return nil, p.Errorf(n.Pos, "a materialized view cannot have %s, whose value is not the same in every call", n.Text)
	}
	if n.Text == "CURRENT_DATE" && len(n.Args) == 1 {
		now, err := value.TimestampOf(p.now)
		if err != nil {
			return nil, err
		}
		zone, err := p.typed(n.Args[0], value.TypeString, "the time zone of CURRENT_DATE")
		if err != nil {
			return nil, err
		}
		return compileApplied(p, n, "DATE", []*expr{fixedExpr(value.Type{Kind: value.TypeTimestamp}, now), zone}, false)
	}
	if len(n.Args) > 0 {
		return nil, p.Errorf(n.Pos, "%s takes no arguments", n.Text)
	}
	if n.Text == "CURRENT_DATE" {
		d, err := value.DateOf(p.now)
		return &expr{typ: value.Type{Kind: value.TypeDate}, fixed: true, eval: func(*run.Tuple) (any, error) { return d, err }}, nil
	}
	ts, err := value.TimestampOf(p.now)
	return &expr{typ: value.Type{Kind: value.TypeTimestamp}, fixed: true, eval: func(*run.Tuple) (any, error) { return ts, err }}, nil
}

// compileDate compiles DATE of a year, a month and a day, or of what can be cast to one.
func compileDate(p *planner, n *parse.Node) (*expr, error) {
	if len(n.Args) == 1 {
		return compileDateOf(p, n)
	}
	if len(n.Args) == 2 {
		return compileForms(p, n)
	}
	if len(n.Args) != 3 {
		return nil, p.Errorf(n.Pos, "DATE takes a year, a month and a day, or one argument and perhaps a time zone")
	}
	parts := make([]*expr, 3)
	for i, what := range []string{"the year of a DATE", "the month of a DATE", "the day of a DATE"} {
		var err error
		if parts[i], err = p.typed(n.Args[i], value.TypeInt64, what); err != nil {
			return nil, err
		}
	}
	return combined(parts, value.Type{Kind: value.TypeDate}, func(v []any) (any, error) {
		d, err := value.NewDate(v[0].(int64), v[1].(int64), v[2].(int64))
		if err != nil {
			return nil, p.Placed(err, n.Pos)
		}
		return d, nil
	}), nil
}

// compileDateOf compiles DATE of one argument. A text may also be a TIMESTAMP, whose day in UTC it
// is.
func compileDateOf(p *planner, n *parse.Node) (*expr, error) {
	of, err := p.compile(n.Args[0])
	if err != nil {
		return nil, err
	}
	t := value.Type{Kind: value.TypeDate}
	if of.typ.Kind != value.TypeString {
		return p.castTo(&parse.Node{Op: parse.OpCast, Pos: n.Pos}, of, t)
	}
	return mapped(of, t, func(v any) (any, error) {
		d, err := value.Cast(v, value.TypeDate)
		if err != nil {
			var ts any
			if ts, err = value.Cast(v, value.TypeTimestamp); err == nil {
				d, err = value.Cast(ts, value.TypeDate)
			}
		}
		return d, p.placed(err, n.Pos)
	}), nil
}
