package pebble

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	engine "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/batchrepr"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/internal/wal"
)

// A changeLog reads commits from Pebble's log. A record of the log is one batch, with its
// notes as log data: Pebble does not join batches, and the number of a batch in the log
// is its position. So the log needs no frames.
type changeLog struct {
	mu   sync.Mutex
	from cf.Position // the log has the commits after it

	firsts map[uint64]uint64 // by the number of a log: its first change, which never changes
}

// KeepChanges implements [cf.ChangeLog].
func (s *Store) KeepChanges(from time.Time) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.writable(); err != nil {
		return err
	}
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	if from.IsZero() {
		s.fs.keep.Store(false)
		s.log.from = cf.Position(s.acked.Load())
		return wrap(s.fs.RemoveAll(s.fs.archive()))
	}
	if !s.fs.keep.Load() {
		if err := s.fs.MkdirAll(s.fs.archive(), 0o755); err != nil {
			return wrap(err)
		}
		s.fs.keep.Store(true)
	}
	names, err := s.fs.List(s.fs.archive())
	if err != nil {
		return wrap(err)
	}
	for _, name := range names {
		path := s.fs.PathJoin(s.fs.archive(), name)
		info, err := s.fs.Stat(path)
		if err == nil && info.ModTime().Before(from) {
			err = s.fs.FS.Remove(path)
		}
		if err != nil && !notExist(err) {
			return wrap(err)
		}
	}
	return nil
}

// KeepsChanges implements [cf.ChangeLog].
func (s *Store) KeepsChanges() bool { return s.fs.keep.Load() }

