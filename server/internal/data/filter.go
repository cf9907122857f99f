package data

import (
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/protobuf/proto"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/internal/wire"
	"github.com/smolwc/smolwc/query"
)

// The bounds of a RowFilter. The database has them too; here they come first,
// since what follows recurses that far.
const (
	maxFilterBytes = 20480
	maxFilterDepth = 20
)

// filterOf is a row filter of package query, which has the same ones. What is
// wrong with their arguments is found by the read.
func filterOf(f *bigtablepb.RowFilter) (query.Filter, error) {
	if n := proto.Size(f); n > maxFilterBytes {
		return nil, wire.Invalid("the row filter has %d bytes; it may have up to %d", n, maxFilterBytes)
	}
	return subFilter(f, 0)
}

func subFilter(f *bigtablepb.RowFilter, depth int) (query.Filter, error) {
	if depth > maxFilterDepth {
		return nil, wire.Invalid("the row filter is nested too deep: up to %d filters may be around one", maxFilterDepth)
	}
	switch f := f.GetFilter().(type) {
	case *bigtablepb.RowFilter_Chain_:
		if len(f.Chain.GetFilters()) < 2 {
			return nil, wire.Invalid("Chain must contain at least two RowFilters")
		}
		subs, err := subFilters(f.Chain.GetFilters(), depth)
		return query.ChainFilters(subs...), err
	case *bigtablepb.RowFilter_Interleave_:
		if len(f.Interleave.GetFilters()) < 2 {
			return nil, wire.Invalid("Interleave must contain at least two RowFilters")
		}
		subs, err := subFilters(f.Interleave.GetFilters(), depth)
		return query.InterleaveFilters(subs...), err
	case *bigtablepb.RowFilter_Condition_:
		return condition(f.Condition, depth)
	case *bigtablepb.RowFilter_RowKeyRegexFilter:
		return regex("row_key_regex_filter", f.RowKeyRegexFilter, query.RowKeyFilter)
	case *bigtablepb.RowFilter_FamilyNameRegexFilter:
		return regex("family_name_regex_filter", []byte(f.FamilyNameRegexFilter), query.FamilyFilter)
	case *bigtablepb.RowFilter_ColumnQualifierRegexFilter:
		return regex("column_qualifier_regex_filter", f.ColumnQualifierRegexFilter, query.ColumnFilter)
	case *bigtablepb.RowFilter_ValueRegexFilter:
		return regex("value_regex_filter", f.ValueRegexFilter, query.ValueFilter)
	case *bigtablepb.RowFilter_ColumnRangeFilter:
		r := f.ColumnRangeFilter
		from, to := columnBounds(r)
		return query.ColumnBoundsFilter(r.GetFamilyName(), from, to), nil
	case *bigtablepb.RowFilter_ValueRangeFilter:
		return query.ValueBoundsFilter(valueBounds(f.ValueRangeFilter)), nil
	case *bigtablepb.RowFilter_TimestampRangeFilter:
		r := f.TimestampRangeFilter
		return query.TimestampRangeFilter(cells.Timestamp(r.GetStartTimestampMicros()), cells.Timestamp(r.GetEndTimestampMicros())), nil
	case *bigtablepb.RowFilter_ValueBitmaskFilter:
		return query.ValueBitmaskFilter(f.ValueBitmaskFilter.GetMask()), nil
	case *bigtablepb.RowFilter_RowSampleFilter:
		return query.RowSampleFilter(f.RowSampleFilter), nil
	case *bigtablepb.RowFilter_CellsPerRowOffsetFilter:
		return query.CellsPerRowOffsetFilter(int(f.CellsPerRowOffsetFilter)), nil
	case *bigtablepb.RowFilter_CellsPerRowLimitFilter:
		return query.CellsPerRowLimitFilter(int(f.CellsPerRowLimitFilter)), nil
	case *bigtablepb.RowFilter_CellsPerColumnLimitFilter:
		return query.LatestNFilter(int(f.CellsPerColumnLimitFilter)), nil
	case *bigtablepb.RowFilter_ApplyLabelTransformer:
		return query.LabelFilter(f.ApplyLabelTransformer), nil
	case *bigtablepb.RowFilter_Sink:
		return constant("sink", f.Sink, query.SinkFilter())
	case *bigtablepb.RowFilter_PassAllFilter:
		return constant("pass_all_filter", f.PassAllFilter, query.PassAllFilter())
	case *bigtablepb.RowFilter_BlockAllFilter:
		return constant("block_all_filter", f.BlockAllFilter, query.BlockAllFilter())
	case *bigtablepb.RowFilter_StripValueTransformer:
		return constant("strip_value_transformer", f.StripValueTransformer, query.StripValueFilter())
	}
	return query.PassAllFilter(), nil // a RowFilter without a filter
}

func subFilters(fs []*bigtablepb.RowFilter, depth int) ([]query.Filter, error) {
	subs := make([]query.Filter, len(fs))
	for i, f := range fs {
		var err error
		if subs[i], err = subFilter(f, depth+1); err != nil {
			return nil, err
		}
	}
	return subs, nil
}

func condition(c *bigtablepb.RowFilter_Condition, depth int) (query.Filter, error) {
	var branches [3]query.Filter
	for i, f := range []*bigtablepb.RowFilter{c.GetPredicateFilter(), c.GetTrueFilter(), c.GetFalseFilter()} {
		if f == nil {
			continue
		}
		var err error
		if branches[i], err = subFilter(f, depth+1); err != nil {
			return nil, err
		}
	}
	return query.ConditionFilter(branches[0], branches[1], branches[2]), nil
}

func regex(field string, expr []byte, filter func(string) query.Filter) (query.Filter, error) {
	if len(expr) == 0 {
		return nil, wire.Invalid("Error in field '%s' : argument must not be empty", field)
	}
	return filter(string(expr)), nil
}

// constant is a filter whose only argument is true.
func constant(field string, set bool, f query.Filter) (query.Filter, error) {
	if !set {
		return nil, wire.Invalid("%s must be true if set", field)
	}
	return f, nil
}

func columnBounds(r *bigtablepb.ColumnRange) (from, to query.Bound) {
	switch q := r.GetStartQualifier().(type) {
	case *bigtablepb.ColumnRange_StartQualifierClosed:
		from = query.Including(string(q.StartQualifierClosed))
	case *bigtablepb.ColumnRange_StartQualifierOpen:
		from = query.Excluding(string(q.StartQualifierOpen))
	}
	switch q := r.GetEndQualifier().(type) {
	case *bigtablepb.ColumnRange_EndQualifierClosed:
		to = query.Including(string(q.EndQualifierClosed))
	case *bigtablepb.ColumnRange_EndQualifierOpen:
		to = endBound(q.EndQualifierOpen)
	}
	return from, to
}

func valueBounds(r *bigtablepb.ValueRange) (from, to query.Bound) {
	switch v := r.GetStartValue().(type) {
	case *bigtablepb.ValueRange_StartValueClosed:
		from = query.Including(string(v.StartValueClosed))
	case *bigtablepb.ValueRange_StartValueOpen:
		from = query.Excluding(string(v.StartValueOpen))
	}
	switch v := r.GetEndValue().(type) {
	case *bigtablepb.ValueRange_EndValueClosed:
		to = query.Including(string(v.EndValueClosed))
	case *bigtablepb.ValueRange_EndValueOpen:
		to = endBound(v.EndValueOpen)
	}
	return from, to
}

// endBound is an exclusive end; an empty one is no bound.
func endBound(b []byte) query.Bound {
	if len(b) == 0 {
		return query.Bound{}
	}
	return query.Excluding(string(b))
}
