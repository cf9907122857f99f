package client

import (
	"math"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/internal/wire"
	"github.com/smolwc/smolwc/query/filter"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
)

// A request to package query has several options where a request on the wire has one
// filter. That filter applies them in package query's order: columns, time range,
// versions, cells per row, and then the filter among the options.
//
// A filter cannot express a condition, since it has no types. A read therefore also
// gets the newest cell of each column that a condition names, with a label, and checks
// the conditions itself.

func readFilter(want *read.Request, where []read.Condition) (*bigtablepb.RowFilter, error) {
	f := selection(want)
	if len(where) > 0 {
		if f == nil {
			f = filter.PassAll{}
		}
		branches := []filter.Filter{f}
		for i, c := range where {
			branches = append(branches, append(newest(c), filter.Label(conditionLabel(i))))
		}
		f = filter.Interleave(branches)
	}
	return wire.FilterMessage(f)
}

// selection is what the options select in a row; nil is all of it.
func selection(want *read.Request) filter.Filter {
	var chain []filter.Filter
	if len(want.Columns) > 0 {
		chain = append(chain, columns(want.ColumnRanges()))
	}
	if want.Since > 0 || want.Until > 0 {
		chain = append(chain, filter.TimestampRange{Since: want.Since, Until: want.Until})
	}
	if want.Versions > 0 {
		chain = append(chain, filter.Latest(want.Versions))
	}
	if want.CellsPerRow > 0 {
		chain = append(chain, filter.CellsPerRowLimit(want.CellsPerRow))
	}
	if want.Filter != nil {
		chain = append(chain, want.Filter)
	}
	if want.KeysOnly {
		chain = append(chain, filter.CellsPerRowLimit(1), filter.StripValue{})
	}
	return filter.ChainOf(chain...)
}

func columns(of []read.FamilyColumns) filter.Filter {
	var ranges []filter.Filter
	for _, c := range of {
		for _, q := range c.Qualifiers {
			f := filter.ColumnRange{Family: c.Family, From: filter.Including(q.Start)}
			if q.End != "" {
				f.To = filter.Excluding(q.End)
			}
			ranges = append(ranges, f)
		}
	}
	return filter.InterleaveOf(ranges...)
}

// newest is the newest cell of the column that a condition names.
func newest(c read.Condition) filter.Chain {
	return filter.Chain{filter.ColumnRange{Family: c.Family, From: filter.Including(c.Qualifier), To: filter.Including(c.Qualifier)}, filter.Latest(1)}
}

// condition is a condition as it applies to values from the network: in a family
// without a type they are bytes, which can be compared with text.
func (t *Table) condition(c read.Condition) (read.Condition, error) {
	v := c.Value
	f, ok := t.declared.Family(c.Family)
	if t.client.isExact() || c.Kind != read.Compares || !ok || f.Type != cells.TypeAny || f.Aggregate != schema.NoAggregate {
		return c, nil
	}
	switch v.Type() {
	case cells.TypeBytes:
		return c, nil
	case cells.TypeString:
		s, _ := v.AsString()
		c.Value = cells.Bytes([]byte(s))
		return c, nil
	}
	return c, wire.Invalid("family %s declares no type, so that its values are bytes over the network and cannot be compared with %s %v; compare them with text, or declare a type", c.Family, v.Type(), v)
}

// predicate is a condition for CheckAndMutateRow, which the server judges. A server
// without types of values compares bytes, so it can only test for equality.
func (t *Table) predicate(c read.Condition) (*bigtablepb.RowFilter, error) {
	if c.Kind == read.Compares && t.client.isExact() {
		return wire.ComparisonMessage(c.Family, c.Qualifier, int(c.Op), c.Value)
	}
	c, err := t.condition(c)
	if err != nil {
		return nil, err
	}
	f := newest(c)
	if c.Kind == read.Compares {
		equal := t.equalTo(c.Family, c.Value)
		switch c.Op {
		case cells.OpEqual:
			f = append(f, equal)
		case cells.OpNotEqual:
			f = append(f, filter.Condition{If: equal, Then: filter.BlockAll{}, Else: filter.PassAll{}})
		default:
			return nil, wire.Invalid("over the network a cas asks whether a column is equal, != or exists, and not for %s", c.Op)
		}
	}
	return wire.FilterMessage(f)
}

// equalTo finds the values that are equal to v, as they come over the network.
func (t *Table) equalTo(family string, v cells.Value) filter.Filter {
	var equal []filter.Filter
	add := func(v cells.Value) {
		at := filter.Including(string(wire.AppendValue(nil, v)))
		equal = append(equal, filter.ValueRange{From: at, To: at})
	}
	declared := cells.TypeAny
	if f, ok := t.declared.Family(family); ok {
		declared = f.Type
		if f.Aggregate != schema.NoAggregate {
			declared = cells.TypeI64
		}
	}
	switch {
	case declared == cells.TypeI64:
		if n, ok := wholeNumber(v); ok {
			add(cells.I64(n))
		}
	case declared == cells.TypeF64 || declared == cells.TypeF32:
		for _, f := range floats(v) {
			if declared == cells.TypeF64 {
				add(cells.F64(f))
			} else if float64(float32(f)) == f {
				add(cells.F32(float32(f)))
			}
		}
	default:
		add(v)
	}
	return filter.InterleaveOf(equal...)
}

// wholeNumber is the integer that a number is.
func wholeNumber(v cells.Value) (int64, bool) {
	if n, ok := v.Int(); ok {
		return n, true
	}
	f, ok := v.Float()
	return int64(f), ok && f >= -1<<63 && f < 1<<63 && f == float64(int64(f))
}

// floats are the floating-point numbers that are equal to a number: two for 0.
func floats(v cells.Value) []float64 {
	f, ok := v.Float()
	if n, isInt := v.Int(); isInt {
		f, ok = float64(n), float64(n) < 1<<63 && int64(float64(n)) == n
	}
	switch {
	case !ok || f != f:
		return nil
	case f == 0:
		return []float64{0, math.Copysign(0, -1)}
	}
	return []float64{f}
}
