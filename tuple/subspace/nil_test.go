package subspace_test

import (
	"testing"

	"github.com/smolwc/smolwc/internal/nilcheck"
	"github.com/smolwc/smolwc/tuple/subspace"
)

// TestNil calls everything with nil and with zero values: nothing panics.
func TestNil(t *testing.T) {
	p := nilcheck.Package{
		Funcs: []any{
			subspace.AllKeys, subspace.FromBytes, subspace.New,
		},
		Types:  []any{},
		Usable: []any{},
		Skip:   map[string]string{},
	}
	p.Run(t, ".")
}
