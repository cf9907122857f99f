package exec

import (
	"fmt"
	"math"
	"slices"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query/ql"
	"github.com/smolwc/smolwc/query/ql/lex"
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
func (s *series) listing(st *ql.Sparkline, others int) *Listing {
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
	note := plural(s.n, "number")
	if s.n > 0 {
		note += fmt.Sprintf(" from %s to %s; least %g, greatest %g, newest %g", lex.FormatTimestamp(s.first), lex.FormatTimestamp(s.last), s.least, s.great, s.newest)
	}
	if others > 0 {
		note += "; " + plural(others, "value") + " of other kinds"
	}
	l.Notes = []string{note}
	return l
}
