package query

import (
	"context"

	"github.com/smolwc/smolwc/cf"
)

// A Holding counts the bytes that reads hold in memory.
type Holding = cf.Holding

// WithHolding returns a context for reads, and for the reads of
// [Table.ApplyReadModifyWrite] and of conditions. They tell h the bytes that they
// hold in memory, before they hold them: for each block of cells; for a row that lies
// in several blocks, and grows by a MiB; and for values of several MiB, which the
// engine holds a second time.
//
// After an error of Hold the read holds no more. It returns the error if it needs the
// bytes; otherwise it continues with small blocks and does not read ahead. So a
// caller can bound the bytes that many reads hold together. An error for a negative n
// is ignored; n is 0 when a read asks whether it may read ahead. A read does not read
// a value that is larger than Room. With a nil h nothing is counted.
func WithHolding(ctx context.Context, h Holding) context.Context {
	if ctx == nil || h == nil {
		return ctx
	}
	return cf.WithHolding(ctx, h)
}

// holdingStep is how much a row has to grow before it is counted again.
const holdingStep = 1 << 20

// A rowRoom is the memory that a row under construction may take. Its last part is in
// the block that a cursor has at hand, and counts with the block.
type rowRoom struct {
	limit int
	taken int
	held  int // of them: those that hold knows
	look  int // from this many bytes on it looks closer
	hold  cf.Holding
}

func newRowRoom(ctx context.Context, limit int) rowRoom {
	r := rowRoom{limit: limit, hold: cf.HoldingOf(ctx)}
	r.next()
	return r
}

// next begins with another row.
func (r *rowRoom) next() {
	if r.held > 0 {
		_ = r.hold.Hold(-r.held, true) // less is never too much
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
