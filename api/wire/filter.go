package wire

import (
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/protobuf/proto"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query/filter"
)

// Filter is the filter of a message. The read finds wrong arguments. The bounds of
// the whole come first: the code below recurses that deep.
func Filter(f *bigtablepb.RowFilter) (filter.Filter, error) {
	if n := proto.Size(f); n > filter.MaxSize {
		return nil, Invalid("the row filter has %d bytes; it may have up to %d", n, filter.MaxSize)
	}
	return subFilter(f, 0)
}

func subFilter(f *bigtablepb.RowFilter, depth int) (filter.Filter, error) {
	if depth > filter.MaxDepth {
		return nil, Invalid("the row filter is nested too deeply; up to %d filters may be around one", filter.MaxDepth)
	}
	switch f := f.GetFilter().(type) {
	case *bigtablepb.RowFilter_Chain_:
		if len(f.Chain.GetFilters()) < 2 {
			return nil, Invalid("Chain must contain at least two RowFilters")
		}
		subs, err := subFilters(f.Chain.GetFilters(), depth)
		return filter.Chain(subs), err
	case *bigtablepb.RowFilter_Interleave_:
		if len(f.Interleave.GetFilters()) < 2 {
			return nil, Invalid("Interleave must contain at least two RowFilters")
		}
		subs, err := subFilters(f.Interleave.GetFilters(), depth)
		return filter.Interleave(subs), err
	case *bigtablepb.RowFilter_Condition_:
		return condition(f.Condition, depth)
	case *bigtablepb.RowFilter_RowKeyRegexFilter:
		return regex("row_key_regex_filter", string(f.RowKeyRegexFilter), func(expr string) filter.Filter { return filter.RowKey(expr) })
	case *bigtablepb.RowFilter_FamilyNameRegexFilter:
		return regex("family_name_regex_filter", f.FamilyNameRegexFilter, func(expr string) filter.Filter { return filter.Family(expr) })
	case *bigtablepb.RowFilter_ColumnQualifierRegexFilter:
		return filter.Column(f.ColumnQualifierRegexFilter), nil // an empty one keeps the empty qualifier
	case *bigtablepb.RowFilter_ValueRegexFilter:
		return filter.Value(f.ValueRegexFilter), nil // an empty one keeps empty values
	case *bigtablepb.RowFilter_ColumnRangeFilter:
		r := f.ColumnRangeFilter
		from, to := columnBounds(r)
		return filter.ColumnRange{Family: r.GetFamilyName(), From: from, To: to}, nil
	case *bigtablepb.RowFilter_ValueRangeFilter:
		from, to := valueBounds(f.ValueRangeFilter)
		return filter.ValueRange{From: from, To: to}, nil
	case *bigtablepb.RowFilter_TimestampRangeFilter:
		r := f.TimestampRangeFilter
		return filter.TimestampRange{Since: cells.Timestamp(r.GetStartTimestampMicros()), Until: cells.Timestamp(r.GetEndTimestampMicros())}, nil
	case *bigtablepb.RowFilter_ValueBitmaskFilter:
		return filter.ValueBitmask(f.ValueBitmaskFilter.GetMask()), nil
	case *bigtablepb.RowFilter_RowSampleFilter:
		return filter.RowSample(f.RowSampleFilter), nil
	case *bigtablepb.RowFilter_CellsPerRowOffsetFilter:
		return filter.CellsPerRowOffset(int(f.CellsPerRowOffsetFilter)), nil
	case *bigtablepb.RowFilter_CellsPerRowLimitFilter:
		return filter.CellsPerRowLimit(int(f.CellsPerRowLimitFilter)), nil
	case *bigtablepb.RowFilter_CellsPerColumnLimitFilter:
		return filter.Latest(int(f.CellsPerColumnLimitFilter)), nil
	case *bigtablepb.RowFilter_ApplyLabelTransformer:
		return filter.Label(f.ApplyLabelTransformer), nil
	case *bigtablepb.RowFilter_Sink:
		return constant("sink", f.Sink, filter.Sink{})
	case *bigtablepb.RowFilter_PassAllFilter:
		return constant("pass_all_filter", f.PassAllFilter, filter.PassAll{})
	case *bigtablepb.RowFilter_BlockAllFilter:
		return constant("block_all_filter", f.BlockAllFilter, filter.BlockAll{})
	case *bigtablepb.RowFilter_StripValueTransformer:
		return constant("strip_value_transformer", f.StripValueTransformer, filter.StripValue{})
	}
	return filter.PassAll{}, nil // a RowFilter without a filter
}

func subFilters(fs []*bigtablepb.RowFilter, depth int) ([]filter.Filter, error) {
	subs := make([]filter.Filter, len(fs))
	for i, f := range fs {
		var err error
		if subs[i], err = subFilter(f, depth+1); err != nil {
			return nil, err
		}
	}
	return subs, nil
}

func condition(c *bigtablepb.RowFilter_Condition, depth int) (filter.Filter, error) {
	var branches [3]filter.Filter
	for i, f := range []*bigtablepb.RowFilter{c.GetPredicateFilter(), c.GetTrueFilter(), c.GetFalseFilter()} {
		if f == nil {
			continue
		}
		var err error
		if branches[i], err = subFilter(f, depth+1); err != nil {
			return nil, err
		}
	}
	return filter.Condition{If: branches[0], Then: branches[1], Else: branches[2]}, nil
}

// regex is a filter of a regular expression that must not be empty, since neither a key
// nor the name of a family is.
func regex(field string, expr string, of func(string) filter.Filter) (filter.Filter, error) {
	if expr == "" {
		return nil, Invalid("Error in field '%s' : argument must not be empty", field)
	}
	return of(expr), nil
}

// constant is a filter whose only argument is true.
func constant(field string, set bool, f filter.Filter) (filter.Filter, error) {
	if !set {
		return nil, Invalid("%s must be true if set", field)
	}
	return f, nil
}

func columnBounds(r *bigtablepb.ColumnRange) (from, to filter.Bound) {
	switch q := r.GetStartQualifier().(type) {
	case *bigtablepb.ColumnRange_StartQualifierClosed:
		from = filter.Including(string(q.StartQualifierClosed))
	case *bigtablepb.ColumnRange_StartQualifierOpen:
		from = filter.Excluding(string(q.StartQualifierOpen))
	}
	switch q := r.GetEndQualifier().(type) {
	case *bigtablepb.ColumnRange_EndQualifierClosed:
		to = filter.Including(string(q.EndQualifierClosed))
	case *bigtablepb.ColumnRange_EndQualifierOpen:
		to = endBound(q.EndQualifierOpen)
	}
	return from, to
}

func valueBounds(r *bigtablepb.ValueRange) (from, to filter.Bound) {
	switch v := r.GetStartValue().(type) {
	case *bigtablepb.ValueRange_StartValueClosed:
		from = filter.Including(string(v.StartValueClosed))
	case *bigtablepb.ValueRange_StartValueOpen:
		from = filter.Excluding(string(v.StartValueOpen))
	}
	switch v := r.GetEndValue().(type) {
	case *bigtablepb.ValueRange_EndValueClosed:
		to = filter.Including(string(v.EndValueClosed))
	case *bigtablepb.ValueRange_EndValueOpen:
		to = endBound(v.EndValueOpen)
	}
	return from, to
}

// endBound is an exclusive end; an empty one is no bound.
func endBound(b []byte) filter.Bound {
	if len(b) == 0 {
		return filter.Bound{}
	}
	return filter.Excluding(string(b))
}
