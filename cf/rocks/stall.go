//go:build cgo && linux && !norocksdb

package rocks

import (
	"context"
	"errors"
	"fmt"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/rocks/internal/files"
)

// EndWaits implements cf.Store. It first flushes memory if that is quick; see dropLogs.
// The logs have all other data of memtables, so the engine can be closed without
// further flushes.
func (s *Store) EndWaits() {
	s.ended.Do(s.dropLogs)
	s.gate.End()
	s.mu.RLock() // not during an ingestion: it would stop half-way
	defer s.mu.RUnlock()
	if !s.closed && !s.options.ReadOnly {
		s.db.CancelAllBackgroundWork(false)
	}
}

// stall is the engine's state, and the bytes a second that it grants while it is
// delayed.
func (s *Store) stall() (cf.StallState, int64) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return cf.NotStalled, 0 // the write itself fails then
	}
	return s.stallLocked()
}

// stallLocked is stall while s.mu is held.
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

// describeStall finds the family that stalls writes. It compares the same numbers with
// the same limits as the engine.
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

// The engine delays writes from these limits on. The first and the last are its
// defaults; maxMemtables is set in options.go.
const (
	l0Slowdown   = 20
	maxMemtables = 4
	softPending  = 64 << 30
)

// Large writes take turns, since each is in memory several times while it is written and
// flushed. Memtables may exceed the budget of all write buffers by memtableExcess; then
// the next large write waits for a flush. A write that waits has no copies, and no locks.
const (
	largeWrite     = 1 << 20  // bytes of a batch
	largeAtOnce    = 64 << 20 // bytes of the batches that take their turn at once; a larger one goes by itself
	memtableExcess = 64 << 20
)

// errNoTurn: it is not the turn of a large write. Nothing was written.
var errNoTurn = errors.New("the large write waits for its turn")

// A turn is the right to write a large batch, of up to bytes.
type turn struct {
	bytes   int64
	wanted  int64  // bytes that it did not get
	release func() // ends the count of the copies; nil: they are not counted
}

// letIn is gate.LetIn for a write of any size. If try returns errNoTurn, letIn waits for
// the turn and runs it again.
func (s *Store) letIn(ctx context.Context, try func(t *turn) (pos cf.Position, size int, err error)) (cf.Position, error) {
	var t turn
	defer func() { // also if try panics
		if t.bytes > 0 {
			s.leave(&t)
		}
	}()
	for {
		pos, err := s.gate.LetIn(ctx, func() (cf.Position, int, error) { return try(&t) })
		if err != errNoTurn {
			return pos, err
		}
		if err := s.awaitTurn(ctx, &t); err != nil {
			return 0, err
		}
	}
}

// takeTurn gives a turn to a large batch that needs one, if that is possible at once, and
// counts its copies.
func (s *Store) takeTurn(ctx context.Context, t *turn, b *cf.Batch) error {
	if t == nil || b.Size() < largeWrite {
		return nil
	}
	if n := min(int64(b.Size()), largeAtOnce); t.bytes < n {
		t.wanted = n
		if t.bytes > 0 || !s.large.TryAcquire(n) {
			return errNoTurn
		}
		if t.bytes = n; s.memtablesFull() {
			return errNoTurn
		}
	}
	h, ok := cf.HoldingOf(ctx).(cf.WriteHolding)
	if !ok || t.release != nil {
		return nil
	}
	var err error
	t.release, err = h.HoldWrite(b.Size() + b.Copied()) // bytes that the batch copied, its representation copies too
	return err
}

// awaitTurn waits for the turn that takeTurn did not give.
func (s *Store) awaitTurn(ctx context.Context, t *turn) error {
	ctx, done := s.gate.Until(ctx)
	defer done()
	if t.bytes > 0 {
		s.end(t)
	}
	err := s.large.Acquire(ctx, t.wanted)
	if err == nil {
		if t.bytes = t.wanted; s.memtablesFull() {
			if err = s.await(ctx, s.shrink); err != nil && ctx.Err() != nil {
				s.end(t)
			} else {
				err = nil // the engine refuses the write if it can take none
			}
		}
	}
	if err == nil {
		return nil
	}
	if closed := s.gate.Ending(); closed != nil {
		return closed
	}
	return fmt.Errorf("nothing was written; waiting for the large writes before it: %w", err)
}

// leave ends a turn after the write: at once, or when enough of the memtables is flushed.
func (s *Store) leave(t *turn) {
	if !s.memtablesFull() {
		s.end(t)
		return
	}
	go func() {
		defer s.end(t)
		_ = s.shrink() // the next write reports the error
	}()
}

func (s *Store) end(t *turn) {
	if t.release != nil {
		t.release()
	}
	s.large.Release(t.bytes)
	t.bytes, t.release = 0, nil
}

// memtablesFull reports whether the next large write must wait for a flush.
func (s *Store) memtablesFull() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return !s.closed && files.MemtableBytes(s.db) > s.options.memory()/writeShare+memtableExcess
}

// shrink flushes families, the largest first, until the memtables are no longer full, or
// no family takes much memory: empty memtables of many families take memory too.
func (s *Store) shrink() error {
	for s.memtablesFull() {
		if err := s.gate.Ending(); err != nil {
			return err
		}
		name, err := s.largestMemtable()
		if err != nil || name == "" {
			return err
		}
		if err := s.flush(name); err != nil {
			return err
		}
	}
	return nil
}

// largestMemtable is the family with the most in memory, "" if all are below minMemtable.
func (s *Store) largestMemtable() (name string, err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return "", cf.ErrClosed
	}
	most := int64(minMemtable)
	for n, f := range *s.families.Load() {
		if size := s.property(f, "cur-size-all-mem-tables"); size >= most {
			name, most = n, size
		}
	}
	return name, nil
}
