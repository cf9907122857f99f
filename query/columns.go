package query

import (
	"slices"
	"strings"

	"github.com/smolwc/smolwc/cf"
)

// A ColumnSpec selects columns of one family.
type ColumnSpec struct {
	Family string
	Kind   ColumnKind
	// Qualifier is the qualifier of ColumnExact, the prefix of ColumnPrefix.
	Qualifier string
	// Start, inclusive, and End, exclusive, bound the qualifiers of
	// ColumnRange; an empty End is no bound.
	Start, End string
}

// A ColumnKind says how a [ColumnSpec] selects.
type ColumnKind uint8

// The kinds of column specs.
const (
	ColumnFamily ColumnKind = iota // all columns of the family
	ColumnExact                    // one column
	ColumnPrefix                   // qualifiers with a prefix
	ColumnRange                    // a range of qualifiers
)

// Column selects one column.
func Column(family, qualifier string) ColumnSpec {
	return ColumnSpec{Family: family, Kind: ColumnExact, Qualifier: qualifier}
}

// Family selects all columns of a family.
func Family(family string) ColumnSpec { return ColumnSpec{Family: family} }

// ColumnPrefixOf selects the columns whose qualifiers start with prefix.
func ColumnPrefixOf(family, prefix string) ColumnSpec {
	return ColumnSpec{Family: family, Kind: ColumnPrefix, Qualifier: prefix}
}

// ColumnsBetween selects the columns from start, inclusive, to end, exclusive;
// an empty end is no bound.
func ColumnsBetween(family, start, end string) ColumnSpec {
	return ColumnSpec{Family: family, Kind: ColumnRange, Start: start, End: end}
}

// Select reads only the columns of these specs; several are a union.
func Select(cols ...ColumnSpec) ReadOption {
	cols = slices.Clone(cols)
	cols = slices.Clip(slices.Clone(cols)) // shared by the reads that the option is given to
	return optionFunc(func(r *readSpec) {
		if r.columns == nil {
			r.columns = cols
			return
		}
		r.columns = append(r.columns, cols...)
	})
}

// Columns is [Select] in text: "family:qualifier" is one column, "family:" the
// one with the empty qualifier, "family:*" the whole family, "family:pre*" the
// qualifiers that start with pre. A qualifier that ends in * itself wants
// Select.
func Columns(specs ...string) ReadOption {
	return optionFunc(func(r *readSpec) {
		for _, s := range specs {
			c, err := parseColumn(s)
			if err != nil {
				r.err = err
				return
			}
			r.columns = append(r.columns, c)
		}
	})
}

func parseColumn(s string) (ColumnSpec, error) {
	family, qualifier, ok := strings.Cut(s, ":")
	if !ok || family == "" {
		return ColumnSpec{}, faultf(InvalidArgument, "column %q is not of the form family:qualifier, family:* or family:prefix*", s)
	}
	if prefix, ok := strings.CutSuffix(qualifier, "*"); ok {
		if prefix == "" {
			return Family(family), nil
		}
		return ColumnPrefixOf(family, prefix), nil
	}
	return Column(family, qualifier), nil
}

// qualifiers is the spec as a range, and false for a whole family.
func (c ColumnSpec) qualifiers() (q cf.Range, bounded bool) {
	switch c.Kind {
	case ColumnExact:
		return cf.Single(c.Qualifier), true
	case ColumnPrefix:
		return cf.Prefix(c.Qualifier), c.Qualifier != ""
	case ColumnRange:
		return cf.Range{Start: c.Start, End: c.End}, true
	}
	return cf.Range{}, false
}
