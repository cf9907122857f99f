package bytere

import (
	"context"
	"errors"
	"fmt"
)

// A Work is a context that bounds the work of matching, which a client's expressions decide.
// Work is counted in steps: an instruction of an expression at one byte is one, some
// nanoseconds. All matches of a call share one Work. It belongs to one goroutine.
type Work struct {
	context.Context
	byte int // steps that a row earns for each of its bytes
	call int // steps left to the call
	left int // steps left, with those that the row earned
	look int // steps until the context is looked at again
}

// The bounds of a call: about a second, and for the rows that it looks at a further time
// that grows with their size.
const (
	CallSteps = 1 << 27
	ByteSteps = 64
)

// lookEvery is a part of a millisecond.
const lookEvery = 1 << 16

// ErrTooMuch says that a call used up its steps.
var ErrTooMuch = errors.New("takes too long")

// Bounds is the error's text about a call without steps.
var Bounds = fmt.Sprintf("a call may take %d steps of expressions and filters, and %d more for each byte of the row", CallSteps, ByteSteps)

// WorkOf is ctx itself if it is a Work, and otherwise a new one of a call.
func WorkOf(ctx context.Context) *Work {
	if w, ok := ctx.(*Work); ok {
		return w
	}
	w := NewWork(ctx, CallSteps)
	w.byte = ByteSteps
	return w
}

// NewWork is work that may take a number of steps, and none that rows earn.
func NewWork(ctx context.Context, steps int) *Work {
	return &Work{Context: ctx, call: steps, left: steps, look: lookEvery}
}

// Under makes ctx the context that ends the work.
func (w *Work) Under(ctx context.Context) {
	if ctx != context.Context(w) {
		w.Context = ctx
	}
}

// Row begins a row of a number of bytes. Its earnings can be spent only on it.
func (w *Work) Row(bytes int) {
	w.call = min(w.call, w.left)
	w.left = w.call + w.byte*bytes
}

// Spend takes steps. Its error is ErrTooMuch, or the context's.
func (w *Work) Spend(steps int) error {
	w.left -= steps
	if w.look -= steps; w.left >= 0 && w.look >= 0 {
		return nil
	}
	w.look = lookEvery
	if err := w.Err(); err != nil {
		return err
	}
	if w.left < 0 {
		return ErrTooMuch
	}
	return nil
}
