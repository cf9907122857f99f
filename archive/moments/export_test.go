package moments

import (
	"context"
	"sync"
	"time"

	"github.com/smolwc/smolwc/archive"
)

// Merge merges the segments that are old enough at a time.
func Merge(ctx context.Context, a *archive.Archive, now time.Time) (int, error) {
	res, err := merge(ctx, a, now, new(sync.Map))
	return res.Merged, err
}

// OnStep is called at each step of a sender, a merge, a prune.
func OnStep(fn func(string)) { step = fn }

// SegmentKey and its opposite.
var SegmentKey = segmentKey
