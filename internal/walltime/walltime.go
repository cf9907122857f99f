// Package walltime finds the moment of a local date and time, also of one that the
// clocks of its zone skip or show twice. [time.Date] does not say which moment it takes
// then.
//
// A wall time is the time on a clock, as a [time.Time] in UTC.
package walltime

import "time"

// Of is the wall time of t in its zone.
func Of(t time.Time) time.Time {
	_, offset := t.Zone()
	return t.UTC().Add(time.Duration(offset) * time.Second)
}

// [time.Time.ZoneBounds] also gives bounds at which no clock changes: after the last year
// of a zone's table it ends a year of 366 days a day early, and the bound may be the time
// itself or before it.

// LastChange is the last change of the clocks in the zone of t up to t; the zero time if there
// is no such change.
func LastChange(t time.Time) time.Time {
	last, _ := t.ZoneBounds()
	for !last.IsZero() && (last.After(t) || !changes(last)) {
		at := last
		if last, _ = at.Add(-1).ZoneBounds(); !last.Before(at) {
			last, _ = at.Add(-day).ZoneBounds()
		}
	}
	return last
}

// NextChange is the first change of the clocks in the zone of t after t; the zero time if
// there is no such change.
func NextChange(t time.Time) time.Time {
	_, next := t.ZoneBounds()
	for !next.IsZero() && (!next.After(t) || !changes(next)) {
		at := next
		if _, next = at.ZoneBounds(); !next.IsZero() && !next.After(at) {
			_, next = at.Add(day).ZoneBounds()
		}
	}
	return next
}

const day = 24 * time.Hour

// changes reports whether clocks change at a moment.
func changes(at time.Time) bool {
	_, before := at.Add(-1).Zone()
	_, after := at.Zone()
	return before != after
}

// InMinutes is a time in its zone, or if the offset of the zone includes seconds, as before
// there were standard times, in a zone with only the whole minutes of it: texts have no
// seconds of an offset, and such a text is read back as the same time.
func InMinutes(t time.Time) time.Time {
	_, offset := t.Zone()
	if offset%60 == 0 {
		return t
	}
	return t.In(time.FixedZone("", offset-offset%60))
}

// At is the moment at which clocks in a zone show a wall time. Where they are changed,
// the offset before the change counts, as in GoogleSQL: the first moment of a wall time
// that comes twice, and of one that is skipped the moment at which clocks that were not
// changed would show it.
func At(wall time.Time, zone *time.Location) time.Time {
	at, _ := find(wall, zone)
	return at
}

// From is the first moment at which clocks in a zone show a wall time or a later one.
// It differs from [At] in wall times that are skipped: it is the moment of the change.
func From(wall time.Time, zone *time.Location) time.Time {
	at, change := find(wall, zone)
	if !change.IsZero() {
		return change
	}
	return at
}

// find also returns the moment of the change that skips the wall time, if one does.
func find(wall time.Time, zone *time.Location) (at, change time.Time) {
	const longest = 26 * time.Hour // is more than any zone is away from UTC
	in := wall.Add(-longest).In(zone)
	for {
		_, offset := in.Zone()
		end := NextChange(in)
		at = wall.Add(-time.Duration(offset) * time.Second).In(zone)
		if end.IsZero() || at.Before(end) {
			return at, time.Time{}
		}
		if Of(end).After(wall) {
			return at, end
		}
		in = end
	}
}
