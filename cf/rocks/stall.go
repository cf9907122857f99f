package rocks

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/smolwc/smolwc/cf"
)

// A stallGate is where writes wait while the engine does not take them, because
// flushes or compactions have fallen behind. The engine's own wait is a call into
// C that no context ends; so it is told to turn writes away instead, and they
// wait here: decision 15.
//
// Writes that wait go one at a time, in any order: the engine grants a delayed
// store a rate, and a write that asks too early pays for it.
type stallGate struct {
	on   atomic.Bool // the engine has turned a write away and is not known to have recovered
	turn chan struct{}

	waiting, count, micros atomic.Int64

	mu    sync.Mutex
	since time.Time // that on is set
}

const (
	leastPause = time.Millisecond
	mostPause  = 20 * time.Millisecond
)

// stall is the engine's state, and the bytes a second that it grants when it is
// delayed.
func (s *Store) stall() (cf.StallState, int64) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return cf.NotStalled, 0 // the write will find out
	}
	return s.stallLocked()
}

// stallLocked is stall for those who hold s.mu.
func (s *Store) stallLocked() (cf.StallState, int64) {
	rate := s.number("actual-delayed-write-rate")
	switch {
	case s.number("is-write-stopped") != 0:
		return cf.Stopped, rate
	case rate > 0:
		return cf.Delayed, rate
	}
	return cf.NotStalled, 0
}

// awaitStall waits until a write has a chance, without any lock. It costs one
// load while nothing is stalled.
func (s *Store) awaitStall(ctx context.Context) error {
	if !s.gate.on.Load() {
		return nil
	}
	if state, _ := s.stall(); state != cf.Stopped {
		return nil // the write itself finds out what it is
	}
	return s.gate.wait(func() error { return s.awaitStart(ctx) })
}

// awaitStart waits until the engine is not stopped.
func (s *Store) awaitStart(ctx context.Context) error {
	for pause := leastPause; ; pause = min(2*pause, mostPause) {
		state, _ := s.stall()
		if state == cf.NotStalled {
			s.flowing()
		}
		if state != cf.Stopped {
			return nil
		}
		if err := sleep(ctx, pause); err != nil {
			return s.stallError(err)
		}
	}
}

// writeStalled is for a write that the engine has turned away: it tries again
// until it gets in or the context ends. Nothing is written unless it returns nil.
func (s *Store) writeStalled(ctx context.Context, size int, try func() error) error {
	return s.gate.wait(func() error {
		select {
		case s.gate.turn <- struct{}{}:
			defer func() { <-s.gate.turn }()
		case <-ctx.Done():
			return s.stallError(ctx.Err())
		}
		var pause time.Duration
		for {
			if err := s.awaitStart(ctx); err != nil {
				return err
			}
			if err := try(); err != errStalled {
				s.checkFlow()
				return err
			}
			state, rate := s.stall()
			if state != cf.Delayed {
				continue
			}
			// Asking has put the next grant off by the time that the rate
			// gives for the batch before, however large that was: only longer
			// and longer pauses come by a grant for certain.
			pause = max(2*pause, time.Duration(2*float64(size)/float64(rate)*float64(time.Second)), leastPause)
			if err := sleep(ctx, pause); err != nil {
				return s.stallError(err)
			}
		}
	})
}

// wait counts a write that waits, for as long as f takes.
func (g *stallGate) wait(f func() error) error {
	began := time.Now()
	g.waiting.Add(1)
	g.count.Add(1)
	defer func() {
		g.waiting.Add(-1)
		g.micros.Add(time.Since(began).Microseconds())
	}()
	return f()
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// stalled notes, and logs, that a stall has begun.
func (s *Store) stalled() {
	g := &s.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.on.Load() {
		return
	}
	g.on.Store(true)
	g.since = time.Now()
	e := s.describeStall()
	s.logger.Warn("writes are stalled", "state", e.State, "family", e.Family,
		"files", e.Files, "memtables", e.Memtables, "pending_bytes", e.Pending)
}

// checkFlow notes the end of a stall if it has come.
func (s *Store) checkFlow() {
	if state, _ := s.stall(); state == cf.NotStalled {
		s.flowing()
	}
}

func (s *Store) flowing() {
	g := &s.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.on.Swap(false) {
		s.logger.Info("writes are no longer stalled", "duration", time.Since(g.since).Round(time.Millisecond))
	}
}

func (s *Store) stallError(cause error) error {
	e := s.describeStall()
	e.Err = cause
	return e
}

// describeStall finds the family that holds writes up, by what the engine
// compares with its limits.
func (s *Store) describeStall() *cf.StallError {
	state, _ := s.stall()
	e := &cf.StallError{State: state}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return e
	}
	worst := 0.0
	for name, f := range *s.families.Load() {
		files, memtables := s.property(f, "num-files-at-level0"), s.property(f, "num-immutable-mem-table")
		pending := s.property(f, "estimate-pending-compaction-bytes")
		degree := max(float64(files)/l0Slowdown, float64(memtables)/maxMemtables, float64(pending)/softPending)
		if degree > worst || e.Family == "" {
			worst = degree
			e.Family, e.Files, e.Memtables, e.Pending = name, files, memtables, pending
		}
	}
	return e
}

// The engine's limits from which on it delays writes: its defaults, and ours of
// write buffers.
const (
	l0Slowdown   = 20
	maxMemtables = 4
	softPending  = 64 << 30
)
