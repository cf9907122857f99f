package server

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/query"
)

// A hold counts what a call holds of a large row among the bytes in hand of its
// connection: the row, and the message that is made of it. When there are too many
// the call ends, so that others can go on. A nil one counts nothing.
type hold struct {
	conn *conn
	row  int64
	sent int64 // of the message that is to be sent
}

// holding returns a context whose reads count what they hold of large rows, until
// it is released.
func (s *Server) holding(ctx context.Context) (context.Context, *hold) {
	h := newHold(ctx)
	if h == nil {
		return ctx, nil
	}
	return query.WithHolding(ctx, h.grown), h
}

// newHold is the hold of a call, nil when its connection is not known.
func newHold(ctx context.Context) *hold {
	if c := callConn(ctx); c != nil {
		return &hold{conn: c}
	}
	return nil
}

// grown says how many bytes the row has that is being read. It takes the place of
// the one before.
func (h *hold) grown(row int) error {
	if h == nil {
		return nil
	}
	return h.set(int64(row), h.sent)
}

// message says how many bytes of a message are being made of the row.
func (h *hold) message(n int) error {
	if h == nil || h.sent == int64(n) {
		return nil
	}
	return h.set(h.row, int64(n))
}

// release forgets everything.
func (h *hold) release() {
	if h != nil {
		_ = h.set(0, 0) // less is never too much
	}
}

func (h *hold) set(row, sent int64) error {
	if !h.conn.holds(row + sent - h.row - h.sent) {
		return h.tooMuch(row + sent)
	}
	h.row, h.sent = row, sent
	return nil
}

// aloneInHand is less than what others have in hand when there are any that matter:
// a row that is too large then will be so again.
const aloneInHand = 1 << 20

func (h *hold) tooMuch(want int64) error {
	conns := h.conn.conns
	if max(h.conn.bytes(), conns.inHand.Load())-h.row-h.sent < aloneInHand {
		return status.Errorf(codes.FailedPrecondition, "the row takes more than the %d MiB that the server has for it", min(conns.limits.ConnectionBytes, conns.limits.Bytes)>>20)
	}
	return status.Errorf(codes.Unavailable, "the server has no more room for %d MiB of a row; try again when other calls have ended", want>>20)
}
