package account

import (
	"context"
	gometrics "runtime/metrics"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/plumbing"
)

// A Hold counts the bytes that a call holds, as part of its connection's bytes in
// hand: the blocks and rows of its reads, and the message made of them. When there are
// too many the call ends, so that others can continue. A nil Hold counts nothing.
type Hold struct {
	conn    *Conn
	request int64 // bytes of the call's own request

	mu      sync.Mutex // reads have several goroutines
	read    int64
	sent    int64 // of the next message to the client
	counted int64 // of the connection
	over    bool
}

// holdStep is how many bytes are counted at a time, so that a read seldom takes the
// lock of its connection, and a small read never does: the call's fixed part covers
// it.
const holdStep = 64 << 10

// Holding returns a context whose reads count the bytes that they hold, until it is
// released.
func Holding(ctx context.Context) (context.Context, *Hold) {
	h := NewHold(ctx)
	if h == nil {
		return ctx, nil
	}
	return cf.WithHolding(ctx, h), h
}

// NewHold is the hold of a call, nil when its connection is not known.
func NewHold(ctx context.Context) *Hold {
	if c := ConnOf(ctx); c != nil {
		return &Hold{conn: c, request: requestOf(ctx)}
	}
	return nil
}

// RequestKey is the key of the bytes that a call's request holds, an int64 in the context
// of the call.
type RequestKey struct{}

func requestOf(ctx context.Context) int64 {
	n, _ := ctx.Value(RequestKey{}).(int64)
	return n
}

// HoldingLarge is Holding for a call with a large request. Small ones do without, since
// they hold little else.
func HoldingLarge(ctx context.Context) (context.Context, *Hold) {
	if requestOf(ctx) < largeRequest {
		return ctx, nil
	}
	return Holding(ctx)
}

const largeRequest = 1 << 20

// Hold implements [cf.Holding].
func (h *Hold) Hold(n int, needed bool) error {
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

// Room implements [cf.Holding].
func (h *Hold) Room() (n int, alone bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return int(h.conn.left()), h.alone()
}

// HoldWrite implements [cf.WriteHolding]. Release may come after the end of the call. The
// engine copies changes twice at a time: into its batch and a memtable, then into a block
// of a file and its compressed form. If they do not fit beside other calls, the client
// must try again. Without other calls they are not counted if they fit into the part of
// the memory that is not for requests.
func (h *Hold) HoldWrite(n int) (release func(), err error) {
	cs, copies := h.conn.conns, 2*int64(n)
	if release, ok := cs.holdCopies(copies); ok {
		cs.BeforeLarge(copies)
		return release, nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case !h.alone():
		return nil, h.Refusal(int(copies))
	case copies > uncounted:
		return nil, status.Errorf(codes.ResourceExhausted, "the write takes %d MiB of memory beside its request, and the server has %d MiB for all; divide it", copies>>20, cs.Limits.Bytes>>20)
	}
	cs.BeforeLarge(copies)
	return func() {}, nil
}

// uncounted is how many bytes the copies of one write may have beyond the limit.
const uncounted = 2 * (104 << 20) // a value of 100 MiB

// Message counts the bytes of a message being made.
func (h *Hold) Message(n int) error {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.set(h.read, int64(n))
}

// Spares reports whether there is room for n bytes that the call does not need.
func (h *Hold) Spares(n int) bool { return h == nil || h.conn.spares(int64(n)) }

// Release releases everything.
func (h *Hold) Release() {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over = true
	_ = h.set(0, 0) // releasing bytes never fails
}

// set counts in steps; h.mu is held.
func (h *Hold) set(read, sent int64) error {
	if h.over {
		read, sent = 0, 0
	}
	want := max(0, read+sent) / holdStep * holdStep
	if want > h.counted || want < h.counted-holdStep || want == 0 && h.counted > 0 {
		if !h.conn.holds(want - h.counted) {
			return h.tooMuch(read + sent)
		}
		if want-h.counted >= largeHold {
			h.conn.conns.tidy()
		}
		h.counted = want
	}
	h.read, h.sent = read, sent
	return nil
}

// largeHold is the size from which the server looks for garbage first: the garbage of a
// request of 100 MB stays until Go allocates as much again.
const (
	largeHold   = 16 << 20
	muchGarbage = 32 << 20
)

// EndedWith frees garbage, in a goroutine of its own, after a call whose request held
// much.
func (cs *Conns) EndedWith(held int64) {
	if held >= largeHold {
		go cs.tidy()
	}
}

// BeforeLarge frees garbage before n bytes are allocated, if n is large.
func (cs *Conns) BeforeLarge(n int64) {
	if n >= largeHold {
		cs.tidy()
	}
}

// tidy frees garbage when there is much of it.
func (cs *Conns) tidy() {
	if !cs.tidying.TryLock() {
		return
	}
	defer cs.tidying.Unlock()
	if goMemory()-(cs.inHand.Load()-cs.engine.Load()) > muchGarbage {
		plumbing.ReleaseMemory()
	}
}

// goMemory returns the bytes that Go obtained from the system.
func goMemory() int64 {
	have := []gometrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	gometrics.Read(have)
	return int64(have[0].Value.Uint64() - have[1].Value.Uint64())
}

// aloneInHand: other calls that have less than this in hand do not matter.
const aloneInHand = 1 << 20

func (h *Hold) alone() bool {
	return max(h.conn.bytes(), h.conn.conns.inHand.Load())-h.counted-h.request < aloneInHand
}

// tooMuch refuses bytes that had no room. The refusal is permanent only for bytes that
// have no room beside no other call, because the other calls may have ended since.
func (h *Hold) tooMuch(want int64) error {
	limits := &h.conn.conns.Limits
	most := min(limits.ConnectionBytes, limits.forReads())
	if want > most || want > most-aloneInHand && h.alone() {
		return status.Errorf(codes.FailedPrecondition, "the row takes more than the %d MiB that the server has for it", most>>20)
	}
	return h.Refusal(int(want))
}

// Refusal implements [cf.Holding].
func (h *Hold) Refusal(want int) error {
	return status.Errorf(codes.Unavailable, "the server has no room for a call that holds %d KiB; try again when other calls have ended", want>>10)
}
