package wire_test

import (
	"context"
	"slices"
	"testing"

	"google.golang.org/grpc/metadata"

	"github.com/smolwc/smolwc/api/wire"
)

// Headers come from the context's own key if it has it, and from gRPC otherwise.
func TestHeader(t *testing.T) {
	none := t.Context()
	grpcs := metadata.NewIncomingContext(none, metadata.Pairs("a", "1", "a", "2"))
	own := context.WithValue(grpcs, wire.HeadersKey{}, metadata.Pairs("a", "3"))
	for _, c := range []struct {
		ctx  context.Context
		name string
		want []string
	}{
		{none, "a", nil},
		{grpcs, "a", []string{"1", "2"}},
		{grpcs, "b", nil},
		{own, "a", []string{"3"}},
		{own, "b", nil},
	} {
		if got := wire.Header(c.ctx, c.name); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
