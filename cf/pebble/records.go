package pebble

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	engine "github.com/cockroachdb/pebble/v2"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/internal/wal"
)

// The first bytes of log data, which Pebble writes to its log only. A shift is at the
// beginning of a batch.
const (
	logNote  = 0 // then a note of a change stream
	logShift = 1 // then the position of the batch less the number that Pebble gives it
	logOwn   = 2 // the batch is not one of the history: a standby has it for itself
	logLoad  = 3 // then the names of the files of a load
	logTime  = 4 // then when the batch was written, in microseconds since 1970, 8 bytes, big-endian
)

// A record is a batch in the log. Its position is the number of its last change plus a shift,
// which it has with it unless that is 0: the numbers of a standby differ from those of its
// primary once either of them has lost numbers, as in a kill.
type record struct {
	first, last cf.Position
	count       uint64
	ops         []byte // without the shift
	own         bool   // it is not one of the history, or changes nothing
}

// recordOf takes a record apart. Of one that is cut off only the ops are wrong.
func recordOf(data []byte) (r record, err error) {
	head, err := wal.ParseHead(data)
	if err != nil {
		return r, err
	}
	r.count, r.ops, r.own = head.Count, data[wal.RepHeader:], head.Count == 0
	shift := int64(0)
	for range 2 {
		f := fieldReader{rest: r.ops}
		if len(f.rest) == 0 {
			break
		}
		kind, key, _ := f.op()
		switch kind {
		case engine.InternalKeyKindIngestSST, engine.InternalKeyKindExcise: // Pebble's own, with numbers of files
			r.own = true
		case engine.InternalKeyKindLogData:
			if f.bad || len(key) == 0 {
				break
			}
			if key[0] == logOwn {
				r.own = true
			}
			if key[0] == logShift {
				var n int
				if shift, n = binary.Varint(key[1:]); n <= 0 {
					return r, fmt.Errorf("%w: record %d of the log has the shift %x", cf.ErrCorrupt, head.First, key[1:])
				}
				r.ops = f.rest
				continue
			}
		}
		break
	}
	r.first = cf.Position(int64(head.First) + shift)
	r.last = r.first + cf.Position(r.count) - 1
	return r, nil
}

// shipped is the record as it is in all logs of a history.
func (r *record) shipped(after cf.Position) *cf.LogRecord {
	return &cf.LogRecord{After: after, Last: r.last, Data: appendRecord(make([]byte, 0, wal.RepHeader+len(r.ops)), uint64(r.first), r.count, 0, r.ops)}
}

// appendRecord appends a record with a shift.
func appendRecord(dst []byte, first, count uint64, shift int64, ops []byte) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, first)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(count))
	if shift != 0 {
		note := shiftNote(shift)
		dst = append(dst, byte(engine.InternalKeyKindLogData), byte(len(note)))
		dst = append(dst, note...)
	}
	return append(dst, ops...)
}

func shiftNote(shift int64) []byte { return binary.AppendVarint([]byte{logShift}, shift) }

func timeNote(micros int64) []byte {
	return binary.BigEndian.AppendUint64([]byte{logTime}, uint64(micros))
}

