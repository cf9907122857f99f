package read_test

import (
	"testing"

	"github.com/smolwc/smolwc/internal/nilcheck"
	"github.com/smolwc/smolwc/query/filter"
	"github.com/smolwc/smolwc/query/read"
)

// TestNil calls everything with nil and zero values: nothing panics.
func TestNil(t *testing.T) {
	p := nilcheck.Package{
		Funcs: []any{
			read.Absent, read.After, read.All, read.Any, read.Negate, read.WhereColumns, read.WhereTimes, read.WhereIn, read.WhereKey, read.WhereKeyMatch, read.WhereKeyPart, read.WhereMatch, read.WhereTime,
			read.BigtableFilter, read.CellsPerRow, read.CheckPatterns, read.Column, read.ColumnPrefix, read.ColumnRange, read.Exists, read.Family,
			read.EveryRow, read.Filter, read.Key, read.KeyPart, read.KeysOnly, read.Lend, read.Limit, read.New, read.Offset, read.PageSize, read.Prefix, read.Range, read.Rejected,
			read.ReportCost, read.Reverse, read.SampleByKey, read.StartAfter, read.TimeRange, read.TuplePrefix, read.Versions, read.Where,
		},
		Types: []any{read.Request{}, read.RowSet{}, read.ColumnSpec{}, read.Condition{}},
		Usable: []any{
			func(t testing.TB) read.Option { return read.Limit(1) },
			func(t testing.TB) filter.Filter { return filter.PassAll{} },
		},
	}
	p.Run(t, ".")
}
