package wire

import (
	"math"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"

	"github.com/smolwc/smolwc/query/filter"
)

// FilterMessage is a filter as a message: the inverse of [Filter].
func FilterMessage(f filter.Filter) (*bigtablepb.RowFilter, error) {
	if err := filter.Check(f); err != nil {
		return nil, Invalid("%v", err)
	}
	return messageOf(f)
}

// messageOf is FilterMessage of a checked filter; nil is no message.
func messageOf(f filter.Filter) (*bigtablepb.RowFilter, error) {
	m := new(bigtablepb.RowFilter)
	switch f := f.(type) {
	case nil:
		return nil, nil
	case filter.Chain:
		subs, err := messagesOf(f)
		m.Filter = &bigtablepb.RowFilter_Chain_{Chain: &bigtablepb.RowFilter_Chain{Filters: subs}}
		return m, err
	case filter.Interleave:
		subs, err := messagesOf(f)
		m.Filter = &bigtablepb.RowFilter_Interleave_{Interleave: &bigtablepb.RowFilter_Interleave{Filters: subs}}
		return m, err
	case filter.Condition:
		subs, err := messagesOf([]filter.Filter{f.If, f.Then, f.Else})
		if err != nil {
			return nil, err
		}
		m.Filter = &bigtablepb.RowFilter_Condition_{Condition: &bigtablepb.RowFilter_Condition{PredicateFilter: subs[0], TrueFilter: subs[1], FalseFilter: subs[2]}}
	case filter.PassAll:
		m.Filter = &bigtablepb.RowFilter_PassAllFilter{PassAllFilter: true}
	case filter.BlockAll:
		m.Filter = &bigtablepb.RowFilter_BlockAllFilter{BlockAllFilter: true}
	case filter.Sink:
		m.Filter = &bigtablepb.RowFilter_Sink{Sink: true}
	case filter.StripValue:
		m.Filter = &bigtablepb.RowFilter_StripValueTransformer{StripValueTransformer: true}
	case filter.Label:
		m.Filter = &bigtablepb.RowFilter_ApplyLabelTransformer{ApplyLabelTransformer: string(f)}
	case filter.RowKey:
		m.Filter = &bigtablepb.RowFilter_RowKeyRegexFilter{RowKeyRegexFilter: []byte(f)}
	case filter.Family:
		m.Filter = &bigtablepb.RowFilter_FamilyNameRegexFilter{FamilyNameRegexFilter: string(f)}
	case filter.Column:
		m.Filter = &bigtablepb.RowFilter_ColumnQualifierRegexFilter{ColumnQualifierRegexFilter: []byte(f)}
	case filter.Value:
		m.Filter = &bigtablepb.RowFilter_ValueRegexFilter{ValueRegexFilter: []byte(f)}
	case filter.RowSample:
		m.Filter = &bigtablepb.RowFilter_RowSampleFilter{RowSampleFilter: float64(f)}
	case filter.ColumnRange:
		return columnRangeMessage(f), nil
	case filter.ValueRange:
		return valueRangeMessage(f), nil
	case filter.ValueBitmask:
		m.Filter = &bigtablepb.RowFilter_ValueBitmaskFilter{ValueBitmaskFilter: &bigtablepb.ValueBitmask{Mask: []byte(f)}}
	case filter.TimestampRange:
		m.Filter = &bigtablepb.RowFilter_TimestampRangeFilter{TimestampRangeFilter: &bigtablepb.TimestampRange{StartTimestampMicros: int64(f.Since), EndTimestampMicros: int64(f.Until)}}
	case filter.CellsPerRowOffset:
		m.Filter = &bigtablepb.RowFilter_CellsPerRowOffsetFilter{CellsPerRowOffsetFilter: atMost32(int(f))}
	case filter.CellsPerRowLimit:
		m.Filter = &bigtablepb.RowFilter_CellsPerRowLimitFilter{CellsPerRowLimitFilter: atMost32(int(f))}
	case filter.Latest:
		m.Filter = &bigtablepb.RowFilter_CellsPerColumnLimitFilter{CellsPerColumnLimitFilter: atMost32(int(f))}
	default:
		return nil, Invalid("the filter %s cannot be sent over the network: Bigtable does not have it", f)
	}
	return m, nil
}

// atMost32 is a limit as messages have it: no row holds more cells than an int32
// can count.
func atMost32(n int) int32 { return int32(min(n, math.MaxInt32)) }

func messagesOf(fs []filter.Filter) ([]*bigtablepb.RowFilter, error) {
	ms := make([]*bigtablepb.RowFilter, len(fs))
	for i, f := range fs {
		var err error
		if ms[i], err = messageOf(f); err != nil {
			return nil, err
		}
	}
	return ms, nil
}

var blockAll = &bigtablepb.RowFilter{Filter: &bigtablepb.RowFilter_BlockAllFilter{BlockAllFilter: true}}

func columnRangeMessage(f filter.ColumnRange) *bigtablepb.RowFilter {
	if f.To.Open && f.To.At == "" {
		return blockAll // an empty end is no bound in a message
	}
	r := &bigtablepb.ColumnRange{FamilyName: f.Family}
	switch b := f.From; {
	case b.Open:
		r.StartQualifier = &bigtablepb.ColumnRange_StartQualifierOpen{StartQualifierOpen: []byte(b.At)}
	case b.Set:
		r.StartQualifier = &bigtablepb.ColumnRange_StartQualifierClosed{StartQualifierClosed: []byte(b.At)}
	}
	switch b := f.To; {
	case b.Open:
		r.EndQualifier = &bigtablepb.ColumnRange_EndQualifierOpen{EndQualifierOpen: []byte(b.At)}
	case b.Set:
		r.EndQualifier = &bigtablepb.ColumnRange_EndQualifierClosed{EndQualifierClosed: []byte(b.At)}
	}
	return &bigtablepb.RowFilter{Filter: &bigtablepb.RowFilter_ColumnRangeFilter{ColumnRangeFilter: r}}
}

func valueRangeMessage(f filter.ValueRange) *bigtablepb.RowFilter {
	if f.To.Open && f.To.At == "" {
		return blockAll
	}
	r := &bigtablepb.ValueRange{}
	switch b := f.From; {
	case b.Open:
		r.StartValue = &bigtablepb.ValueRange_StartValueOpen{StartValueOpen: []byte(b.At)}
	case b.Set:
		r.StartValue = &bigtablepb.ValueRange_StartValueClosed{StartValueClosed: []byte(b.At)}
	}
	switch b := f.To; {
	case b.Open:
		r.EndValue = &bigtablepb.ValueRange_EndValueOpen{EndValueOpen: []byte(b.At)}
	case b.Set:
		r.EndValue = &bigtablepb.ValueRange_EndValueClosed{EndValueClosed: []byte(b.At)}
	}
	return &bigtablepb.RowFilter{Filter: &bigtablepb.RowFilter_ValueRangeFilter{ValueRangeFilter: r}}
}
