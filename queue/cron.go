package queue

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	"github.com/smolwc/smolwc/internal/walltime"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/rowmap"
)

// nextTime is the first time of a cron expression after now, in microseconds.
func nextTime(spec string, now int64) (int64, error) {
	s, err := parseCron(spec)
	if err != nil {
		return 0, rowmap.Fault(query.KindInvalidArgument, "%q is not a cron expression: %v; an example is \"30 4 * * 1\", on Mondays at 4:30", spec, err)
	}
	next := s.Next(timeOf(now).UTC())
	if next.IsZero() {
		return 0, rowmap.Fault(query.KindInvalidArgument, "%q names no time in the next years", spec)
	}
	return next.UnixMicro(), nil
}

// A calendar is the times of five fields, in a zone whose clocks may be changed. The
// library's own times come twice or never then.
type calendar struct {
	fields *cron.SpecSchedule // of wall times, as if in UTC
	zone   *time.Location
	// often says that there are times every hour, or many in an hour. They follow the
	// hours as they come; other times come once a day, as in Vixie's cron.
	often bool
}

// cronPart is a part of a field, between commas. The library takes more, such as "*-7" and
// nothing.
var cronPart = regexp.MustCompile(`^(?:\*|\?|\w+(?:-\w+)?)(?:/(\d+))?$`)

// checkField refuses fields that the library takes and cannot mean.
func checkField(field string, values int) error {
	for part := range strings.SplitSeq(field, ",") {
		match := cronPart.FindStringSubmatch(part)
		if match == nil {
			return fmt.Errorf("%.20q is not a field", field)
		}
		if step, err := strconv.Atoi(match[1]); match[1] != "" && (err != nil || step > values) {
			return fmt.Errorf("the step of %.20q is more than the %d values of its field", field, values)
		}
	}
	return nil
}

// parseCron parses five fields, or a word, after an optional zone.
func parseCron(spec string) (cron.Schedule, error) {
	zone, spec, err := cronZone(strings.TrimSpace(spec))
	if err != nil {
		return nil, err
	}
	if every, ok := strings.CutPrefix(spec, "@every "); ok {
		d, err := time.ParseDuration(every)
		if err == nil && (d < time.Second || d%time.Second != 0) {
			err = fmt.Errorf("%s is not one or more whole seconds", d)
		}
		return cron.Every(d), err
	}
	if !strings.HasPrefix(spec, "@") {
		values := []int{60, 24, 31, 12, 7}
		for i, field := range strings.Fields(spec) {
			if i == len(values) {
				break // there are too many, as the library says
			}
			if err := checkField(field, values[i]); err != nil {
				return nil, err
			}
		}
	}
	s, err := cron.ParseStandard(spec)
	if err != nil {
		return nil, err
	}
	c := &calendar{fields: s.(*cron.SpecSchedule), zone: zone}
	const all = 1 << 63 // in a field that allows every time, as the library writes it
	c.fields.Location, c.often = time.UTC, c.fields.Hour&all != 0 || strings.HasPrefix(spec, "*") || strings.HasPrefix(spec, "?")
	return c, nil
}

// cronZone cuts the zone from the beginning of an expression. Without one it is UTC.
func cronZone(spec string) (zone *time.Location, rest string, err error) {
	name, ok := strings.CutPrefix(spec, "CRON_TZ=")
	if !ok {
		name, ok = strings.CutPrefix(spec, "TZ=")
	}
	if !ok {
		return time.UTC, spec, nil
	}
	name, rest, _ = strings.Cut(name, " ")
	if name == "" || name == "Local" { // is the zone of the worker's machine
		return nil, "", fmt.Errorf("%q is not a time zone", name)
	}
	zone, err = time.LoadLocation(name)
	return zone, strings.TrimSpace(rest), err
}

// Next is the first time after a time, or the zero time if five years have no such time.
func (c *calendar) Next(after time.Time) time.Time {
	after = after.In(c.zone)
	if c.often {
		return c.hourly(after)
	}
	for wall := walltime.Of(after); ; {
		if wall = c.fields.Next(wall); wall.IsZero() {
			return wall
		}
		if at := walltime.From(wall, c.zone); at.After(after) && !c.skipsDay(at, wall) {
			return at
		}
	}
}

// skipsDay reports whether a wall time was skipped by a change too large for daylight
// saving time, as when Samoa left out a day.
func (c *calendar) skipsDay(at, wall time.Time) bool {
	_, before := at.Add(-1).Zone()
	_, offset := at.Zone()
	return !walltime.Of(at).Equal(wall) && offset-before >= 3*3600
}

// hourly looks for the next time from one change of the clocks to the next.
func (c *calendar) hourly(after time.Time) time.Time {
	for including := time.Duration(0); ; including = 1 { // a change may itself be a time
		wall := walltime.Of(after)
		next := c.fields.Next(wall.Add(-including))
		if next.IsZero() {
			return next
		}
		at := after.Add(next.Sub(wall))
		change := walltime.NextChange(after)
		if change.IsZero() || at.Before(change) {
			return at
		}
		after = change
	}
}
