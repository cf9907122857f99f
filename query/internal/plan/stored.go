package plan

import (
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/internal/compare"
	"github.com/smolwc/smolwc/query/read"
)

// witnesses are columns such that each row that satisfies a condition contains at least
// one; empty if there may be a row without them.
func witnesses(c *read.Condition) []read.ColumnSpec {
	switch {
	case c.Kind == read.IsAbsent:
		return nil
	case c.Kind == read.AllOf:
		for i := range c.Terms {
			if found := witnesses(&c.Terms[i]); len(found) > 0 {
				return found
			}
		}
		return nil
	case c.Kind == read.AnyOf:
		var all []read.ColumnSpec
		for i := range c.Terms {
			found := witnesses(&c.Terms[i])
			if len(found) == 0 {
				return nil
			}
			all = append(all, found...)
		}
		return all
	case c.Kind == read.Not:
		return witnesses(&c.Terms[0])
	}
	for family, qualifier := range c.Columns() {
		return []read.ColumnSpec{read.Column(family, qualifier)}
	}
	return nil
}

// inStore is a condition on the value of one column in terms of the bytes of values. ok
// is false for other conditions.
func inStore(c *read.Condition) (in cf.RowCondition, family string, ok bool) {
	if c.Kind == read.AnyOf {
		return anyInStore(c.Terms)
	}
	negated := c.Kind == read.Not
	if negated {
		c = &c.Terms[0]
	}
	if c.On != read.OnValue || c.Kind == read.ComparesColumns || c.Kind >= read.AnyOf {
		return in, "", false
	}
	in.Qualifier = c.Qualifier
	switch c.Kind {
	case read.IsPresent:
		in.Values = []cf.Range{{}}
	case read.Compares:
		in.Values = compare.Ranges(c.Op, c.Value)
	case read.IsOneOf:
		for _, v := range c.Values {
			in.Values = append(in.Values, compare.Ranges(cells.OpEqual, v)...)
		}
	case read.Matches:
		stems := stemsOf(c.Pattern)
		if !stems.Whole {
			return in, "", false
		}
		for _, t := range []cells.Type{cells.TypeString, cells.TypeBytes} {
			for _, r := range rangesOf(stems) {
				in.Values = append(in.Values, tagged(t, r))
			}
		}
	}
	if c.Kind != read.IsAbsent {
		if in.Values = cf.MergeRanges(in.Values); negated {
			in.Values = compare.Complement(in.Values)
		}
		if len(in.Values) == 0 {
			in.Values = []cf.Range{{Start: "\xff", End: "\xff"}} // no value is in this range
		}
	}
	return in, c.Family, true
}

// anyInStore is for terms that are all about one column, which must be there.
func anyInStore(terms []read.Condition) (in cf.RowCondition, family string, ok bool) {
	for i := range terms {
		one, of, ok := inStore(&terms[i])
		if !ok || len(one.Values) == 0 || i > 0 && (of != family || one.Qualifier != in.Qualifier) {
			return in, "", false
		}
		family, in.Qualifier = of, one.Qualifier
		in.Values = append(in.Values, one.Values...)
	}
	in.Values = cf.MergeRanges(in.Values)
	if len(in.Values) == 0 {
		in.Values = []cf.Range{{Start: "\xff", End: "\xff"}}
	}
	return in, family, true
}

// tagged are the encodings of values of a type whose bytes are in a range.
func tagged(t cells.Type, r cf.Range) cf.Range {
	in := cf.Range{Start: string([]byte{byte(t)}) + r.Start, End: string([]byte{byte(t)}) + r.End}
	if r.End == "" {
		in.End = string([]byte{byte(t) + 1})
	}
	return in
}
