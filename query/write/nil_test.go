package write_test

import (
	"testing"

	"github.com/smolwc/smolwc/internal/nilcheck"
	"github.com/smolwc/smolwc/query/write"
)

// TestNil calls everything with nil and zero values: nothing panics.
func TestNil(t *testing.T) {
	p := nilcheck.Package{
		Funcs: []any{write.From, write.MutationOf, write.NewBatch, write.NewMutation, write.NewReadModifyWrite},
		Types: []any{write.Batch{}, write.Mutation{}, write.ReadModifyWrite{}},
	}
	p.Run(t, ".")
}
