package gc

import (
	"context"
	"time"
)

// A pace bounds the share of the time that background work takes. The zero pace
// is unbounded.
type pace struct {
	share float64
	owed  time.Duration
}

// minPause is the shortest pause that is made.
const minPause = 5 * time.Millisecond

// worked counts work, and pauses when a pause is due.
func (p *pace) worked(ctx context.Context, d time.Duration) error {
	if p.share <= 0 || p.share >= 1 {
		return ctx.Err()
	}
	if p.owed += time.Duration(float64(d) * (1/p.share - 1)); p.owed < minPause {
		return ctx.Err()
	}
	pause := time.NewTimer(p.owed)
	defer pause.Stop()
	p.owed = 0
	select {
	case <-pause.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
