package ahead

import (
	"context"
	"sync/atomic"

	"github.com/smolwc/smolwc/cf"
)

// A Room counts the bytes that a scan holds, as its context says. A nil Room counts
// nothing. Several goroutines may use it.
type Room struct {
	Hold  cf.Holding
	taken atomic.Int64
}

// NewRoom is nil when the reads of the context are not counted.
func NewRoom(ctx context.Context) *Room {
	if hold := cf.HoldingOf(ctx); hold != nil {
		return &Room{Hold: hold}
	}
	return nil
}

// Take counts n more bytes.
func (r *Room) Take(n int, needed bool) error {
	if r == nil {
		return nil
	}
	if err := r.Hold.Hold(n, needed); err != nil {
		return err
	}
	r.taken.Add(int64(n))
	return nil
}

// Spare reports whether there is room for bytes that are not needed.
func (r *Room) Spare() bool { return r == nil || r.Hold.Hold(0, false) == nil }

// Drop ends the count of n bytes.
func (r *Room) Drop(n int) {
	if n > 0 {
		_ = r.Take(-n, true) // a negative count never fails
	}
}

// Close ends the count of everything that the scan holds.
func (r *Room) Close() {
	if r != nil {
		_ = r.Take(-int(r.taken.Load()), true)
	}
}
