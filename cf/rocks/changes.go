//go:build cgo && linux && !norocksdb

package rocks

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/internal/kept"
	"github.com/smolwc/smolwc/cf/internal/wal"
)

// The log of changes is RocksDB's log of writes. RocksDB would delete a log once its
// data is in table files. While changes are kept, such a log is moved to the directory
// archive instead; changes are kept if this directory exists. The logs are read here
// and not through RocksDB's own iterator
// (docs/decisions/0025-changes-come-from-the-log.md).
const archiveDir = "archive"

// A changeLog is the state that a store keeps about its logs.
type changeLog struct {
	keeping sync.Mutex // one KeepChanges at a time
	mu      sync.Mutex
	firsts  map[uint64]uint64 // by the number of a log: the sequence number of its first change

	// loaded is the latest sequence number at the last load, or at the open of the
	// store. This change and earlier ones may be missing from the logs. Each later
	// change is in a log before it is published.
	loaded atomic.Uint64

	kept  kept.Kept                        // for standbys
	clock atomic.Pointer[func() time.Time] // nil: the log does not say when records were written
}

// now is the time of a record that is about to be written, 0 if the log does not say it.
func (l *changeLog) now() int64 {
	if clock := l.clock.Load(); clock != nil {
		return (*clock)().UnixMicro()
	}
	return 0
}

// noteLoaded notes that a load may have taken sequence numbers. The caller ensures that
// no commit is under way.
func (s *Store) noteLoaded() { s.changes.loaded.Store(s.db.GetLatestSequenceNumber()) }

func (l *changeLog) forget(number uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.firsts, number)
}

// A logFile is an existing log.
type logFile struct {
	number   uint64
	archived bool
}

// openChanges keeps the log if the directory archive exists.
func (s *Store) openChanges() error {
	if s.options.ReadOnly {
		return nil
	}
	if !s.options.InMemory {
		s.changes.kept.In(filepath.Join(s.dir, archiveDir))
	}
	_, kept, err := s.engine.logs.List(filepath.Join(s.dir, archiveDir))
	s.engine.logs.Keep(kept)
	if err != nil || !kept || s.options.InMemory {
		return err
	}
	left, err := s.changes.kept.Read()
	if left != nil {
		s.logger.Warn("logs kept for standbys cannot be removed", "err", left)
	}
	return err
}

// KeepChanges implements cf.ChangeLog.
func (s *Store) KeepChanges(since time.Time) error {
	s.changes.keeping.Lock()
	defer s.changes.keeping.Unlock()
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.writable(); err != nil {
		return err
	}
	archive := filepath.Join(s.dir, archiveDir)
	if since.IsZero() && s.changes.kept.Shipping() == nil {
		logs := s.engine.logs
		if !logs.Keeps() {
			return nil
		}
		logs.Keep(false)
		if err := s.trimChanges(archive, func(int64) bool { return true }); err != nil {
			return err
		}
		if err := logs.RemoveDir(archive); err != nil {
			s.logger.Warn("the directory of kept logs cannot be removed; the next open tries again", "dir", archive, "err", err)
		}
		return nil
	}
	if err := s.keepLogs(); err != nil {
		return err
	}
	return s.trimChanges(archive, func(modified int64) bool { return since.IsZero() || modified < since.Unix() })
}

// keepLogs begins to keep logs, unless they are kept already.
func (s *Store) keepLogs() error {
	logs := s.engine.logs
	if logs.Keeps() {
		return nil
	}
	if err := logs.MakeDir(filepath.Join(s.dir, archiveDir)); err != nil {
		return err
	}
	if !s.options.InMemory {
		if err := syncDir(s.dir); err != nil {
			return fmt.Errorf("%w: %w", cf.ErrUnavailable, err)
		}
	}
	logs.Keep(true)
	return nil
}

// KeepsChanges implements cf.ChangeLog.
func (s *Store) KeepsChanges() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return !s.closed && s.engine.logs.Keeps()
}

