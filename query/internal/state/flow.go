package state

import (
	"context"
	"sync/atomic"
	"time"
)

// A Flow knows whether writes get through. It is safe for concurrent use.
type Flow struct {
	underWay atomic.Int64
	last     atomic.Int64 // since start: when a write ended, or began where none was under way
}

var start = time.Now()

// Begin counts a write that is under way until End.
func (f *Flow) Begin() {
	if f.underWay.Add(1) == 1 {
		f.last.Store(int64(time.Since(start)))
	}
}

// End ends a write. A write that its context ended did not get through.
func (f *Flow) End(ctx context.Context) {
	if ctx.Err() == nil {
		f.last.Store(int64(time.Since(start)))
	}
	f.underWay.Add(-1)
}

// Stuck is how long no write ended although some are under way, and their number.
func (f *Flow) Stuck() (stuck time.Duration, underWay int64) {
	if underWay = f.underWay.Load(); underWay == 0 {
		return 0, 0
	}
	return time.Since(start) - time.Duration(f.last.Load()), underWay
}
