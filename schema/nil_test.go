package schema_test

import (
	"testing"

	"github.com/smolwc/smolwc/internal/nilcheck"
	"github.com/smolwc/smolwc/schema"
)

// TestNil calls everything with nil and with zero values: nothing panics.
func TestNil(t *testing.T) {
	p := nilcheck.Package{
		Funcs: []any{
			schema.All, schema.Any, schema.CheckChangeStream, schema.CheckFamilyName, schema.CheckKeys, schema.CheckTableName, schema.DerivedName, schema.MarksOf, schema.IsDerived,
			schema.Covers, schema.DidYouMean, schema.Diff, schema.FormatAge, schema.FormatChangeStream, schema.FormatSize,
			schema.KeyFormats, schema.Load, schema.MaxAge, schema.MaxVersions, schema.Nearest,
			schema.Parse, schema.ParseAge, schema.ParseAggregate, schema.ParseChangeStream, schema.ParseEnforcement,
			schema.ParseKeyFormat, schema.ParseSize, schema.ParseYAML, schema.UnmarshalCatalog,
		},
		Types:  []any{schema.Errors{}, schema.Fault{}},
		Usable: []any{},
	}
	p.Run(t, ".")
}
