package cf

import "context"

// A Holding counts what reads hold in memory, so that what many of them hold together
// can be bounded. Its methods are called by several goroutines at once.
type Holding interface {
	// Hold is called with how many bytes more a read is about to hold, or less when n
	// is negative. With an error nothing is counted: the read ends with it if it needs
	// the bytes, and does otherwise without them. With 0 bytes that are not needed it
	// says whether there is room for more than what is needed.
	Hold(n int, needed bool) error
	// Room is about how many bytes more a read may hold, and whether it may hold more
	// since it is the only one. It is asked before a read that may meet values of any
	// size.
	Room() (n int, alone bool)
	// Refusal is the error of a read that would have held n bytes more, while others
	// were reading.
	Refusal(n int) error
}

type holdingKey struct{}

// WithHolding returns a context for scans and reads that are counted.
func WithHolding(ctx context.Context, h Holding) context.Context {
	return context.WithValue(ctx, holdingKey{}, h)
}

// HoldingOf is what counts the reads of a context, nil when nothing does.
func HoldingOf(ctx context.Context) Holding {
	h, _ := ctx.Value(holdingKey{}).(Holding)
	return h
}
