//go:build cgo

package rocks

import (
	"context"
	"errors"
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
	ends context.Context // of all waits: when the store is to be closed
	end  context.CancelFunc

	waiting, count, micros atomic.Int64

	mu    sync.Mutex
	since time.Time // that on is set
}

func newStallGate() *stallGate {
	g := &stallGate{turn: make(chan struct{}, 1)}
	g.ends, g.end = context.WithCancel(context.Background())
	return g
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

// letIn runs try, which makes a write of some size, or returns errStalled when the
// engine has turned it away. It runs it again until it gets in or the context ends,
// and waits between: all locks are try's. It costs one load while nothing is stalled.
func (s *Store) letIn(ctx context.Context, try func() (pos cf.Position, size int, err error)) (cf.Position, error) {
	if !s.gate.on.Load() {
		pos, _, err := try()
		if !errors.Is(err, errStalled) {
			return pos, err
		}
		s.stalled()
	}
	return s.letInStalled(ctx, try)
}

func (s *Store) letInStalled(ctx context.Context, try func() (pos cf.Position, size int, err error)) (cf.Position, error) {
	g := s.gate
	defer g.wait()()
	select {
	case g.turn <- struct{}{}:
		defer func() { <-g.turn }()
	case <-ctx.Done():
		return 0, s.stallError(ctx.Err())
	case <-g.ends.Done():
		return 0, cf.ErrClosed
	}
	var pause time.Duration
	for {
		if err := s.awaitStart(ctx); err != nil {
			return 0, err
		}
		pos, size, err := try()
		if !errors.Is(err, errStalled) {
			s.checkFlow()
			return pos, err
		}
		state, rate := s.stall()
		if state != cf.Delayed {
			continue
		}
		// Asking has put the next grant off by the time that the rate
		// gives for the batch before, however large that was: only longer
		// and longer pauses come by a grant for certain.
		pause = max(2*pause, time.Duration(2*float64(size)/float64(rate)*float64(time.Second)), leastPause)
		if err := s.pause(ctx, pause); err != nil {
			return 0, err
		}
	}
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
		if err := s.pause(ctx, pause); err != nil {
			return err
		}
	}
}

// wait counts a write that waits; what it returns ends that.
func (g *stallGate) wait() func() {
	began := time.Now()
	g.waiting.Add(1)
	g.count.Add(1)
	return func() {
		g.waiting.Add(-1)
		g.micros.Add(time.Since(began).Microseconds())
	}
}

// pause waits for some time of a stall.
func (s *Store) pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	case <-s.gate.ends.Done():
		return cf.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return s.stallError(err)
	}
	return nil
}

// EndWaits implements cf.Store. What is in memtables is in the log as well, and the
// engine needs to flush nothing to be closed; so only what it can flush at once is
// flushed.
func (s *Store) EndWaits() {
	s.ended.Do(s.dropLogs)
	s.gate.end()
	s.mu.RLock() // not within an ingestion, which would stop half-way
	defer s.mu.RUnlock()
	if !s.closed && !s.options.ReadOnly {
		s.db.CancelAllBackgroundWork(false)
	}
}

// ending reports, as an error, that the store is to be closed.
func (s *Store) ending() error {
	if s.gate.ends.Err() != nil {
		return cf.ErrClosed
	}
	return nil
}

// stalled notes, and logs, that a stall has begun.
func (s *Store) stalled() {
	g := s.gate
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
	g := s.gate
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