// logNumbers are the numbers of the logs that there are, in their order.
func (s *Store) logNumbers() (numbers []uint64, err error) {
	dirs := []string{s.dir}
	if s.fs.keep.Load() {
		dirs = append(dirs, s.fs.archive())
	}
	for _, dir := range dirs {
		names, err := s.fs.FS.List(dir)
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

// logReader reads a log, where it is at the time.
func (s *Store) logReader(number uint64) *wal.Reader {
	return &wal.Reader{Number: number, Layout: wal.Pebble, Read: func(at int64, to []byte) (int, error) { return s.readLog(number, at, to) }}
}

// readLog reads bytes of a log. It fails with ErrTrimmed if the log is not there.
func (s *Store) readLog(number uint64, at int64, to []byte) (n int, err error) {
	s.fs.moving.RLock()
	defer s.fs.moving.RUnlock()
	name := fmt.Sprintf("%06d.log", number)
	f, err := s.fs.FS.Open(s.fs.PathJoin(s.dir, name))
	if notExist(err) {
		f, err = s.fs.FS.Open(s.fs.PathJoin(s.fs.archive(), name))
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

// firstChange is the number of the first change in a log, if it has one.
func (s *Store) firstChange(log uint64) (first uint64, ok bool, err error) {
	s.log.mu.Lock()
	first, ok = s.log.firsts[log]
	s.log.mu.Unlock()
	if ok {
		return first, true, nil
	}
	h, err := s.logReader(log).Head()
	if errors.Is(err, wal.ErrEnd) || errors.Is(err, cf.ErrTrimmed) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	if s.log.firsts == nil {
		s.log.firsts = map[uint64]uint64{}
	}
	s.log.firsts[log] = h.First
	return h.First, true, nil
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
	c := &changes{store: s, at: after}
	return c, c.reaches()
}

// A changes holds no file open between two calls.
type changes struct {
	store *Store
	at    cf.Position

	log  *wal.Reader // nil before the first log
	next uint64      // the number of the log after it, 0 if none is known

	families *families // those in names
	names    map[uint32]string
}

// reaches finds the log that has the position.
func (c *changes) reaches() error {
	s := c.store
	s.log.mu.Lock()
	from := s.log.from
	s.log.mu.Unlock()
	acked := cf.Position(s.acked.Load())
	if c.at > acked || c.at < from {
		return fmt.Errorf("%w: %d; there are changes from %d to %d", cf.ErrTrimmed, c.at, from, acked)
	}
	numbers, err := s.logNumbers()
	if err != nil {
		return err
	}
	c.log, c.next = nil, 0
	some := false // log that has a change
	for _, n := range numbers {
		first, ok, err := s.firstChange(n)
		some = some || ok
		switch {
		case err != nil:
			return err
		case ok && first > uint64(c.at)+1 && c.log == nil:
			return fmt.Errorf("%w: %d; the log begins with %d", cf.ErrTrimmed, c.at, first)
		case ok && first <= uint64(c.at)+1, !ok && c.log == nil:
			c.log = s.logReader(n)
		}
	}
	if !some && c.at < acked { // the logs that had them are gone
		return fmt.Errorf("%w: %d; there are no changes up to %d any longer", cf.ErrTrimmed, c.at, acked)
	}
	return nil
}

// Position implements [cf.Changes].
func (c *changes) Position() cf.Position { return c.at }

// Close implements [cf.Changes].
func (c *changes) Close() { c.log = nil }

// Next implements [cf.Changes]. It looks at the context between records.
func (c *changes) Next(ctx context.Context) (*cf.Commit, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if next, more, err := c.step(); err != nil || next != nil || !more {
			return next, err
		}
	}
}

// step reads one record, or goes on to the next log; more is false at the end of the last
// one.
func (c *changes) step() (next *cf.Commit, more bool, err error) {
	s := c.store
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.usable(); err != nil {
		return nil, false, err
	}
	acked := cf.Position(s.acked.Load())
	if c.at >= acked {
		return nil, false, nil
	}
	if c.log == nil {
		if err := c.reaches(); err != nil || c.log == nil {
			return nil, false, err
		}
	}
	start := c.log.At
	record, err := c.log.Next()
	if errors.Is(err, wal.ErrEnd) {
		more, err := c.turn(acked)
		return nil, more, err
	}
	if err != nil {
		return nil, false, err
	}
	head, err := wal.ParseHead(record)
	switch last := cf.Position(head.End() - 1); {
	case err != nil:
		return nil, false, err
	case head.Count > 0 && last > acked:
		c.log.At = start // it is not acknowledged yet
		return nil, false, nil
	case head.Count == 0 || last <= c.at:
		return nil, true, nil
	default:
		if next, err = commitOf(record, c.known()); err != nil {
			return nil, false, err
		}
		if next != nil {
			next.Before, next.At = cf.Position(head.First-1), last
		}
		c.at = last
		return next, true, nil
	}
}

// turn is called at the end of a log. It goes on to the next one, if that was known before
// the end was read: otherwise something may have been written behind the end meanwhile.
func (c *changes) turn(acked cf.Position) (more bool, err error) {
	s := c.store
	if c.next != 0 {
		// Numbers that are missing between two logs say nothing: a kill takes away what was
		// given a number and not written, and a load has numbers that are in no log.
		c.log, c.next = s.logReader(c.next), 0
		return true, nil
	}
	numbers, err := s.logNumbers()
	if err != nil {
		return false, err
	}
	if i := slices.IndexFunc(numbers, func(n uint64) bool { return n > c.log.Number }); i >= 0 {
		c.next = numbers[i]
		return true, nil
	}
	return false, c.log.Damaged(c.log.At, fmt.Sprintf("there is no whole record, and changes up to %d have been written", acked))
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

// op reads an operation of a batch, which Pebble's own reader follows beyond the end of one
// that is cut off.
func (r *fieldReader) op() (kind engine.InternalKeyKind, key, value []byte) {
	kind, r.rest = engine.InternalKeyKind(r.rest[0]), r.rest[1:]
	key = r.text()
	switch kind {
	case engine.InternalKeyKindDelete, engine.InternalKeyKindSingleDelete, engine.InternalKeyKindLogData, engine.InternalKeyKindIngestSST:
	case engine.InternalKeyKindSet, engine.InternalKeyKindMerge, engine.InternalKeyKindRangeDelete, engine.InternalKeyKindDeleteSized,
		engine.InternalKeyKindRangeKeySet, engine.InternalKeyKindRangeKeyUnset, engine.InternalKeyKindRangeKeyDelete, engine.InternalKeyKindExcise:
		value = r.text()
	default:
		r.bad = true
	}
	return kind, key, value
}

// commitOf is the commit of a batch with notes, nil for one without.
func commitOf(repr []byte, names map[uint32]string) (*cf.Commit, error) {
	k, notes := new(cf.Commit), 0
	r := fieldReader{rest: repr[batchrepr.HeaderLen:]}
	for len(r.rest) > 0 {
		kind, key, value := r.op()
		if r.bad {
			return nil, fmt.Errorf("%w: an operation of kind %d in the log", cf.ErrCorrupt, kind)
		}
		if kind == engine.InternalKeyKindLogData {
			if len(key) > 0 && key[0] == logNote {
				k.Ops = append(k.Ops, cf.LoggedOp{Kind: cf.OpNote, Value: key[1:]})
				notes++
			}
			continue
		}
		if len(key) < idLen {
			continue
		}
		name, known := names[binary.BigEndian.Uint32(key)]
		if !known { // the catalog, or a family that has been dropped
			continue
		}
		op := cf.LoggedOp{Family: name, Key: key[idLen:], Value: value}
		switch kind {
		case engine.InternalKeyKindSet:
			op.Kind, op.Value = cf.OpPut, plain(value)
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
			continue
		}
		k.Ops = append(k.Ops, op)
	}
	if notes == 0 {
		return nil, nil
	}
	return k, nil
}
