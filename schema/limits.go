package schema

import (
	"cmp"
	"slices"
	"time"
)

// A Limit is one conjunction of a compiled [Rule]: it drops a cell that is both beyond
// the newest Versions of its column and older than Age. With Versions 0 the rank does
// not matter, with Age 0 the age does not. The fields are never both 0.
type Limit struct {
	Versions int
	Age      time.Duration
}

// Drops reports whether l drops a cell of this rank in its column, 1 being the
// newest, and this age, now minus its timestamp.
func (l Limit) Drops(rank int, age time.Duration) bool {
	return rank > l.Versions && (l.Age == 0 || age > l.Age)
}

// dominates reports whether l drops every cell that m drops.
func (l Limit) dominates(m Limit) bool { return l.Versions <= m.Versions && l.Age <= m.Age }

// Covers reports whether limits drop every cell that others drop, at any time.
func Covers(limits, others []Limit) bool {
	return !slices.ContainsFunc(others, func(m Limit) bool {
		return !slices.ContainsFunc(limits, func(l Limit) bool { return l.dominates(m) })
	})
}

// Limits compiles the rule to disjunctive normal form: a cell is dropped iff at least
// one of the limits drops it. No limit is implied by another, and they are sorted by
// rising Versions, so their Ages fall. A nil rule compiles to no limits.
//
// The rule must have passed [Schema.Validate], which bounds the work. For a rule that is
// nested too deep there are no limits.
func (r *Rule) Limits() []Limit {
	if !r.bounded() {
		return nil
	}
	return r.limits()
}

func (r *Rule) limits() []Limit {
	switch {
	case r == nil || r.kinds() != 1:
		return nil // no rule, or an invalid one: drop nothing
	case r.Any != nil:
		var union []Limit
		for _, sub := range r.Any {
			union = append(union, sub.limits()...)
		}
		return prune(union)
	case r.All != nil:
		limits := []Limit{{}}
		for _, sub := range r.All {
			limits = prune(cross(limits, sub.limits()))
		}
		return limits
	}
	return []Limit{{Versions: r.MaxVersions, Age: r.MaxAge}}
}

// cross are limits that together drop the cells that both a and b drop.
func cross(a, b []Limit) []Limit {
	both := make([]Limit, 0, len(a)*len(b))
	for _, l := range a {
		for _, m := range b {
			both = append(both, Limit{max(l.Versions, m.Versions), max(l.Age, m.Age)})
		}
	}
	return both
}

// prune sorts the limits and removes each limit that another one implies. In order of
// Versions, then Age, a limit is implied iff the last one kept implies it.
func prune(limits []Limit) []Limit {
	slices.SortFunc(limits, func(l, m Limit) int {
		return cmp.Or(cmp.Compare(l.Versions, m.Versions), cmp.Compare(l.Age, m.Age))
	})
	kept := limits[:0]
	for _, l := range limits {
		if len(kept) == 0 || !kept[len(kept)-1].dominates(l) {
			kept = append(kept, l)
		}
	}
	return kept
}
