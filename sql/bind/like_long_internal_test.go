package bind

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// A LIKE that takes long ends with its context.
func TestLikeEndsWithItsContext(t *testing.T) {
	items, _ := likeItems("%"+strings.Repeat("a", 10_000)+"b", true)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := matchesLike(ctx, items, strings.Repeat("a", 100_000), charWidth(true)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
