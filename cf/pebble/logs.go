package pebble

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/internal/wal"
)

// logNumbers are the numbers of the logs that there are, in their order.
func (s *Store) logNumbers() (numbers []uint64, err error) {
	for _, in := range []struct {
		fs interface {
			List(string) ([]string, error)
		}
		dir string
	}{{s.fs.FS, s.dir}, {s.fs.disk, s.fs.archive()}} {
		names, err := in.fs.List(in.dir)
		if notExist(err) && in.dir != s.dir { // no logs are kept
			continue
		}
		if err != nil {
			return nil, wrap(err)
		}
		for _, name := range names {
			if n, err := strconv.ParseUint(strings.TrimSuffix(name, ".log"), 10, 64); err == nil && isLog(name) {
				numbers = append(numbers, n)
			}
		}
	}
	slices.Sort(numbers)
	numbers = slices.Compact(numbers)
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	maps.DeleteFunc(s.log.firsts, func(n, _ uint64) bool { _, is := slices.BinarySearch(numbers, n); return !is })
	return numbers, nil
}

// logReader reads the whole records of a log, where it is at the time.
func (s *Store) logReader(number uint64) *wal.Reader {
	return &wal.Reader{Number: number, Layout: wal.Pebble, Read: func(at int64, to []byte) (int, error) {
		end, known, err := s.fs.knownEnd(logName(number))
		if known {
			to = to[:max(0, min(int64(len(to)), end-at))]
		}
		if err != nil {
			return 0, err
		}
		return s.readLog(number, at, to)
	}}
}

// firstChange is the position of the first change in a log, if there is one.
func (s *Store) firstChange(log uint64) (first uint64, ok bool, err error) {
	s.log.mu.Lock()
	first, ok = s.log.firsts[log]
	s.log.mu.Unlock()
	if ok {
		return first, true, nil
	}
	const enough = wal.RepHeader + 2*(2+1+binary.MaxVarintLen64)
	for l := s.logReader(log); ; {
		data, err := l.Peek(enough)
		if errors.Is(err, wal.ErrEnd) || errors.Is(err, cf.ErrTrimmed) {
			return 0, false, nil
		}
		var r record
		if err == nil {
			r, err = recordOf(data)
		}
		if err == nil && r.own {
			if _, err = l.Next(); errors.Is(err, wal.ErrEnd) {
				return 0, false, nil
			}
		}
		if err != nil {
			return 0, false, err
		}
		if !r.own {
			first = uint64(r.first)
			break
		}
	}
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	if s.log.firsts == nil {
		s.log.firsts = map[uint64]uint64{}
	}
	s.log.firsts[log] = first
	return first, true, nil
}

// firstAfter is the first change in the logs after a log.
func (s *Store) firstAfter(number uint64) (first uint64, ok bool, err error) {
	numbers, err := s.logNumbers()
	for _, n := range numbers {
		if n <= number {
			continue
		}
		if first, ok, err = s.firstChange(n); err != nil || ok {
			return first, ok, err
		}
	}
	return 0, false, err
}

// readLog reads bytes of a log. It fails with ErrTrimmed if the log is not there.
func (s *Store) readLog(number uint64, at int64, to []byte) (n int, err error) {
	s.fs.moving.RLock()
	defer s.fs.moving.RUnlock()
	name := logName(number)
	f, err := s.fs.FS.Open(s.fs.PathJoin(s.dir, name))
	if notExist(err) {
		f, err = s.fs.disk.Open(s.fs.PathJoin(s.fs.archive(), name))
	}
	switch {
	case notExist(err):
		return 0, fmt.Errorf("%w: %s is gone", cf.ErrTrimmed, name)
	case err != nil:
		return 0, wrap(err)
	}
	n, err = f.ReadAt(to, at)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, wrap(errors.Join(err, f.Close()))
}

// keepLogs begins to keep logs, unless they are kept already.
func (s *Store) keepLogs() error {
	if s.fs.keep.Load() {
		return nil
	}
	if err := s.fs.MkdirAll(s.fs.archive(), 0o755); err != nil {
		return wrap(err)
	}
	if err := syncDir(s.fs.FS, s.dir); err != nil {
		return wrap(err)
	}
	s.fs.keep.Store(true)
	return nil
}

// begins is the position before the first commit of each log.
func (s *Store) begins() (starts []cf.Position, err error) {
	numbers, err := s.logNumbers()
	for _, n := range numbers {
		first, ok, err := s.firstChange(n)
		if err != nil {
			return nil, err
		}
		if ok && (len(starts) == 0 || cf.Position(first-1) > starts[len(starts)-1]) {
			starts = append(starts, cf.Position(first-1))
		}
	}
	return starts, err
}

// beganAt reports whether the store was a copy at a position, and kept its whole log since.
func (s *Store) beganAt(at cf.Position) bool {
	k := s.kept.Shipping()
	return k != nil && k.At == at && !k.Trimmed
}

// trim removes kept logs from the oldest on, up to the first one that standbys need or that
// is not unwanted. The caller holds keeping.
func (s *Store) trim(unwanted func(modified time.Time) bool) error {
	names, err := s.fs.List(s.fs.archive())
	if err != nil {
		return wrap(err)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !isLog(name) })
	slices.SortFunc(names, wal.ByNumber)
	trim, err := s.kept.Trim(s.keptBytes())
	if err != nil {
		return err
	}
	for _, name := range names {
		path := s.fs.PathJoin(s.fs.archive(), name)
		info, err := s.fs.Stat(path)
		if err != nil {
			return wrap(err)
		}
		needed, err := trim.Needs(info.Size(), func() (uint64, bool, error) {
			number, err := strconv.ParseUint(strings.TrimSuffix(name, ".log"), 10, 64)
			if err != nil {
				return 0, false, wrap(err)
			}
			return s.firstAfter(number)
		})
		if err != nil {
			return err
		}
		if needed || !unwanted(info.ModTime()) {
			break
		}
		if k := s.kept.Shipping(); k != nil && !k.Trimmed { // before it is so
			trimmed := *k
			trimmed.Trimmed = true
			if err := s.kept.Ship(trimmed); err != nil {
				return err
			}
		}
		for _, path := range []string{path, s.fs.PathJoin(s.fs.archive(), endOf(name))} {
			if err := s.fs.FS.Remove(path); err != nil && !notExist(err) {
				return wrap(err)
			}
		}
	}
	return s.kept.TrimLoads(func() (uint64, bool, error) { return s.firstAfter(0) })
}

// keptBytes is the size of the logs that are kept only for their changes.
func (s *Store) keptBytes() int64 {
	if !s.fs.keep.Load() {
		return 0
	}
	return s.fs.logBytes(s.fs.archive()) + s.kept.LoadBytes()
}
