package client

import (
	"math"
	"slices"
	"strconv"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"

	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/filter"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
)

// A request to package query has several options where a request on the wire carries
// one filter. That filter applies them in package query's order: columns, time range,
// versions, cells per row, and then the filter among the options.
//
// A filter cannot express a condition, since it knows no types. From a server that does not
// know conditions a read therefore also gets the newest cell of each column that a condition
// names, with a label, and checks the conditions itself.

func readFilter(want *read.Request, judged []read.ColumnSpec) (*bigtablepb.RowFilter, error) {
	f := selection(want)
	if len(judged) > 0 {
		if f == nil {
			f = filter.PassAll{}
		}
		branches := []filter.Filter{f}
		for i, c := range judged {
			branches = append(branches, append(newest(c.Family, c.Qualifier), filter.Label(conditionLabel+strconv.Itoa(i))))
		}
		f = filter.Interleave(branches)
	}
	return wire.FilterMessage(f)
}

// judgedColumns returns the columns that conditions test, without duplicates.
func judgedColumns(where []read.Condition) []read.ColumnSpec {
	var columns []read.ColumnSpec
	for i := range where {
		for family, qualifier := range where[i].Columns() {
			if c := read.Column(family, qualifier); !slices.Contains(columns, c) {
				columns = append(columns, c)
			}
		}
	}
	return columns
}

// selection is the options' selection in a row; nil is all of it.
func selection(want *read.Request) filter.Filter {
	if want.EveryRow && len(want.Columns) > 0 && !want.KeysOnly {
		return everyRow(want)
	}
	var chain []filter.Filter
	if len(want.Columns) > 0 && !want.EveryRow {
		chain = append(chain, columns(want.ColumnRanges()))
	}
	chain = append(chain, limits(want)...)
	if want.Filter != nil {
		chain = append(chain, want.Filter)
	}
	if want.KeysOnly {
		chain = append(chain, filter.CellsPerRowLimit(1), filter.StripValue{})
	}
	return filter.ChainOf(chain...)
}

// limits are the options that limit the cells of columns.
func limits(want *read.Request) (chain []filter.Filter) {
	if want.Since > 0 || want.Until > 0 {
		chain = append(chain, filter.TimestampRange{Since: want.Since, Until: want.Until})
	}
	if want.Versions > 0 {
		chain = append(chain, filter.Latest(want.Versions))
	}
	if want.CellsPerRow > 0 {
		chain = append(chain, filter.CellsPerRowLimit(want.CellsPerRow))
	}
	return chain
}

// everyRow is the columns, with those that conditions judge in the same families, and one
// cell without its value of each row.
func everyRow(want *read.Request) filter.Filter {
	of := want.ColumnRanges()
	for i := range of {
		if f := &of[i]; len(f.Qualifiers) > 0 {
			f.Qualifiers = cf.MergeRanges(append(f.Qualifiers, judged(want, f.Family)...))
		}
	}
	some := append([]filter.Filter{columns(of)}, limits(want)...)
	each := append(limits(want), filter.CellsPerRowLimit(1), filter.StripValue{}, filter.Label(everyLabel))
	return filter.Interleave{filter.ChainOf(some...), filter.ChainOf(each...)}
}

// judged are the columns of a family that conditions judge.
func judged(want *read.Request, family string) (qualifiers []cf.Range) {
	for i := range want.Where {
		for of, qualifier := range want.Where[i].Columns() {
			if of == family {
				qualifiers = append(qualifiers, cf.Single(qualifier))
			}
		}
	}
	return qualifiers
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

func newest(family, qualifier string) filter.Chain {
	return filter.Chain{filter.ColumnRange{Family: family, From: filter.Including(qualifier), To: filter.Including(qualifier)}, filter.Latest(1)}
}

// condition is a condition as it applies to values from the network.
func (t *Table) condition(c read.Condition) (read.Condition, error) {
	c, err := t.asBytes(c)
	if err != nil {
		return c, err
	}
	if c, err = c.Prepare(t.typeOf); err != nil {
		return c, wire.Invalid("%v", err)
	}
	return c, nil
}

// typeOf is the type that a family declares. The server finds families that do not exist.
func (t *Table) typeOf(family string) (cells.Type, error) {
	f, ok := t.declared.Family(family)
	switch {
	case !ok:
		return cells.TypeAny, nil
	case f.Aggregate != schema.NoAggregate:
		return cells.TypeI64, nil
	}
	return f.Type, nil
}

// asBytes is a condition on values that come from the network as bytes, if the family
// is untyped: they can be compared with text.
func (t *Table) asBytes(c read.Condition) (read.Condition, error) {
	if t.client.isExact() {
		return c, nil
	}
	var err error
	c.Terms, c.Values = slices.Clone(c.Terms), slices.Clone(c.Values)
	for i := range c.Terms {
		if c.Terms[i], err = t.asBytes(c.Terms[i]); err != nil {
			return c, err
		}
	}
	if c.On != read.OnValue || c.Kind >= read.AnyOf || !t.untyped(c.Family) {
		return c, nil
	}
	for i := range c.Values {
		if c.Values[i], err = textAsBytes(c.Family, c.Values[i]); err != nil {
			return c, err
		}
	}
	switch c.Kind {
	case read.Compares:
		c.Value, err = textAsBytes(c.Family, c.Value)
	case read.ComparesColumns:
		err = wire.Invalid("family %s declares no type, so that its values are bytes over the network and cannot be compared with those of %s:%s; declare a type", c.Family, c.Other.Family, c.Other.Qualifier)
	}
	return c, err
}

func (t *Table) untyped(family string) bool {
	f, ok := t.declared.Family(family)
	return ok && f.Type == cells.TypeAny && f.Aggregate == schema.NoAggregate
}

func textAsBytes(family string, v cells.Value) (cells.Value, error) {
	switch v.Type() {
	case cells.TypeBytes:
		return v, nil
	case cells.TypeString:
		s, _ := v.AsString()
		return cells.Bytes([]byte(s)), nil
	}
	return v, wire.Invalid("family %s declares no type, so that its values are bytes over the network and cannot be compared with %s %v; compare them with text, or declare a type", family, v.Type(), v)
}

// predicate is a condition for CheckAndMutateRow, which the server judges. A server
// without types of values compares bytes, so it can only test for equality.
func (t *Table) predicate(c read.Condition) (*bigtablepb.RowFilter, error) {
	if c.On != read.OnValue || c.Kind > read.IsAbsent {
		return nil, wire.Invalid("over the network a cas compares a column with one value, or asks whether it exists")
	}
	if c.Kind == read.Compares && t.client.isExact() {
		return wire.ComparisonMessage(c.Family, c.Qualifier, int(c.Op), c.Value)
	}
	c, err := t.condition(c)
	if err != nil {
		return nil, err
	}
	f := newest(c.Family, c.Qualifier)
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
