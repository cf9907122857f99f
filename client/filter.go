package client

import (
	"math"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/internal/wire"
	"github.com/smolwc/smolwc/query/filter"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
)

// Package query says in options what the wire says in one filter. It applies them
// in the same order: columns, time range, versions, cells per row, and then the
// filter among the options.
//
// A filter cannot say a condition, since it knows no types. Beside the selected
// cells, a read gets the newest cell of each column that a condition names, with
// a label, and judges them itself.

func readFilter(want *read.Request, where []read.Condition) (*bigtablepb.RowFilter, error) {
	var chain []*bigtablepb.RowFilter
	if len(want.Columns) > 0 {
		chain = append(chain, interleaved(columnFilters(want.ColumnRanges())))
	}
	if want.Since > 0 || want.Until > 0 {
		chain = append(chain, &bigtablepb.RowFilter{Filter: &bigtablepb.RowFilter_TimestampRangeFilter{
			TimestampRangeFilter: &bigtablepb.TimestampRange{StartTimestampMicros: int64(want.Since), EndTimestampMicros: int64(want.Until)}}})
	}
	if want.Versions > 0 {
		chain = append(chain, versionsFilter(want.Versions))
	}
	if want.CellsPerRow > 0 {
		chain = append(chain, cellsFilter(want.CellsPerRow))
	}
	if want.Filter != nil {
		f, err := wire.FilterMessage(want.Filter)
		if err != nil {
			return nil, err
		}
		chain = append(chain, f)
	}
	if want.KeysOnly {
		chain = append(chain, cellsFilter(1), &bigtablepb.RowFilter{Filter: &bigtablepb.RowFilter_StripValueTransformer{StripValueTransformer: true}})
	}
	if len(where) == 0 {
		return chainedFilters(chain), nil
	}
	branches := []*bigtablepb.RowFilter{chainedFilters(chain)}
	if branches[0] == nil {
		branches[0] = passAllFilter
	}
	for i, c := range where {
		branches = append(branches, chainedFilters([]*bigtablepb.RowFilter{
			columnFilter(c.Family, cf.Single(c.Qualifier)), versionsFilter(1),
			{Filter: &bigtablepb.RowFilter_ApplyLabelTransformer{ApplyLabelTransformer: conditionLabel(i)}},
		}))
	}
	return interleaved(branches), nil
}

var (
	passAllFilter  = &bigtablepb.RowFilter{Filter: &bigtablepb.RowFilter_PassAllFilter{PassAllFilter: true}}
	blockAllFilter = &bigtablepb.RowFilter{Filter: &bigtablepb.RowFilter_BlockAllFilter{BlockAllFilter: true}}
)

func versionsFilter(n int) *bigtablepb.RowFilter {
	return &bigtablepb.RowFilter{Filter: &bigtablepb.RowFilter_CellsPerColumnLimitFilter{CellsPerColumnLimitFilter: int32(n)}}
}

func cellsFilter(n int) *bigtablepb.RowFilter {
	return &bigtablepb.RowFilter{Filter: &bigtablepb.RowFilter_CellsPerRowLimitFilter{CellsPerRowLimitFilter: int32(n)}}
}

// chainedFilters is nil for none.
func chainedFilters(fs []*bigtablepb.RowFilter) *bigtablepb.RowFilter {
	switch len(fs) {
	case 0:
		return nil
	case 1:
		return fs[0]
	}
	return &bigtablepb.RowFilter{Filter: &bigtablepb.RowFilter_Chain_{Chain: &bigtablepb.RowFilter_Chain{Filters: fs}}}
}

func interleaved(fs []*bigtablepb.RowFilter) *bigtablepb.RowFilter {
	if len(fs) == 1 {
		return fs[0]
	}
	return &bigtablepb.RowFilter{Filter: &bigtablepb.RowFilter_Interleave_{Interleave: &bigtablepb.RowFilter_Interleave{Filters: fs}}}
}

func columnFilters(columns []read.FamilyColumns) []*bigtablepb.RowFilter {
	var fs []*bigtablepb.RowFilter
	for _, c := range columns {
		for _, q := range c.Qualifiers {
			fs = append(fs, columnFilter(c.Family, q))
		}
	}
	return fs
}

func columnFilter(family string, q cf.Range) *bigtablepb.RowFilter {
	f := filter.ColumnRange{Family: family, From: filter.Including(q.Start)}
	if q.End != "" {
		f.To = filter.Excluding(q.End)
	}
	return wire.ColumnRangeMessage(f)
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

// predicate is a condition for CheckAndMutateRow, which the server judges. A
// server without types of values compares bytes, so that it can only say whether
// they are equal.
func (t *Table) predicate(c read.Condition) (*bigtablepb.RowFilter, error) {
	if c.Kind == read.Compares && t.client.isExact() {
		return wire.ComparisonMessage(c.Family, c.Qualifier, int(c.Op), c.Value)
	}
	c, err := t.condition(c)
	if err != nil {
		return nil, err
	}
	newest := []*bigtablepb.RowFilter{columnFilter(c.Family, cf.Single(c.Qualifier)), versionsFilter(1)}
	if c.Kind != read.Compares {
		return chainedFilters(newest), nil
	}
	equal := interleaved(t.equalTo(c.Family, c.Value))
	switch c.Op {
	case cells.OpEqual:
	case cells.OpNotEqual:
		equal = &bigtablepb.RowFilter{Filter: &bigtablepb.RowFilter_Condition_{Condition: &bigtablepb.RowFilter_Condition{
			PredicateFilter: chainedFilters(append(newest, equal)), TrueFilter: blockAllFilter, FalseFilter: passAllFilter}}}
	default:
		return nil, wire.Invalid("over the network a cas asks whether a column is equal, != or exists, and not for %s", c.Op)
	}
	return chainedFilters(append(newest, equal)), nil
}

// equalTo finds the values that are equal to v, as they come over the network.
func (t *Table) equalTo(family string, v cells.Value) []*bigtablepb.RowFilter {
	var equal [][]byte
	add := func(v cells.Value) { equal = append(equal, wire.AppendValue(nil, v)) }
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
	var fs []*bigtablepb.RowFilter
	for _, b := range equal {
		fs = append(fs, &bigtablepb.RowFilter{Filter: &bigtablepb.RowFilter_ValueRangeFilter{ValueRangeFilter: &bigtablepb.ValueRange{
			StartValue: &bigtablepb.ValueRange_StartValueClosed{StartValueClosed: b}, EndValue: &bigtablepb.ValueRange_EndValueClosed{EndValueClosed: b}}}})
	}
	if len(fs) == 0 {
		return []*bigtablepb.RowFilter{blockAllFilter}
	}
	return fs
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
