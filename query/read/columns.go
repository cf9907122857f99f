package read

import (
	"slices"
	"strings"

	"github.com/smolwc/smolwc/cf"
)

// A ColumnSpec selects columns of one family. A read with several specs reads their
// union.
type ColumnSpec struct {
	Family string
	Kind   ColumnKind
	// Qualifier is the qualifier of OneColumn, the prefix of ColumnsWithPrefix.
	Qualifier string
	// Start, inclusive, and End, exclusive, bound the qualifiers of ColumnsBetween;
	// an empty End is no bound.
	Start, End string
}

// A ColumnKind says how a [ColumnSpec] selects.
type ColumnKind uint8

// The kinds of column specs.
const (
	AllColumns        ColumnKind = iota // of the family
	OneColumn                           // by its qualifier
	ColumnsWithPrefix                   // of the qualifier
	ColumnsBetween                      // two qualifiers
)

func (c ColumnSpec) apply(r *Request) {
	if len(r.Columns) == 0 {
		r.column[0] = c
		r.Columns = r.column[:]
		return
	}
	r.Columns = append(r.Columns, c)
}

// Family reads all columns of a family.
func Family(family string) ColumnSpec { return ColumnSpec{Family: family} }

// Column reads one column.
func Column(family, qualifier string) ColumnSpec {
	return ColumnSpec{Family: family, Kind: OneColumn, Qualifier: qualifier}
}

// ColumnPrefix reads the columns whose qualifiers start with prefix.
func ColumnPrefix(family, prefix string) ColumnSpec {
	return ColumnSpec{Family: family, Kind: ColumnsWithPrefix, Qualifier: prefix}
}

// ColumnRange reads the columns from start, inclusive, to end, exclusive; an empty end
// is no bound.
func ColumnRange(family, start, end string) ColumnSpec {
	return ColumnSpec{Family: family, Kind: ColumnsBetween, Start: start, End: end}
}

// Qualifiers is the spec as a range of qualifiers.
func (c ColumnSpec) Qualifiers() cf.Range {
	switch c.Kind {
	case OneColumn:
		return cf.Single(c.Qualifier)
	case ColumnsWithPrefix:
		return cf.Prefix(c.Qualifier)
	case ColumnsBetween:
		return cf.Range{Start: c.Start, End: c.End}
	}
	return cf.Range{}
}

// Whole reports whether the spec selects all columns of its family.
func (c ColumnSpec) Whole() bool { return c.Qualifiers() == cf.Range{} }

// A FamilyColumns is columns of one family: ranges that are sorted and disjoint.
type FamilyColumns struct {
	Family     string
	Qualifiers []cf.Range
}

// ColumnRanges are the columns to read, by family, in the order of families; an
// empty list means all columns.
func (r *Request) ColumnRanges() []FamilyColumns {
	if r == nil {
		return nil
	}
	byFamily := map[string][]cf.Range{}
	for _, c := range r.Columns {
		byFamily[c.Family] = append(byFamily[c.Family], c.Qualifiers())
	}
	var all []FamilyColumns
	for family, ranges := range byFamily {
		all = append(all, FamilyColumns{family, cf.MergeRanges(ranges)})
	}
	slices.SortFunc(all, func(a, b FamilyColumns) int { return strings.Compare(a.Family, b.Family) })
	return all
}
