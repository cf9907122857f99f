package client

import (
	"fmt"
	"math"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/internal/wire"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
)

// A read says in a filter what package query says in options. The filter takes
// them in the same order: columns, time range, versions, cells per row, and
// behind these the filter among the options.
//
// Conditions cannot be said in filters, which do not know types. Beside the cells
// that are asked for, a read gets the newest cell of each column that a condition
// is about, with a label, and judges them itself.

func readFilter(want *query.ReadRequest, where []query.Condition) (*bigtablepb.RowFilter, error) {
	var chain []*bigtablepb.RowFilter
	if len(want.Columns) > 0 {
		chain = append(chain, interleaved(columnFilters(want.Columns)))
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
		f, err := filterMessage(want.Filter)
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
		family, qualifier := c.Column()
		branches = append(branches, chainedFilters([]*bigtablepb.RowFilter{
			columnFilter(query.ColumnInterval{Family: family, Start: qualifier, End: qualifier + "\x00"}), versionsFilter(1),
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

func columnFilters(columns []query.ColumnInterval) []*bigtablepb.RowFilter {
	var fs []*bigtablepb.RowFilter
	for _, c := range columns {
		fs = append(fs, columnFilter(c))
	}
	return fs
}

func columnFilter(c query.ColumnInterval) *bigtablepb.RowFilter {
	r := &bigtablepb.ColumnRange{FamilyName: c.Family, StartQualifier: &bigtablepb.ColumnRange_StartQualifierClosed{StartQualifierClosed: []byte(c.Start)}}
	if !c.NoEnd {
		r.EndQualifier = &bigtablepb.ColumnRange_EndQualifierOpen{EndQualifierOpen: []byte(c.End)}
	}
	return &bigtablepb.RowFilter{Filter: &bigtablepb.RowFilter_ColumnRangeFilter{ColumnRangeFilter: r}}
}

// filterMessage is a filter of the statement language as a message.
func filterMessage(f query.Filter) (*bigtablepb.RowFilter, error) {
	name, arg, subs := query.DescribeFilter(f)
	switch name {
	case "chain", "interleave":
		var fs []*bigtablepb.RowFilter
		for _, sub := range subs {
			m, err := filterMessage(sub)
			if err != nil {
				return nil, err
			}
			fs = append(fs, m)
		}
		if name == "chain" {
			return chainedFilters(fs), nil
		}
		return interleaved(fs), nil
	case "pass_all":
		return passAllFilter, nil
	case "row_key_regex":
		return &bigtablepb.RowFilter{Filter: &bigtablepb.RowFilter_RowKeyRegexFilter{RowKeyRegexFilter: []byte(arg.(string))}}, nil
	case "family_name_regex":
		return &bigtablepb.RowFilter{Filter: &bigtablepb.RowFilter_FamilyNameRegexFilter{FamilyNameRegexFilter: arg.(string)}}, nil
	case "column_qualifier_regex":
		return &bigtablepb.RowFilter{Filter: &bigtablepb.RowFilter_ColumnQualifierRegexFilter{ColumnQualifierRegexFilter: []byte(arg.(string))}}, nil
	case "row_sample":
		return &bigtablepb.RowFilter{Filter: &bigtablepb.RowFilter_RowSampleFilter{RowSampleFilter: arg.(float64)}}, nil
	case "cells_per_row_limit":
		return cellsFilter(arg.(int)), nil
	case "cells_per_column_limit":
		return versionsFilter(arg.(int)), nil
	}
	return nil, fmt.Errorf("the filter %s is not one for reads over the network", f)
}

// condition is a condition as the values that come over the network have it: in
// a family without a type they are bytes, with which text can be compared.
func (t *ClientTable) condition(c query.Condition) (query.Condition, error) {
	_, v, compares := c.Comparison()
	family, _ := c.Column()
	f, ok := t.declared.Family(family)
	if t.client.isExact() || !compares || !ok || f.Type != cells.TypeAny || f.Aggregate != schema.NoAggregate {
		return c, nil
	}
	switch v.Type() {
	case cells.TypeBytes:
		return c, nil
	case cells.TypeString:
		s, _ := v.AsString()
		return c.With(cells.Bytes([]byte(s))), nil
	}
	return c, wire.Invalid("family %s declares no type, so that its values are bytes over the network and cannot be compared with %s %v; compare them with text, or declare a type", family, v.Type(), v)
}

// predicate is a condition for CheckAndMutateRow, which the server judges. One
// without types of values finds them by their bytes, so that they can be equal or
// not.
func (t *ClientTable) predicate(c query.Condition) (*bigtablepb.RowFilter, error) {
	if op, v, compares := c.Comparison(); compares && t.client.isExact() {
		family, qualifier := c.Column()
		return wire.ComparisonMessage(family, qualifier, int(op), v)
	}
	c, err := t.condition(c)
	if err != nil {
		return nil, err
	}
	family, qualifier := c.Column()
	newest := []*bigtablepb.RowFilter{columnFilter(query.ColumnInterval{Family: family, Start: qualifier, End: qualifier + "\x00"}), versionsFilter(1)}
	op, v, compares := c.Comparison()
	if !compares {
		return chainedFilters(newest), nil
	}
	equal := interleaved(t.equalTo(family, v))
	switch op {
	case query.EQ:
	case query.NE:
		equal = &bigtablepb.RowFilter{Filter: &bigtablepb.RowFilter_Condition_{Condition: &bigtablepb.RowFilter_Condition{
			PredicateFilter: chainedFilters(append(newest, equal)), TrueFilter: blockAllFilter, FalseFilter: passAllFilter}}}
	default:
		return nil, wire.Invalid("over the network a cas asks whether a column is equal, != or exists, and not for %s", op)
	}
	return chainedFilters(append(newest, equal)), nil
}

// equalTo finds the values that are equal to v, as they come over the network.
func (t *ClientTable) equalTo(family string, v cells.Value) []*bigtablepb.RowFilter {
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
