package dialect_test

import (
	"testing"

	"github.com/smolwc/smolwc/internal/nilcheck"
	"github.com/smolwc/smolwc/ql/dialect"
)

// TestNil calls everything with nil and with zero values: nothing panics.
func TestNil(t *testing.T) {
	p := nilcheck.Package{
		Funcs: []any{
			dialect.AsText, dialect.CutConverter, dialect.HBaseText, dialect.InsteadOf, dialect.InsteadOfClause, dialect.InsteadOfOption,
			dialect.IsIgnored, dialect.IsLastTime, dialect.IsStorage, dialect.NextMilli, dialect.ParseFamilies,
			dialect.ParseFilters, dialect.ParseMillis, dialect.ParsePolicy,
		},
		Types: []any{dialect.Arg{}, dialect.Family{}, dialect.Filter{}, dialect.Policy{}},
	}
	p.Run(t, ".")
}
