package moments

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/smolwc/smolwc/archive"
)

// Merge merges the segments that are old enough at a time.
func Merge(ctx context.Context, a *archive.Archive, now time.Time) (int, error) {
	known := new(sync.Map)
	res, err := merge(ctx, a, now, known)
	if errors.Is(err, archive.ErrDamaged) { // as a sender does a minute later
		res, _ = merge(ctx, a, now, known)
	}
	return res.Merged, err
}

// OnStep is called at each step of a sender, a merge, a prune.
func OnStep(fn func(string)) { step = fn }

// SetLastTime gives senders that end more time.
func SetLastTime(d time.Duration) { lastTime = d }

// SegmentKey and its opposite.
var SegmentKey = segmentKey

// In tests, few records are applied together, and take more than one file.
func init() { ReplayTogether(1<<10, 1<<8) }

// ReplayTogether sets the bounds of [replay.Options].
func ReplayTogether(memory, least int) { replayMemory, replayLeast = memory, least }
