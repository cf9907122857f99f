package scan

import (
	"context"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/internal/excerpt"
	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/query/internal/plan"
)

// holdingStep is how much a row must grow before it is counted again.
const holdingStep = 1 << 20

// A rowRoom counts the memory of a row that is being assembled. The row's last part is
// in the cursor's current block, and is counted with that block.
type rowRoom struct {
	limit int
	taken int
	held  int // the part of taken that was reported to hold
	look  int // from this many bytes on take checks the limit and reports to hold
	hold  cf.Holding
}

func newRowRoom(ctx context.Context, limit int) rowRoom {
	r := rowRoom{limit: limit, hold: cf.HoldingOf(ctx)}
	r.next()
	return r
}

func (r *rowRoom) next() {
	if r.held > 0 {
		_ = r.hold.Hold(-r.held, true) // giving bytes back cannot fail
	}
	r.taken, r.held, r.look = 0, 0, r.limit+1
	if r.hold != nil {
		r.look = min(r.look, holdingStep)
	}
}

// take counts n more bytes of a row.
func (r *rowRoom) take(n int, row string) error {
	if r.taken += n; r.taken < r.look {
		return nil
	}
	if r.taken > r.limit {
		return rowTooLarge(row)
	}
	return r.holds(r.taken - n)
}

// settle counts all parts of a row that are no longer in a cursor's block.
func (r *rowRoom) settle() error {
	if r.hold == nil || r.taken < holdingStep {
		return nil
	}
	return r.holds(r.taken)
}

func (r *rowRoom) holds(n int) error {
	r.look = min(r.limit+1, r.taken+holdingStep)
	if n <= r.held {
		return nil
	}
	if err := r.hold.Hold(n-r.held, true); err != nil {
		return err
	}
	r.held = n
	return nil
}

func rowTooLarge(key string) error {
	return fault.Errorf(fault.ResourceExhausted, "row %q takes more than %d MiB; read it with ReadCells, or in pages of columns with ReadPage", excerpt.Of(key), plan.MaxRowBytes>>20)
}

// cellBytes is the memory of a cell besides its qualifier and value.
const cellBytes = 24
