//go:build cgo

package rocks

import (
	"cmp"
	"time"

	"github.com/linxGnu/grocksdb"

	"github.com/smolwc/smolwc/cf/rocks/internal/native"
)

const (
	// keptLogs is up to how many bytes of logs a closed database keeps. It is as
	// much as the next open replays in some milliseconds; a process that makes a
	// few small writes leaves no small file of each family behind.
	keptLogs = 1 << 20
	// closingTime is how long a close waits for its flushes. What is not flushed
	// then stays in the logs.
	closingTime = 3 * time.Second
)

// dropLogs flushes what is in memory, so that the logs can go, before the database is
// closed. Nothing depends on it: what cannot be flushed at once stays in the logs.
func (s *Store) dropLogs() {
	if s.options.ReadOnly || s.options.InMemory || s.logBytes() <= keptLogs {
		return
	}
	all, set, err := s.flushable()
	if all == nil || err != nil {
		return
	}
	began, done := time.Now(), make(chan error, 1)
	go func() {
		defer s.maintenance.Done()
		defer s.dropped.unuse(set)
		done <- s.flushAll(all)
	}()
	late := time.NewTimer(closingTime)
	defer late.Stop()
	select {
	case err := <-done:
		if err != nil {
			s.logger.Warn("the logs stay, since what is in memory could not be flushed", "err", err)
		}
	case <-late.C:
		s.logger.Warn("the logs stay, since flushing takes long", "duration", time.Since(began).Round(time.Millisecond))
	}
}

// flushable are the families that have something in memory, and the catalog, if the
// engine can flush them at once. The caller ends a maintenance, and the use of the set
// that they are in: they may be dropped meanwhile.
func (s *Store) flushable() (some []*family, set uint64, err error) {
	if s.gate.on.Load() || s.refusal.on.Load() {
		return nil, 0, nil
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := cmp.Or(s.writable(), s.ending()); err != nil {
		return nil, 0, err
	}
	bytes := int64(0)
	for name, f := range *s.families.Load() {
		waiting := s.property(f, "num-immutable-mem-table")
		if name == catalogFamily || waiting+s.property(f, "num-entries-active-mem-table") == 0 {
			continue
		}
		// From here on the engine puts a flush off.
		if s.property(f, "num-files-at-level0")+1 >= l0Slowdown || waiting+1 >= maxMemtables-1 ||
			s.property(f, "estimate-pending-compaction-bytes") >= softPending {
			return nil, 0, nil
		}
		bytes += s.property(f, "cur-size-all-mem-tables")
		some = append(some, f)
	}
	if rate := s.options.BackgroundRate; rate > 0 && bytes > rate { // more than a second
		return nil, 0, nil
	}
	s.maintenance.Add(1)
	return append(some, (*s.families.Load())[catalogFamily]), s.dropped.use(), nil
}

// flushAll flushes families; the last one is the catalog, whose few entries would keep
// every log.
func (s *Store) flushAll(all []*family) error {
	opts := grocksdb.NewDefaultFlushOptions()
	defer opts.Destroy()
	for _, wait := range []bool{false, true} { // all of them, side by side
		opts.SetWait(wait)
		for _, f := range all {
			if err := s.db.FlushCF(f.handle, opts); err != nil {
				return native.Wrap(err)
			}
		}
	}
	return nil
}