// timeOf is when a record was written, 0 if it does not say it.
func (r *record) timeOf() (micros int64, err error) {
	err = eachOp(r.ops, func(_ uint32, op *cf.LoggedOp) error {
		if op.Kind == cf.OpNote && op.Value[0] == logTime && len(op.Value) == 1+8 {
			micros = max(micros, int64(binary.BigEndian.Uint64(op.Value[1:])))
		}
		return nil
	})
	return micros, err
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

func logName(number uint64) string { return fmt.Sprintf("%06d.log", number) }

// firstChange is the position of the first change in a log, if it has one.
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

// A reading goes through the records of the history. It holds no file open between two
// calls.
type reading struct {
	store *Store
	at    cf.Position // the next record ends after it
	ends  cf.Position // where the last record that was read ends; 0 before the first one

	log  *wal.Reader // nil before the first log
	next uint64      // the number of the log after it, 0 if none is known
}

// reaches finds the log that has the position.
func (c *reading) reaches() error {
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
	found, some := false, false // log that has a change
	for _, n := range numbers {
		first, ok, err := s.firstChange(n)
		some = some || ok
		switch {
		case err != nil:
			return err
		case ok && first <= uint64(c.at)+1:
			c.log, found = s.logReader(n), true
		case ok && !found && !s.beganAt(c.at):
			return fmt.Errorf("%w: %d; the log begins with %d", cf.ErrTrimmed, c.at, first)
		case c.log == nil:
			c.log = s.logReader(n)
		}
	}
	if !some && c.at < acked { // the logs that had them are gone
		return fmt.Errorf("%w: %d; there are no changes up to %d any longer", cf.ErrTrimmed, c.at, acked)
	}
	return nil
}

// beganAt reports whether the store was a copy at a position, and has kept its whole log since.
func (s *Store) beganAt(at cf.Position) bool {
	k := s.kept.Shipping()
	return k != nil && k.At == at && !k.Trimmed
}

// read reads the next record after the position, nil if there is none now.
func (c *reading) read(ctx context.Context) (*record, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if r, more, err := c.step(); err != nil || !more || r != nil {
			return r, err
		}
	}
}

// step reads one record, or goes on to the next log; more is false at the end of the last
// one. It passes over records up to the position.
func (c *reading) step() (r *record, more bool, err error) {
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
	data, err := c.log.Next()
	if errors.Is(err, wal.ErrEnd) {
		more, err := c.turn(acked)
		return nil, more, err
	}
	if err != nil {
		return nil, false, err
	}
	next, err := recordOf(data)
	switch {
	case err != nil:
		return nil, false, err
	case next.own:
		return nil, true, nil
	case next.last > acked:
		c.log.At = start // it is not acknowledged yet
		return nil, false, nil
	case next.last <= c.at:
		c.ends = next.last
		return nil, true, nil
	}
	return &next, true, nil
}

// took goes past a record.
func (c *reading) took(r *record) { c.at, c.ends = r.last, r.last }

// turn is called at the end of a log. It goes on to the next one, if that was known before
// the end was read: otherwise something may have been written behind the end meanwhile.
func (c *reading) turn(acked cf.Position) (more bool, err error) {
	s := c.store
	if c.next != 0 {
		// Numbers that are missing between two logs say nothing: a kill takes away what was
		// given a number and not written, and a load has numbers that are in no log.
		switch end, known, err := s.fs.knownEnd(logName(c.log.Number)); {
		case err != nil:
			return false, err
		case known && c.log.At < end:
			return false, c.log.Damaged(c.log.At, fmt.Sprintf("there is no whole record, and the last one ended at byte %d", end))
		}
		c.log, c.next = s.logReader(c.next), 0
		return true, nil
	}
	numbers, err := s.logNumbers()
	if err != nil {
		return false, err
	}
	i := slices.IndexFunc(numbers, func(n uint64) bool { return n > c.log.Number })
	if i < 0 {
		return false, c.log.Damaged(c.log.At, fmt.Sprintf("there is no whole record, and changes up to %d have been written", acked))
	}
	ends, err := s.fs.disk.List(s.fs.archive())
	if err != nil && !notExist(err) {
		return false, wrap(err)
	}
	// The oldest logs are trimmed first: while this one is there, so is the next.
	if _, err := s.readLog(c.log.Number, 0, nil); err != nil {
		return false, err
	}
	for _, name := range ends {
		n, err := strconv.ParseUint(strings.TrimSuffix(name, ".end"), 10, 64)
		if err == nil && strings.HasSuffix(name, ".end") && n > c.log.Number && n < numbers[i] {
			return false, lostFile(s.fs.archive(), logName(n))
		}
	}
	c.next = numbers[i]
	return true, nil
}
