package directory

import (
	"context"

	"github.com/smolwc/smolwc/query"
)

// WithPick returns the options with another function that draws candidates, from start,
// inclusive, to end, exclusive.
func WithPick(o Options, pick func(start, end int64) int64) Options {
	o.pick = pick
	return o
}

// Allocate runs the allocator whose keys begin with space.
func Allocate(ctx context.Context, tx *query.Tx, o Options, space string) (string, error) {
	return (&allocator{&work{store{o}, ctx, tx}, space}).allocate()
}
