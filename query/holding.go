package query

import (
	"context"

	"github.com/smolwc/smolwc/cf"
)

// A Holding counts what reads hold in memory.
type Holding = cf.Holding

// WithHolding returns a context for reads, those of conditions and of
// [Table.ApplyReadModifyWrite] among them, that tell h what they hold in memory:
// before the bytes are there, for each block of cells; for a row that lies in several
// blocks, and grows by a MiB; and for values of several MiB, of which the engine has
// one too.
//
// With an error of Hold nothing more is held. The read returns the error if it needs
// the bytes; if it does not, it goes on with small blocks and does not read ahead. So
// what many reads hold together can be bounded. An error where n is negative is
// ignored, and n is 0 when a read asks whether it may read ahead. A read that comes
// upon a value for which there is less than Room does not read it. nil is nobody.
func WithHolding(ctx context.Context, h Holding) context.Context {
	if ctx == nil || h == nil {
		return ctx
	}
	return cf.WithHolding(ctx, h)
}

// holdingStep is how much larger a row has to become.
const holdingStep = 1 << 20

// A rowRoom is what a row that is put together may take. Its last part is in the block
// that a cursor has at hand, and counts as that.
type rowRoom struct {
	limit int
	taken int
	held  int // of them: those that hold knows
	look  int // from how many on to look closer
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

// settle counts all of a row that no cursor has any more.
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
