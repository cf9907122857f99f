package filter_test

import (
	"testing"

	"github.com/smolwc/smolwc/internal/nilcheck"
	"github.com/smolwc/smolwc/query/filter"
)

// TestNil calls everything with nil and zero values: nothing panics.
func TestNil(t *testing.T) {
	p := nilcheck.Package{
		Funcs: []any{filter.ChainOf, filter.Check, filter.Contains, filter.Excluding, filter.Including, filter.InterleaveOf, filter.Within},
		Types: []any{
			filter.Chain{}, filter.Interleave{}, filter.Label(""), filter.RowKey(""), filter.Family(""), filter.Column(""), filter.Value(""),
			filter.RowSample(0), filter.ValueBitmask(""), filter.CellsPerRowLimit(0), filter.CellsPerRowOffset(0), filter.Latest(0),
			filter.Condition{}, filter.PassAll{}, filter.BlockAll{}, filter.Sink{}, filter.StripValue{}, filter.ColumnRange{}, filter.ValueRange{},
			filter.ValueCompare{}, filter.TimestampRange{},
		},
		Usable: []any{func(t testing.TB) filter.Filter { return filter.Latest(1) }},
	}
	p.Run(t, ".")
}

// A pointer to a filter has the filter's methods, but is not a filter.
func TestAPointerIsNoFilter(t *testing.T) {
	var none *filter.ColumnRange
	for _, f := range []filter.Filter{none, filter.Chain{filter.PassAll{}, none}, &filter.Chain{}, filter.Condition{If: new(filter.Latest)}} {
		if err := filter.Check(f); err == nil {
			t.Errorf("%T is taken", f)
		}
	}
}
