package standby_test

import (
	"context"
	"testing"

	"github.com/smolwc/smolwc/internal/nilcheck"
	"github.com/smolwc/smolwc/standby"
)

// TestNil calls everything with nil and with zero values: nothing panics.
func TestNil(t *testing.T) {
	p := nilcheck.Package{
		Funcs: []any{standby.NewPrimary, standby.Open, standby.OpenStopped, standby.Fenced, standby.Find, standby.OpenTail, standby.RequiresToken, standby.Async, standby.WithSemiSync, standby.ParseSemiSyncMode, standby.OpenFollower},
		Types: []any{(*standby.Primary)(nil), (*standby.Standby)(nil), standby.Finding{}, (*standby.Tail)(nil), (*standby.TailChange)(nil), (*standby.Verification)(nil)},
		Usable: []any{
			func(t testing.TB) context.Context { return t.Context() },
			func(t testing.TB) string { return t.TempDir() },
		},
	}
	p.Run(t, ".")
}
