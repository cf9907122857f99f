package server

import (
	"context"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/query"
)

// A hold counts what a call holds of what it reads among the bytes in hand of its
// connection: the blocks and rows that are read, and the message that is made of them.
// When there are too many the call ends, so that others can go on. A nil one counts
// nothing.
type hold struct {
	conn *conn

	mu      sync.Mutex // reads have several goroutines
	read    int64
	sent    int64 // of the message that is to be sent
	counted int64 // of the connection
	over    bool
}

// holdStep is how many bytes are counted at a time, so that a read takes the lock of
// its connection seldom, and a small one never: the call's own part has room for it.
const holdStep = 64 << 10

// holding returns a context whose reads count what they hold, until it is released.
func (s *Server) holding(ctx context.Context) (context.Context, *hold) {
	h := newHold(ctx)
	if h == nil {
		return ctx, nil
	}
	return query.WithHolding(ctx, h.reads), h
}

// newHold is the hold of a call, nil when its connection is not known.
func newHold(ctx context.Context) *hold {
	if c := callConn(ctx); c != nil {
		return &hold{conn: c}
	}
	return nil
}

// reads counts n bytes more that are read, less when n is negative.
func (h *hold) reads(n int, needed bool) error {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !needed && !h.conn.spares(int64(n)) {
		return errNothingToSpare
	}
	return h.set(h.read+int64(n), h.sent)
}

var errNothingToSpare = status.Error(codes.Unavailable, "the server has no room to spare")

// message says how many bytes of a message are being made.
func (h *hold) message(n int) error {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.set(h.read, int64(n))
}

// spares reports whether there is room for n bytes that the call can do without.
func (h *hold) spares(n int) bool { return h == nil || h.conn.spares(int64(n)) }

// release forgets everything.
func (h *hold) release() {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over = true
	_ = h.set(0, 0) // less is never too much
}

// set counts in steps; h.mu is held.
func (h *hold) set(read, sent int64) error {
	if h.over {
		read, sent = 0, 0
	}
	want := max(0, read+sent) / holdStep * holdStep
	if want > h.counted || want < h.counted-holdStep || want == 0 && h.counted > 0 {
		if !h.conn.holds(want - h.counted) {
			return h.tooMuch(read + sent)
		}
		h.counted = want
	}
	h.read, h.sent = read, sent
	return nil
}

// aloneInHand is less than what others have in hand when there are any that matter:
// a row that is too large then will be so again.
const aloneInHand = 1 << 20

func (h *hold) tooMuch(want int64) error {
	conns := h.conn.conns
	if max(h.conn.bytes(), conns.inHand.Load())-h.counted < aloneInHand {
		return status.Errorf(codes.FailedPrecondition, "the row takes more than the %d MiB that the server has for it", min(conns.limits.ConnectionBytes, conns.limits.forReads())>>20)
	}
	return status.Errorf(codes.Unavailable, "the server has no room for a read that holds %d KiB; try again when other calls have ended", want>>10)
}
