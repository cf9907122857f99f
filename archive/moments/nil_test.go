package moments_test

import (
	"context"
	"testing"

	"github.com/smolwc/smolwc/archive/moments"
	"github.com/smolwc/smolwc/internal/nilcheck"
)

// TestNil calls everything with nil and with zero values: nothing panics.
func TestNil(t *testing.T) {
	p := nilcheck.Package{
		Funcs: []any{moments.NewSender, moments.Restore, moments.Look, moments.Verify, moments.Prune, moments.WouldPrune},
		Types: []any{(*moments.Sender)(nil), moments.Status{}, moments.Moment{}, moments.Local{}, moments.Source{}, moments.TableRestore{}},
		Usable: []any{
			func(t testing.TB) context.Context { return t.Context() },
			func(t testing.TB) string { return t.TempDir() },
		},
	}
	p.Run(t, ".")
}
