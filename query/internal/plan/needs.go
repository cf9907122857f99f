package plan

import (
	"context"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/internal/bytere"
	"github.com/smolwc/smolwc/query/filter"
	"github.com/smolwc/smolwc/query/internal/catalog"
)

// A columnSet is qualifiers by family; nil ranges are all columns of a family. The
// nil set is all columns.
type columnSet map[*catalog.Family][]cf.Range

func (s columnSet) isEmpty() bool { return s != nil && len(s) == 0 }

func (s columnSet) intersect(t columnSet) columnSet {
	if s == nil {
		return t
	}
	if t == nil {
		return s
	}
	both := columnSet{}
	for f, a := range s {
		b, ok := t[f]
		switch {
		case !ok:
		case a == nil:
			both[f] = b
		case b == nil:
			both[f] = a
		default:
			if q := cf.IntersectRanges(a, b); len(q) > 0 {
				both[f] = q
			}
		}
	}
	return both
}

// union are the columns of any of the sets.
func union(sets []columnSet) columnSet {
	either := columnSet{}
	for _, s := range sets {
		if s == nil {
			return nil
		}
		for f, q := range s {
			if all, ok := either[f]; q == nil || ok && all == nil {
				either[f] = nil
			} else {
				either[f] = append(all, q...) // to what is ours: the first append copies
			}
		}
	}
	for f, q := range either {
		if q != nil {
			either[f] = cf.MergeRanges(q)
		}
	}
	return either
}

// needs are the columns that a filter's result depends on: the filter drops all
// other cells before they have an effect.
func needs(f filter.Filter, info *catalog.Table) columnSet {
	switch f := f.(type) {
	case filter.BlockAll:
		return columnSet{}
	case filter.Family:
		if in, ok := familiesOf(f, info); ok {
			return columnsIn(info, nil, func(family string) bool { return in[family] })
		}
		return nil
	case filter.Column:
		return needsOfColumn(f, info)
	case filter.ColumnRange:
		if q := spanOf(f.From, f.To); !q.Empty() {
			return columnsIn(info, []cf.Range{q}, func(family string) bool { return family == f.Family })
		}
		return columnSet{}
	case filter.Chain:
		return chainNeeds(f, info)
	case filter.Interleave, filter.Condition:
		var sets []columnSet
		for _, sub := range filter.Within(f) {
			sets = append(sets, needs(sub, info))
		}
		return union(sets)
	}
	return nil
}

func needsOfColumn(f filter.Column, info *catalog.Table) columnSet {
	stems := stemsOf(string(f))
	if !stems.Bounded() {
		return nil
	}
	qualifiers := rangesOf(stems)
	return columnsIn(info, qualifiers, func(string) bool { return len(qualifiers) > 0 })
}

// planSteps bounds the work of a plan for one filter.
const planSteps = 1 << 16

// familiesOf are the families that a filter passes; ok is false if the read must find out,
// which can take long.
func familiesOf(f filter.Family, info *catalog.Table) (in map[string]bool, ok bool) {
	re, work := bytere.MustCompile(string(f)), bytere.NewWork(context.Background(), planSteps)
	in = map[string]bool{}
	for _, of := range info.Families {
		matches, err := re.Match(work, of.Name)
		if err != nil {
			return nil, false
		}
		in[of.Name] = matches
	}
	return in, true
}

// columnsIn are qualifiers of some families; nil qualifiers are all of them.
func columnsIn(t *catalog.Table, qualifiers []cf.Range, in func(family string) bool) columnSet {
	s := columnSet{}
	for _, f := range t.Families {
		if in(f.Name) {
			s[f] = qualifiers
		}
	}
	return s
}

// chainNeeds narrows by each filter, up to the first one whose effect depends on
// columns that are dropped later.
func chainNeeds(f filter.Filter, info *catalog.Table) columnSet {
	var all columnSet
	for _, sub := range flatten(nil, f) {
		all = all.intersect(needs(sub, info))
		if !columnwise(sub) {
			break
		}
	}
	return all
}

// columnwise reports whether a filter is known to treat each column independently of
// the others.
func columnwise(f filter.Filter) bool {
	switch f.(type) {
	case filter.PassAll, filter.BlockAll, filter.RowKey, filter.RowSample, filter.Family, filter.Column, filter.ColumnRange,
		filter.Value, filter.ValueBitmask, filter.ValueRange, filter.ValueCompare, filter.TimestampRange, filter.Latest,
		filter.StripValue, filter.Label:
		return true
	}
	return false
}
