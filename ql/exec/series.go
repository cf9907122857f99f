package exec

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/internal/humanize"
	"github.com/smolwc/smolwc/internal/walltime"
	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/query/read"
)

// A series takes numbers with their times, the newest first, and returns a bounded
// number of points. If there are few numbers, each one is a point; otherwise points are
// spans of equal duration. When there are too many spans, pairs of them are merged, so
// one pass and a fixed amount of memory are enough.
type series struct {
	most  int
	spans []span // by index, the newest first
	width cells.Timestamp
	from  cells.Timestamp // the newest time, the end of span 0; set with width

	n            int64
	first, last  cells.Timestamp
	newest       float64
	least, great float64
}

// A span is the numbers of a time interval; n may be 0.
type span struct {
	at                cells.Timestamp // of its oldest number
	n                 int64
	sum, least, great float64
}

func newSeries(most int) *series { return &series{most: most} }

// add takes a number that is not newer than the numbers before it.
func (s *series) add(ts cells.Timestamp, f float64) {
	if s.n == 0 {
		s.last, s.newest, s.least, s.great = ts, f, f, f
	}
	s.n++
	s.first, s.least, s.great = ts, min(s.least, f), max(s.great, f)
	one := span{ts, 1, f, f, f}
	if s.width == 0 && len(s.spans) < s.most {
		s.spans = append(s.spans, one)
		return
	}
	if s.width == 0 {
		s.toSpans()
	}
	s.place(one)
}

// toSpans replaces single numbers by spans of equal duration.
func (s *series) toSpans() {
	single := s.spans
	s.spans, s.width, s.from = nil, 1, s.last
	for s.first < s.last-s.width*cells.Timestamp(2*s.most)+1 {
		s.width *= 2
	}
	for _, one := range single {
		s.place(one)
	}
}

func (s *series) place(one span) {
	for int64((s.from-one.at)/s.width) >= int64(2*s.most) {
		s.widen()
	}
	i := int((s.from - one.at) / s.width)
	for len(s.spans) <= i {
		s.spans = append(s.spans, span{})
	}
	s.spans[i].join(one)
}

// widen merges pairs of spans.
func (s *series) widen() {
	wider := make([]span, (len(s.spans)+1)/2, 2*s.most)
	for i, sp := range s.spans {
		wider[i/2].join(sp)
	}
	s.spans, s.width = wider, s.width*2
}

// join merges an older span into s.
func (s *span) join(older span) {
	switch {
	case older.n == 0:
		return
	case s.n == 0:
		*s = older
		return
	}
	s.at, s.n, s.sum = older.at, s.n+older.n, s.sum+older.sum
	s.least, s.great = min(s.least, older.least), max(s.great, older.great)
}

// listing returns the series from the oldest to the newest.
func (s *series) listing(st *ql.Sparkline, others int, zone *time.Location) *Listing {
	for len(s.spans) > s.most {
		s.widen()
	}
	slices.Reverse(s.spans)
	l := &Listing{Columns: []string{"time", "cells", "mean", "least", "greatest"}, Format: st.Format, Line: []float64{}}
	for _, sp := range s.spans {
		if sp.n == 0 {
			l.Line = append(l.Line, math.NaN())
			continue
		}
		mean := sp.sum / float64(sp.n)
		l.Line = append(l.Line, mean)
		l.Lines = append(l.Lines, []any{sp.at, sp.n, mean, sp.least, sp.great})
	}
	note := humanize.Count(s.n, "number")
	if s.n > 0 {
		note += fmt.Sprintf(" from %s to %s; least %g, greatest %g, newest %g", lex.FormatTimestamp(s.first, zone), lex.FormatTimestamp(s.last, zone), s.least, s.great, s.newest)
	}
	if others > 0 {
		note += "; " + humanize.Count(others, "value") + " of other kinds"
	}
	l.Notes = []string{note}
	return l
}

// A timeUnit is the width of a bin of times: seconds, a day, or months.
type timeUnit struct{ seconds, months int64 }

// timeUnits are the widths of bins. A bin of one lies in one bin of the next.
var timeUnits = []timeUnit{
	{seconds: 1}, {seconds: 10}, {seconds: 60}, {seconds: 600}, {seconds: 3600}, {seconds: 6 * 3600},
	{}, {months: 1}, {months: 12}, {months: 120},
}

