package node_test

import (
	"context"
	"testing"

	"github.com/smolwc/smolwc/internal/nilcheck"
	"github.com/smolwc/smolwc/rhino/node"
)

// TestNil calls everything with nil and zero values: nothing panics.
func TestNil(t *testing.T) {
	p := nilcheck.Package{
		Funcs: []any{node.Dial, node.LoadConfig, node.ParseConfig, node.ParseRoles, node.Run},
		Types: []any{&node.Client{}},
		Usable: []any{
			func(t testing.TB) context.Context {
				ctx, stop := context.WithCancel(t.Context())
				stop() // Run returns at once
				return ctx
			},
			func(t testing.TB) *node.Config {
				c := newCluster(t)
				c.refuse(c.Control.Address)
				return c.Config
			},
		},
	}
	p.Run(t, ".")
}
