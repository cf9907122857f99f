package pebble

import (
	"context"
	"fmt"
	"time"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/internal/kept"
)

var (
	_ cf.Shipper = (*Store)(nil)
	_ cf.Dater   = (*Store)(nil)
)

// DateLog implements [cf.Dater].
func (s *Store) DateLog(clock func() time.Time) { s.log.clock.Store(&clock) }

// Ship implements [cf.Shipper]. Families are entries of the database, and the janitor
// deletes expired cells by commits: so all of that is in the log already.
func (s *Store) Ship(history string, bytes int64) error {
	s.log.keeping.Lock()
	defer s.log.keeping.Unlock()
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.writable(); err != nil {
		return err
	}
	if s.Home() == "" {
		return fmt.Errorf("a database in memory has no files for standbys: %w", cf.ErrUnavailable)
	}
	if history == "" {
		return s.kept.End()
	}
	k := kept.Shipping{History: history, Bytes: bytes}
	if was := s.kept.Shipping(); was != nil && was.History == history {
		if k.At, k.Trimmed = was.At, was.Trimmed; *was == k {
			return nil
		}
		return s.kept.Ship(k)
	}
	if err := s.keepLogs(); err != nil {
		return err
	}
	return s.still(context.Background(), func() (err error) {
		if !s.following.is.Load() {
			if _, err := s.put(s.mark(), true); err != nil {
				return err
			}
		}
		k.At = cf.Position(s.acked.Load())
		return s.kept.Ship(k)
	})
}

// Ships implements [cf.Shipper].
func (s *Store) Ships() string { return s.kept.Ships() }

// Pin implements [cf.Shipper].
func (s *Store) Pin(at cf.Position) (release func()) { return s.kept.Pin(at) }

// News implements [cf.Shipper].
func (s *Store) News() <-chan struct{} { return s.kept.News() }

// LoadDir implements [cf.Shipper].
func (s *Store) LoadDir(id string) (string, error) { return s.kept.LoadDir(id) }

// Home implements [cf.Shipper].
func (s *Store) Home() string {
	if s.options.InMemory || s.options.FS != nil {
		return ""
	}
	return s.dir
}

// DroppedBefore implements [cf.Shipper]. Nothing goes without a delete: the janitor's
// deletes are in the log.
func (s *Store) DroppedBefore(string) int64 { return 0 }

// Dropped implements [cf.DropTeller]. A family goes in the commit that says so.
func (s *Store) Dropped() []string { return nil }

// LogSnapshot implements [cf.Shipper].
func (s *Store) LogSnapshot(ctx context.Context) (at *cf.LogSnapshot, err error) {
	if err := s.ingesting.Lock(ctx); err != nil {
		return nil, err
	}
	defer s.ingesting.Unlock()
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.usable(); err != nil {
		return nil, err
	}
	if err := s.loaded(ctx); err != nil {
		return nil, err
	}
	err = s.still(ctx, func() error {
		snap := &snapshot{store: s, families: *s.families.Load(), snap: s.db.NewSnapshot()}
		s.open.snapshots.Add(snap)
		at = &cf.LogSnapshot{Snapshot: snap, At: cf.Position(s.acked.Load()), Families: s.Families()}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return at, nil
}

// SyncLog implements [cf.Shipper].
func (s *Store) SyncLog(ctx context.Context) (cf.Position, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.usable(); err != nil {
		return 0, err
	}
	at := cf.Position(s.acked.Load())
	if !s.fs.async.Load() || at <= cf.Position(s.log.synced.Load()) {
		return at, nil
	}
	if err := s.do(ctx, s.fs.syncLog); err != nil {
		return 0, err
	}
	s.log.synced.Store(uint64(at))
	return at, nil
}

// Fence implements [cf.Shipper].
func (s *Store) Fence(why error) {
	s.fence.Store(&why)
	defer s.hold()() // the writes that are under way have ended
}

// A recordLog implements [cf.Log].
type recordLog struct {
	reading
	asked cf.Position
}

// Log implements [cf.Shipper].
func (s *Store) Log(after cf.Position) (cf.Log, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.usable(); err != nil {
		return nil, err
	}
	s.Latest() // of a reader
	l := &recordLog{reading{store: s, at: after}, after}
	return l, l.reaches()
}

// Next implements [cf.Log].
func (l *recordLog) Next(ctx context.Context) (*cf.LogRecord, error) {
	r, err := l.read(ctx)
	if r == nil || err != nil {
		return nil, err
	}
	if r.first <= l.at {
		return nil, fmt.Errorf("%w: no record ends at position %d", cf.ErrDiverged, l.asked)
	}
	// Numbers are missing before this record after a kill or a load. A position among them
	// is as good as the previous record's.
	next := r.shipped(max(l.ends, l.at))
	if l.store.log.clock.Load() != nil {
		if next.Time, err = r.timeOf(); err != nil {
			return nil, err
		}
	}
	l.took(r)
	return next, nil
}

// Behind implements [cf.Log].
func (l *recordLog) Behind() (sum int64) {
	if l.log == nil {
		return 0
	}
	numbers, err := l.store.logNumbers()
	if err != nil {
		return 0
	}
	for _, n := range numbers {
		if n < l.log.Number {
			continue
		}
		name := logName(n)
		info, err := l.store.fs.FS.Stat(l.store.fs.PathJoin(l.store.dir, name))
		if notExist(err) {
			info, err = l.store.fs.disk.Stat(l.store.fs.PathJoin(l.store.fs.archive(), name))
		}
		if err == nil {
			sum += info.Size()
		}
	}
	return max(0, sum-l.log.At)
}

// Close implements [cf.Log].
func (l *recordLog) Close() { l.log = nil }
