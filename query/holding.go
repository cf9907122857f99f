package query

import "context"

type holdingKey struct{}

// WithHolding returns a context for reads of rows as a whole, those of conditions
// and of [Table.ApplyReadModifyWrite] among them: f is called when a row that is
// being read has become a MiB larger or more, with the bytes that it takes so far,
// as [MaxRowBytes] counts them; and with 0 when the read goes on with the next row.
// An error of f ends the read, which returns it: so what many reads hold together
// can be bounded. With 0 it is ignored. f is called by the goroutine that reads.
func WithHolding(ctx context.Context, f func(bytes int) error) context.Context {
	return context.WithValue(ctx, holdingKey{}, f)
}

// holdingStep is how much larger a row has to become.
const holdingStep = 1 << 20

// A rowRoom is what a row that is put together may take.
type rowRoom struct {
	limit int
	taken int
	look  int // from how many on to look closer
	hold  func(bytes int) error
}

func newRowRoom(ctx context.Context, limit int) rowRoom {
	r := rowRoom{limit: limit}
	r.hold, _ = ctx.Value(holdingKey{}).(func(int) error)
	r.next()
	return r
}

// next begins with another row.
func (r *rowRoom) next() {
	if r.hold != nil && r.taken >= holdingStep {
		_ = r.hold(0) // less is never too much
	}
	r.taken, r.look = 0, r.limit+1
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
	r.look = min(r.limit+1, r.taken+holdingStep)
	return r.hold(r.taken)
}
