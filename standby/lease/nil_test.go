package lease

import (
	"context"
	"testing"

	"github.com/smolwc/smolwc/internal/nilcheck"
)

// TestNil calls everything with nil and with zero values: nothing panics.
func TestNil(t *testing.T) {
	p := nilcheck.Package{
		Funcs: []any{Open},
		Types: []any{(*Elector)(nil), Candidate{}, Term{}, State{}, View{}},
		Usable: []any{
			func(t testing.TB) context.Context { return t.Context() },
		},
	}
	p.Run(t, ".")
}
