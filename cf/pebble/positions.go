package pebble

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"slices"

	engine "github.com/cockroachdb/pebble/v2"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/internal/wal"
)

// locate finds the position of a store that writes nothing when it is opened. It is the end
// of the last record in its log. A copy without records is at the position where it began
// to keep its log, or, before anything was written to it, at its last number.
func (s *Store) locate(ctx context.Context) error {
	numbers, err := s.logNumbers()
	if err != nil {
		return err
	}
	last := cf.Position(0)
	for _, n := range slices.Backward(numbers) {
		if last, err = s.lastIn(ctx, n); err != nil || last > 0 {
			break
		}
	}
	if k := s.kept.Shipping(); k != nil {
		last = max(last, k.At)
	}
	if err == nil && last == 0 {
		last = cf.Position(int64(s.nextNumber()) - 1 + s.shift.Load())
	}
	s.acked.Store(uint64(last))
	return err
}

// lastIn is the end of the last record in a log, 0 for an empty log.
func (s *Store) lastIn(ctx context.Context, log uint64) (last cf.Position, err error) {
	for l := s.logReader(log); ; {
		data, err := l.Next()
		if errors.Is(err, wal.ErrEnd) || errors.Is(err, cf.ErrTrimmed) {
			return last, nil
		}
		var r record
		if err == nil {
			r, err = recordOf(data)
		}
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return 0, err
		}
		if !r.own {
			last = r.last
		}
	}
}

// nextNumber is the number of Pebble's next change, of a store without other snapshots yet.
func (s *Store) nextNumber() uint64 {
	snap := s.db.NewSnapshot()
	defer snap.Close()
	return uint64(s.db.Metrics().Snapshots.EarliestSeqNum)
}

// probe finds the number of Pebble's next change.
func (s *Store) probe() error {
	b := s.db.NewBatch()
	defer b.Close()
	_ = b.LogData(nil, nil)
	if err := s.db.Apply(b, engine.Sync); err != nil {
		return wrap(err)
	}
	s.following.next = uint64(b.SeqNum())
	return s.lost()
}

// align makes the position the one before Pebble's next number: a copy of the store is then
// at it, also without a record in its log.
func (s *Store) align() error {
	if err := s.probe(); err != nil {
		return err
	}
	return s.shiftTo(s.acked.Load() + 1)
}

// shiftTo makes the next change the one at a position, by a commit of the standby's own if
// necessary.
func (s *Store) shiftTo(first uint64) error {
	if s.following.next == 0 {
		if err := s.probe(); err != nil {
			return err
		}
	}
	if int64(first) == int64(s.following.next)+s.shift.Load() {
		return nil
	}
	b := s.db.NewBatch()
	_ = b.LogData([]byte{logOwn}, nil)
	shift := int64(first) - int64(s.following.next) - 1
	_ = b.Set(append(appendID(nil, spaceSystem), entryShift), shiftValue(shift), nil)
	if err := s.write(b); err != nil {
		return err
	}
	s.shift.Store(shift)
	return nil
}

// write writes a batch, and closes it. Its number must be the next one.
func (s *Store) write(b *engine.Batch) error {
	defer b.Close()
	want, count := s.following.next, uint64(b.Count())
	s.following.next = 0 // until it is known again
	if err := s.db.Apply(b, engine.Sync); err != nil {
		return wrap(err)
	}
	got := uint64(0)
	if b.Empty() { // Pebble takes the contents of a large batch away
		if err := s.probe(); err != nil {
			return err
		}
		got = s.following.next - count
	} else {
		got = uint64(b.SeqNum())
	}
	if got != want {
		s.fs.lose(diverged("a batch has the number %d and not %d", got, want))
	}
	s.following.next = want + count
	return s.lost()
}

// settle makes the position of a copy that is made now the store's: numbers may have been lost.
// The caller holds all commits.
func (s *Store) settle() error {
	if s.following.is.Load() {
		return s.align()
	}
	_, err := s.put(s.mark(), false)
	return err
}

// shiftValue encodes the shift.
func shiftValue(shift int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(shift)) }

// Latest implements [cf.Shipper].
func (s *Store) Latest() cf.Position {
	if s.options.ReadOnly {
		s.located.Do(func() { _ = s.locate(context.Background()) }) // otherwise Log says why
	}
	return cf.Position(s.acked.Load())
}

// Seen is the position that a standby needs for reads now: the next one while the
// log lacks the note about a load that is visible.
func (s *Store) Seen() cf.Position {
	if s.unnoted.Load() {
		return s.Latest() + 1
	}
	return s.Latest()
}
