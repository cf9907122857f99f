// Package gate is where writes wait while RocksDB takes none, and where refused writes
// are noted.
package gate

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/smolwc/smolwc/cf"
)

// ErrStalled is the error of a write that the engine has turned away. Nothing was
// written.
var ErrStalled = errors.New("the store takes no writes now")

// A Gate is where writes wait while the engine does not take them, because flushes or
// compactions have fallen behind. In the engine they would wait in a call of C that no
// context ends. So the engine is told to turn them away, and they wait here: decision
// 15.
//
// Waiting writes are let in one at a time, in any order: the engine grants a delayed
// store a rate, and a write that asks too early puts the next grant off.
type Gate struct {
	on   atomic.Bool // the engine has turned a write away and is not known to have recovered
	turn chan struct{}
	ends context.Context // of all waits, when the store is about to be closed
	end  context.CancelFunc

	waiting, count, micros atomic.Int64

	state    func() (cf.StallState, int64)
	describe func() *cf.StallError
	logger   *slog.Logger

	mu    sync.Mutex
	since time.Time // that on is set
}

// New makes a gate. state is the engine's state, and the bytes a second that it grants
// when it is delayed; describe says which family holds writes up.
func New(state func() (cf.StallState, int64), describe func() *cf.StallError, logger *slog.Logger) *Gate {
	g := &Gate{turn: make(chan struct{}, 1), state: state, describe: describe, logger: logger}
	g.ends, g.end = context.WithCancel(context.Background())
	return g
}

const (
	leastPause = time.Millisecond
	mostPause  = 20 * time.Millisecond
)

// LetIn runs try, which makes a write of some size, or returns ErrStalled when the
// engine has turned it away. Then LetIn waits and runs it again, until the write gets
// in or the context ends. While it waits it holds no locks: try takes them. While
// nothing is stalled it costs one load.
func (g *Gate) LetIn(ctx context.Context, try func() (pos cf.Position, size int, err error)) (cf.Position, error) {
	if !g.on.Load() {
		pos, _, err := try()
		if !errors.Is(err, ErrStalled) {
			return pos, err
		}
		g.stalled()
	}
	return g.letInStalled(ctx, try)
}

func (g *Gate) letInStalled(ctx context.Context, try func() (pos cf.Position, size int, err error)) (cf.Position, error) {
	defer g.wait()()
	select {
	case g.turn <- struct{}{}:
		defer func() { <-g.turn }()
	case <-ctx.Done():
		return 0, g.Error(ctx.Err())
	case <-g.ends.Done():
		return 0, cf.ErrClosed
	}
	var pause time.Duration
	for {
		if err := g.awaitStart(ctx); err != nil {
			return 0, err
		}
		pos, size, err := try()
		if !errors.Is(err, ErrStalled) {
			g.checkFlow()
			return pos, err
		}
		state, rate := g.state()
		if state != cf.Delayed {
			continue
		}
		// Asking has put the next grant off, by the time that the rate gives for the
		// batch before, of any size. Only pauses that grow are sure to meet a grant.
		pause = max(2*pause, time.Duration(2*float64(size)/float64(rate)*float64(time.Second)), leastPause)
		if err := g.pause(ctx, pause); err != nil {
			return 0, err
		}
	}
}

// awaitStart waits until the engine is not stopped.
func (g *Gate) awaitStart(ctx context.Context) error {
	for pause := leastPause; ; pause = min(2*pause, mostPause) {
		state, _ := g.state()
		if state == cf.NotStalled {
			g.flowing()
		}
		if state != cf.Stopped {
			return nil
		}
		if err := g.pause(ctx, pause); err != nil {
			return err
		}
	}
}

// wait counts a waiting write until the function that it returns is called.
func (g *Gate) wait() func() {
	began := time.Now()
	g.waiting.Add(1)
	g.count.Add(1)
	return func() {
		g.waiting.Add(-1)
		g.micros.Add(time.Since(began).Microseconds())
	}
}

// pause waits for a time, unless the context or the gate ends.
func (g *Gate) pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	case <-g.ends.Done():
		return cf.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return g.Error(err)
	}
	return nil
}

// On reports whether the engine has turned a write away and is not known to have recovered.
func (g *Gate) On() bool { return g.on.Load() }

// Stats are the number of writes that wait, the number that have waited since the store
// was opened, and how long they did.
func (g *Gate) Stats() (waiting, count int64, waited time.Duration) {
	return g.waiting.Load(), g.count.Load(), time.Duration(g.micros.Load()) * time.Microsecond
}

// End ends all waits, those to come too: the store is to be closed.
func (g *Gate) End() { g.end() }

// Ending is an error when the store is about to be closed.
func (g *Gate) Ending() error {
	if g.ends.Err() != nil {
		return cf.ErrClosed
	}
	return nil
}

// stalled notes and logs the beginning of a stall.
func (g *Gate) stalled() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.on.Load() {
		return
	}
	g.on.Store(true)
	g.since = time.Now()
	e := g.describe()
	g.logger.Warn("writes are stalled", "state", e.State, "family", e.Family,
		"files", e.Files, "memtables", e.Memtables, "pending_bytes", e.Pending)
}

// checkFlow notes the end of a stall if it has come.
func (g *Gate) checkFlow() {
	if state, _ := g.state(); state == cf.NotStalled {
		g.flowing()
	}
}

func (g *Gate) flowing() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.on.Swap(false) {
		g.logger.Info("writes are no longer stalled", "duration", time.Since(g.since).Round(time.Millisecond))
	}
}

func (g *Gate) Error(cause error) error {
	e := g.describe()
	e.Err = cause
	return e
}