// start is the beginning of the bin that a time is in.
func (u timeUnit) start(t time.Time) time.Time {
	if u.seconds == 0 {
		n := u.number(t)
		if next := u.begin(n+1, t.Location()); !next.After(t) { // clocks were set back beyond midnight
			return next
		}
		return u.begin(n, t.Location())
	}
	start := time.Unix(t.Unix()-u.past(t), 0).In(t.Location())
	if change := walltime.LastChange(t); start.Before(change) {
		return change // also begins a bin
	}
	return start
}

// after is the beginning of the next bin.
func (u timeUnit) after(start time.Time) time.Time {
	if u.seconds == 0 {
		return u.begin(u.number(start)+1, start.Location())
	}
	next := start.Add(time.Duration(u.seconds-u.past(start)) * time.Second)
	if change := walltime.NextChange(start); !change.IsZero() && change.Before(next) {
		return change
	}
	return next
}

// past is how many seconds ago clocks showed a multiple of the unit.
func (u timeUnit) past(t time.Time) int64 {
	return (walltime.Of(t).Unix()%u.seconds + u.seconds) % u.seconds
}

// number counts the days or months of a time.
func (u timeUnit) number(t time.Time) int64 {
	year, month, day := t.Date()
	if u.months > 0 {
		return (int64(year)*12 + int64(month) - 1) / u.months
	}
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Unix() / (24 * 3600)
}

// begin is the moment at which the day or the months of a number begin.
func (u timeUnit) begin(n int64, zone *time.Location) time.Time {
	if u.months > 0 {
		return walltime.From(time.Date(0, time.Month(1+n*u.months), 1, 0, 0, 0, 0, time.UTC), zone)
	}
	return walltime.From(time.Unix(n*24*3600, 0).UTC(), zone)
}

// timeBins counts times in one pass with a fixed amount of memory: too many bins are
// merged into wider ones.
type timeBins struct {
	zone        *time.Location
	unit        int             // in timeUnits
	count       map[int64]int64 // by the second in which a bin begins
	n           int64
	first, last cells.Timestamp
}

func (b *timeBins) add(ts cells.Timestamp) {
	if b.n == 0 {
		b.count, b.first, b.last = map[int64]int64{}, ts, ts
	}
	b.n++
	b.first, b.last = min(b.first, ts), max(b.last, ts)
	b.count[timeUnits[b.unit].start(ts.Time().In(b.zone)).Unix()]++
	if len(b.count) > maxFineBins && b.unit < len(timeUnits)-1 { // the last unit needs some 29,000 bins at most
		b.widen()
	}
}

func (b *timeBins) widen() {
	b.unit++
	wider := map[int64]int64{}
	for at, n := range b.count {
		wider[timeUnits[b.unit].start(time.Unix(at, 0).In(b.zone)).Unix()] += n
	}
	b.count = wider
}

// bins are at most most bins, if the last unit is wide enough, with those between them
// that are empty.
func (b *timeBins) bins(most int) [][]any {
	for {
		lines := b.lines(most)
		if len(lines) <= most || b.unit == len(timeUnits)-1 {
			return lines
		}
		b.widen()
	}
}

// lines are the bins of the current unit, or the first ones if there are more than most.
func (b *timeBins) lines(most int) (lines [][]any) {
	unit := timeUnits[b.unit]
	starts := slices.Sorted(maps.Keys(b.count))
	for i, at := range starts {
		for from := time.Unix(at, 0).In(b.zone); ; {
			to := unit.after(from)
			lines = append(lines, []any{cells.TimestampOf(from), cells.TimestampOf(to), b.count[from.Unix()]})
			if len(lines) > most && b.unit < len(timeUnits)-1 {
				return lines
			}
			if from = to; i+1 == len(starts) || from.Unix() >= starts[i+1] {
				break
			}
		}
	}
	return lines
}

func timeHistogram(ctx context.Context, table Table, st *ql.Histogram, opts []read.Option, zone *time.Location) (*Listing, error) {
	b := timeBins{zone: cmp.Or(zone, time.UTC)}
	rows := int64(0)
	for row, err := range table.ReadRows(ctx, opts...) {
		if err != nil {
			return nil, err
		}
		rows++
		for c := range row.Cells() {
			b.add(c.Timestamp)
		}
	}
	note := fmt.Sprintf("%s in %s", humanize.Count(b.n, "cell"), humanize.Count(rows, "row"))
	if b.n > 0 {
		note += fmt.Sprintf("; first %s, last %s", lex.FormatTimestamp(b.first, zone), lex.FormatTimestamp(b.last, zone))
	}
	return &Listing{Columns: []string{"from", "to", "count"}, Lines: b.bins(cmp.Or(st.Bins, defaultBins)), Format: st.Format, Bars: "count", Notes: []string{note}}, nil
}