// trimChanges removes archived logs from the oldest on, up to the first log that
// standbys need or that is not unwanted. The caller holds keeping.
func (s *Store) trimChanges(archive string, unwanted func(modified int64) bool) error {
	names, _, err := s.engine.logs.List(archive)
	if err != nil {
		return err
	}
	trim, err := s.changes.kept.Trim(s.keptBytes())
	if err != nil {
		return err
	}
	for _, f := range logsAmong(names, true) {
		path := filepath.Join(archive, f.name())
		modified, err := s.engine.logs.Modified(path)
		if err != nil {
			return err
		}
		needed, err := trim.Needs(sizeOf(path), func() (uint64, bool, error) { return s.firstAfter(f.number) })
		if err != nil {
			return err
		}
		if needed || !unwanted(modified) {
			break
		}
		if err := s.engine.logs.Remove(path); err != nil {
			return err
		}
		s.changes.forget(f.number)
	}
	return s.changes.kept.TrimLoads(func() (uint64, bool, error) { return s.firstAfter(0) })
}

func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0 // in memory, or gone meanwhile
	}
	return info.Size()
}

// logsAmong are the logs among the files of a directory, ascending.
func logsAmong(names []string, archived bool) (files []logFile) {
	for _, name := range names {
		text, ok := strings.CutSuffix(name, ".log")
		if n, err := strconv.ParseUint(text, 10, 64); ok && err == nil {
			files = append(files, logFile{n, archived})
		}
	}
	slices.SortFunc(files, func(a, b logFile) int { return cmp.Compare(a.number, b.number) })
	return files
}

func (f logFile) name() string { return fmt.Sprintf("%06d.log", f.number) }

// logFiles are all logs, ascending. It lists the live logs before the archived ones: a
// log that is moved meanwhile is found twice, and returned once.
func (s *Store) logFiles() ([]logFile, error) {
	live, _, err := s.engine.logs.List(s.dir)
	if err != nil {
		return nil, err
	}
	archived, _, err := s.engine.logs.List(filepath.Join(s.dir, archiveDir))
	if err != nil {
		return nil, err
	}
	files := append(logsAmong(archived, true), logsAmong(live, false)...)
	slices.SortStableFunc(files, func(a, b logFile) int { return cmp.Compare(a.number, b.number) })
	return slices.CompactFunc(files, func(a, b logFile) bool { return a.number == b.number }), nil
}

// readLog reads from a log in either directory. If the log does not exist, the error is
// ErrTrimmed.
func (s *Store) readLog(number uint64, at int64, to []byte) (int, error) {
	name := logFile{number: number}.name()
	for _, dir := range []string{s.dir, filepath.Join(s.dir, archiveDir), s.dir} {
		if n, exists, err := s.engine.logs.Read(filepath.Join(dir, name), at, to); err != nil || exists {
			return n, err
		}
	}
	return 0, fmt.Errorf("%w: log %06d is gone", cf.ErrTrimmed, number)
}

func (s *Store) logReader(number uint64) *wal.Reader {
	return &wal.Reader{Number: number, Read: func(at int64, to []byte) (int, error) { return s.readLog(number, at, to) }}
}

// firstChange is the sequence number of a log's first change; ok is false without a
// change.
func (s *Store) firstChange(number uint64) (first uint64, ok bool, err error) {
	s.changes.mu.Lock()
	defer s.changes.mu.Unlock()
	if first, ok = s.changes.firsts[number]; ok {
		return first, true, nil
	}
	head, err := s.logReader(number).Head()
	if errors.Is(err, wal.ErrEnd) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	if s.changes.firsts == nil {
		s.changes.firsts = map[uint64]uint64{}
	}
	s.changes.firsts[number] = head.First
	return head.First, true, nil
}

// ChangeStarts implements cf.ChangeLog.
func (s *Store) ChangeStarts() ([]cf.Position, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return nil, cf.ErrClosed
	}
	latest := cf.Position(s.db.GetLatestSequenceNumber())
	files, err := s.logFiles()
	if err != nil {
		return nil, err
	}
	var starts []cf.Position
	for _, f := range files {
		first, ok, err := s.firstChange(f.number)
		if errors.Is(err, cf.ErrTrimmed) { // it was removed meanwhile
			continue
		}
		if err != nil {
			return nil, err
		}
		if p := cf.Position(first) - 1; ok && p < latest && (len(starts) == 0 || p > starts[len(starts)-1]) {
			starts = append(starts, p)
		}
	}
	return append(starts, latest), nil
}
