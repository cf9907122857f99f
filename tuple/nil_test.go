package tuple_test

import (
	"testing"

	"github.com/smolwc/smolwc/internal/nilcheck"
	"github.com/smolwc/smolwc/tuple"
)

// TestNil calls everything with nil and with zero values: nothing panics.
func TestNil(t *testing.T) {
	p := nilcheck.Package{
		Funcs: []any{
			tuple.AppendBytes, tuple.AppendPack, tuple.Compare, tuple.DecodeBytes, tuple.Desc, tuple.Key, tuple.MustPack, tuple.Pack,
			tuple.PrefixRange, tuple.Range, tuple.Strinc, tuple.Unpack,
		},
		Types:  []any{tuple.Descending{}, tuple.Options{}, tuple.DecodeError{}, tuple.PackError{}, tuple.Versionstamp{}},
		Usable: []any{},
		Skip:   map[string]string{"MustPack": "it panics by design", "Key": "it panics by design"},
	}
	p.Run(t, ".")
}
