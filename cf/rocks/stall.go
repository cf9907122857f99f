//go:build cgo

package rocks

import (
	"github.com/smolwc/smolwc/cf"
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
