package querytest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
)

// A whyHistory is a history that remembers the life of each cell.
type whyHistory struct {
	*history
	events []event
}

// A life is one value of a cell, and how it ended in the naive model.
type life struct {
	value    cells.Value
	dropped  bool // by a rule, while nothing else had ended it
	replaced bool // by another value
	deleted  bool
}

// lives are the values of a cell, the oldest first.
func (h *whyHistory) lives(id cellID) (all []life) {
	for _, e := range h.events {
		open := len(all) > 0 && !all[len(all)-1].replaced && !all[len(all)-1].deleted
		switch {
		case e.set != nil && *e.set == id:
			if open {
				all[len(all)-1].replaced = true
			}
			all = append(all, life{value: e.value})
		case e.family == id.family:
			all = nil
		case open && e.dropped != nil && *e.dropped == id:
			all[len(all)-1].dropped = true
		case open && e.deleted != nil && e.deleted(id):
			all[len(all)-1].deleted = true
		}
	}
	return all
}

func (h *whyHistory) check(t *rapid.T) {
	row := h.draw.row.Draw(t, "row")
	visible := h.model.sorted()
	var columns []read.ColumnSpec
	asked := func(cellID) bool { return true }
	if rapid.Bool().Draw(t, "one column") {
		family, qualifier := h.draw.family.Draw(t, "family"), h.draw.qualifier.Draw(t, "qualifier")
		columns = append(columns, read.Column(family, qualifier))
		asked = func(id cellID) bool { return id.family == family && id.qualifier == qualifier }
	}
	why, err := h.table().Why(context.Background(), row, columns...)
	must(t, err)
	if h.stream > 0 != (why.LogErr == nil) || why.More {
		t.Fatalf("log %v, more %v", why.LogErr, why.More)
	}
	told := map[cellID][]query.WhyVersion{} // the oldest first
	var shown []cellID
	for _, v := range why.Versions {
		id := cellID{row, v.Family, v.Qualifier, v.Timestamp}
		if !asked(id) {
			t.Fatalf("%v was not asked for", id)
		}
		told[id] = slices.Insert(told[id], 0, v)
		if v.State == query.WhyVisible || v.State == query.WhyOlder {
			shown = append(shown, id)
		}
		if v.State == query.WhyVisible && v.Newer > 0 || v.State == query.WhyOlder && v.Newer == 0 {
			t.Fatalf("%v is %v, and %d are newer", id, v.State, v.Newer)
		}
	}
	want := slices.DeleteFunc(visible, func(id cellID) bool { return id.row != row || !asked(id) })
	if !slices.Equal(shown, want) {
		t.Fatalf("shown are %v, visible %v", shown, want)
	}
	for _, e := range h.events {
		if e.set == nil || e.set.row != row || !asked(*e.set) {
			continue
		}
		id, lives := *e.set, h.lives(*e.set)
		if h.stream == 0 {
			lives = lives[max(0, len(lives)-len(told[id])):]
		}
		if len(told[id]) != len(lives) {
			t.Fatalf("%v has had %d values: %+v; told are %+v", id, len(lives), lives, told[id])
		}
		for i, l := range lives {
			if fault := h.disagrees(id, l, &told[id][i]); fault != "" {
				t.Fatalf("%v: %s: %+v; told is %+v", id, fault, l, told[id][i])
			}
		}
	}
}

// disagrees says how an answer contradicts the life of a cell; "" if it does not.
func (h *whyHistory) disagrees(id cellID, l life, v *query.WhyVersion) string {
	logged := v.Written.Position > 0 && v.Written.Time > 0
	ended := v.Ended.Position >= v.Written.Position && v.Ended.Time >= v.Written.Time && v.Ended.Position > 0
	switch {
	case !v.Value.Equal(l.value):
		return "another value"
	case logged != (h.stream > 0):
		return "a commit that is not in the log, or not one that is"
	}
	switch v.State {
	case query.WhyVisible, query.WhyOlder:
		if l.dropped || l.replaced || l.deleted {
			return "it is gone"
		}
	case query.WhyHidden:
		if !l.dropped || l.replaced || !v.Rule.Drops(v.Newer+1, time.Duration(h.model.now-id.ts)*time.Microsecond) {
			return "no rule drops it"
		}
	case query.WhyReplaced:
		if !l.replaced || !ended {
			return "nothing replaced it"
		}
	case query.WhyDeleted:
		if !ended || !l.deleted && !(v.Ended.Collected && l.dropped) {
			return "nothing deleted it"
		}
	case query.WhyRemoved:
		if !l.dropped || l.replaced {
			return "no rule dropped it"
		}
	}
	return ""
}

func (h *whyHistory) step(t *rapid.T) {
	switch n := rapid.IntRange(0, 99).Draw(t, "operation"); {
	case n < 50:
		h.apply(t)
	case n < 60:
		h.applyBatch(t)
	case n < 65:
		h.deleteRange(t)
	case n < 85:
		h.maintain(t)
	default:
		h.check(t)
	}
}

// Whys drives a database through random histories, and asks on the way why the cells of a
// row are visible or not: exactly those that the model has are visible, and of each other
// one the model knows that it was hidden or ended in this way. With a change stream no value
// that was ever written is missing.
func Whys(t *testing.T, places func() Place) {
	rapid.Check(t, func(t *rapid.T) {
		p := places()
		defer p.Remove()
		stream := rapid.SampledFrom([]time.Duration{0, 24 * time.Hour}).Draw(t, "stream")
		h := &whyHistory{history: newLoggedHistory(t, p, query.Options{GCInterval: -1}, stream)}
		defer h.close(t)
		h.model.told = func(e event) { h.events = append(h.events, e) }
		for range rapid.IntRange(10, 60).Draw(t, "operations") {
			h.step(t)
		}
		h.check(t)
	})
}

func (l life) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v", l.value)
	for _, end := range []struct {
		is   bool
		word string
	}{{l.dropped, "dropped"}, {l.replaced, "replaced"}, {l.deleted, "deleted"}} {
		if end.is {
			b.WriteString(" " + end.word)
		}
	}
	return b.String()
}
