package pebble

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	engine "github.com/cockroachdb/pebble/v2"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/internal/wal"
)

// A changeLog reads commits from Pebble's log. A record of the log is one batch, with its
// notes as log data: Pebble does not join batches, and the number of a batch in the log
// is its position. So the log needs no frames.
type changeLog struct {
	keeping sync.Mutex // one change of what is kept at a time

	mu   sync.Mutex
	from cf.Position // the log has the commits after it

	synced atomic.Uint64                    // the position up to which the log is on the disk, at least
	clock  atomic.Pointer[func() time.Time] // nil: the log does not say when records were written

	firsts map[uint64]uint64 // by the number of a log: the position of its first change, which never changes
}

// KeepChanges implements [cf.ChangeLog].
func (s *Store) KeepChanges(from time.Time) error {
	s.log.keeping.Lock()
	defer s.log.keeping.Unlock()
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.writable(); err != nil {
		return err
	}
	if from.IsZero() && s.Ships() == "" {
		s.fs.keep.Store(false)
		s.log.mu.Lock()
		s.log.from = cf.Position(s.acked.Load())
		s.log.mu.Unlock()
		return wrap(s.fs.RemoveAll(s.fs.archive()))
	}
	if err := s.keepLogs(); err != nil {
		return err
	}
	return s.trim(func(modified time.Time) bool { return from.IsZero() || modified.Before(from) })
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

// KeepsChanges implements [cf.ChangeLog].
func (s *Store) KeepsChanges() bool { return s.fs.keep.Load() }

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

// ChangeStarts implements [cf.ChangeLog].
func (s *Store) ChangeStarts() ([]cf.Position, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.usable(); err != nil {
		return nil, err
	}
	starts, err := s.begins()
	s.log.mu.Lock()
	from := s.log.from
	s.log.mu.Unlock()
	acked := cf.Position(s.acked.Load())
	for i := range starts {
		starts[i] = max(starts[i], from)
	}
	starts = slices.DeleteFunc(slices.Compact(starts), func(p cf.Position) bool { return p >= acked })
	return append(starts, acked), err
}

// Changes implements [cf.ChangeLog].
func (s *Store) Changes(after cf.Position) (cf.Changes, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.usable(); err != nil {
		return nil, err
	}
	c := &changes{reading: reading{store: s, at: after}}
	return c, c.reaches()
}

// A changes reads commits out of the records.
type changes struct {
	reading
	families *families // those in names
	names    map[uint32]string
}

// Position implements [cf.Changes].
func (c *changes) Position() cf.Position { return c.at }

// Close implements [cf.Changes].
func (c *changes) Close() { c.log = nil }

// Next implements [cf.Changes].
func (c *changes) Next(ctx context.Context) (*cf.Commit, error) {
	for {
		r, err := c.read(ctx)
		if r == nil || err != nil {
			return nil, err
		}
		next, err := commitOf(r.ops, c.known())
		if err != nil {
			return nil, err
		}
		c.took(r)
		if next != nil {
			next.Before, next.At = r.first-1, r.last
			return next, nil
		}
	}
}

// known are the names of the families by their numbers.
func (c *changes) known() map[uint32]string {
	if all := c.store.families.Load(); all != c.families {
		c.families, c.names = all, map[uint32]string{}
		for name, f := range *all {
			c.names[f.id] = name
		}
	}
	return c.names
}

// commitOf is the commit of a batch with notes, nil for one without.
func commitOf(ops []byte, names map[uint32]string) (*cf.Commit, error) {
	k, notes := new(cf.Commit), 0
	err := eachOp(ops, func(id uint32, op *cf.LoggedOp) error {
		if op.Kind == cf.OpNote {
			if op.Value[0] == logNote {
				k.Ops = append(k.Ops, cf.LoggedOp{Kind: cf.OpNote, Value: op.Value[1:]})
				notes++
			}
			return nil
		}
		name, known := names[id]
		if known { // otherwise the catalog, or a family that has been dropped
			op.Family = name
			k.Ops = append(k.Ops, *op)
		}
		return nil
	})
	if err != nil || notes == 0 {
		return nil, err
	}
	return k, nil
}

// eachOp calls fn for each operation, with the number of its space or family. Log data is a
// note, with its first byte.
func eachOp(ops []byte, fn func(id uint32, op *cf.LoggedOp) error) error {
	r := fieldReader{rest: ops}
	for len(r.rest) > 0 {
		kind, key, value := r.op()
		if r.bad {
			return fmt.Errorf("%w: an operation of kind %d in the log", cf.ErrCorrupt, kind)
		}
		if kind == engine.InternalKeyKindLogData {
			if len(key) > 0 {
				if err := fn(0, &cf.LoggedOp{Kind: cf.OpNote, Value: key}); err != nil {
					return err
				}
			}
			continue
		}
		op, err := opOf(kind, key, value)
		if err == nil {
			err = fn(binary.BigEndian.Uint32(key), op)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func opOf(kind engine.InternalKeyKind, key, value []byte) (*cf.LoggedOp, error) {
	if len(key) < idLen {
		return nil, fmt.Errorf("%w: a change of kind %d in the log has the key %x", cf.ErrCorrupt, kind, key)
	}
	op := &cf.LoggedOp{Key: key[idLen:], Value: value}
	switch kind {
	case engine.InternalKeyKindSet:
		if op.Kind = cf.OpPut; binary.BigEndian.Uint32(key) >= firstFamily {
			op.Value = plain(value)
		}
	case engine.InternalKeyKindDelete, engine.InternalKeyKindDeleteSized:
		op.Kind = cf.OpDelete
	case engine.InternalKeyKindMerge:
		operands := operandsOf(value)
		if len(operands) != 1 {
			return nil, fmt.Errorf("%w: a merge in the log has %d operands", cf.ErrCorrupt, len(operands))
		}
		op.Kind, op.Value = cf.OpMerge, operands[0]
	case engine.InternalKeyKindRangeDelete:
		if len(value) < idLen {
			return nil, fmt.Errorf("%w: a deleted range in the log ends with %x", cf.ErrCorrupt, value)
		}
		op.Kind, op.Value = cf.OpDeleteRange, value[idLen:]
	default:
		return nil, fmt.Errorf("%w: a change of kind %d in the log", cf.ErrCorrupt, kind)
	}
	return op, nil
}
