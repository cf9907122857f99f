// Package gate makes writes wait while RocksDB takes no writes, and notes refused
// writes.
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

// ErrStalled: the engine refused a write because it stalls. Nothing was written.
var ErrStalled = errors.New("the store takes no writes now")

// A Gate makes writes wait while the engine does not take them, because flushes or
// compactions have fallen behind. In the engine they would wait in a call of C that no
// context ends. So the engine is set to refuse them, and they wait here (decision 15).
//
// Waiting writes are let in one at a time, in no particular order: a delayed engine
// grants a rate, and a write that tries too early postpones the next grant.
type Gate struct {
	on   atomic.Bool // the engine turned a write away and is not known to have recovered
	turn chan struct{}
	ends context.Context // ends all waits when the store is about to be closed
	end  context.CancelFunc

	waiting, count, micros atomic.Int64

	state    func() (cf.StallState, int64)
	describe func() *cf.StallError
	logger   *slog.Logger

	mu    sync.Mutex
	since time.Time // when on was set
}

// New makes a gate. state returns the engine's state, and the bytes a second that it
// grants when it is delayed; describe finds the family that holds writes up.
func New(state func() (cf.StallState, int64), describe func() *cf.StallError, logger *slog.Logger) *Gate {
	g := &Gate{turn: make(chan struct{}, 1), state: state, describe: describe, logger: logger}
	g.ends, g.end = context.WithCancel(context.Background())
	return g
}

const (
	leastPause = time.Millisecond
	mostPause  = 20 * time.Millisecond
)

// LetIn runs try. If try returns ErrStalled, LetIn waits and runs it again, until it
// succeeds or fails otherwise, or the context ends. try makes a write, returns its size
// in bytes, and takes the locks that it needs: none are held during a wait. Without a
// stall, LetIn costs one atomic load.
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
		// The try postponed the next grant, by the time that the batch before it takes
		// at this rate. Only growing pauses are sure to meet a grant.
		pause = max(2*pause, time.Duration(2*float64(size)/float64(rate)*float64(time.Second)), leastPause)
		if err := g.pause(ctx, pause); err != nil {
			return 0, err
		}
	}
}

// awaitStart waits while the engine is stopped.
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

// pause waits for d. It fails when the context or the gate ends first.
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

// On reports whether the engine refused a write and is not known to have recovered.
func (g *Gate) On() bool { return g.on.Load() }

// Stats are the number of writes that wait now, and the number and the total time of
// all waits since the store was opened.
func (g *Gate) Stats() (waiting, count int64, waited time.Duration) {
	return g.waiting.Load(), g.count.Load(), time.Duration(g.micros.Load()) * time.Microsecond
}

// End ends all waits, also later ones, before the store is closed.
func (g *Gate) End() { g.end() }

// Until returns a context that ends with ctx, or when the waits end.
func (g *Gate) Until(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(g.ends, cancel)
	return ctx, func() { stop(); cancel() }
}

// Ending is cf.ErrClosed after End, else nil.
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

// checkFlow notes the end of a stall if the engine is no longer stalled.
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
