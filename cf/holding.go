package cf

import "context"

// A Holding counts the bytes that reads hold in memory, so that the sum of many reads
// can be bounded. Several goroutines call its methods at once.
type Holding interface {
	// Hold counts n more bytes that a read is about to hold, or fewer if n is negative.
	// If it returns an error, nothing was counted: a read that needs the bytes ends
	// with the error, and another read continues without them. With n = 0 and needed =
	// false it tells whether there is room for bytes that are not needed.
	Hold(n int, needed bool) error
	// Room estimates how many more bytes a read may hold. alone says that the read may
	// hold more, because it is the only one. Room is called before a read that may meet
	// values of any size.
	Room() (n int, alone bool)
	// Refusal is the error of a read that needed n more bytes while others were
	// reading.
	Refusal(n int) error
}

// A WriteHolding is a Holding that also counts the bytes of large writes.
type WriteHolding interface {
	Holding
	// HoldWrite counts the copies that an engine makes of n bytes of changes, until
	// release is called, perhaps after the write. If it returns an error, nothing was
	// counted, and the write ends with the error.
	HoldWrite(n int) (release func(), err error)
}

type holdingKey struct{}

// WithHolding returns a context for scans and reads that are counted. They tell h the bytes
// before they hold them: for each block of cells, and for values of several MiB, which the
// engine holds a second time. Package query tells it of rows that lie in several blocks. After
// an error of Hold a read that can do without continues with small blocks, and does not read
// ahead. It does not read a value that is larger than Room.
func WithHolding(ctx context.Context, h Holding) context.Context {
	return context.WithValue(ctx, holdingKey{}, h)
}

// HoldingOf returns the Holding of a context, or nil.
func HoldingOf(ctx context.Context) Holding {
	h, _ := ctx.Value(holdingKey{}).(Holding)
	return h
}
