package pebble

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync/atomic"
	"time"

	engine "github.com/cockroachdb/pebble/v2"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/internal/kept"
	"github.com/smolwc/smolwc/cf/internal/wal"
)

var _ cf.Follower = (*Store)(nil)

// A following is what a standby knows of its log, and of the record that it applies next.
type following struct {
	is   atomic.Bool // the store follows another one
	next uint64      // the number of Pebble's next change, 0 if it is not known; guarded by shaping

	record *cf.LogRecord
	read   *inspected // of record
}

// An inspected record was read and not applied yet.
type inspected struct {
	cf.Need
	record
	done    bool // the standby has it
	created families
	dropped []string
	nextID  uint32
	load    *load // that becomes visible
	here    bool  // its cells are visible already
	changes []changed
}

// A changed is the number of changes of a kind in a family.
type changed struct {
	id   uint32
	kind cf.OpKind
}

func diverged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", cf.ErrDiverged, fmt.Sprintf(format, args...))
}

// locate finds the position of a store that writes nothing when it is opened. It is the end
// of the last record in its log. A copy without records has the position that it had when it
// began to keep its log, or else, before anything was written to it, that of its last number.
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

// lastIn is the end of the last record in a log, 0 if it has none.
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

// nextNumber is the number of Pebble's next change, of a store that has no other snapshots yet.
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

// follow makes an open store one that follows.
func (s *Store) follow(ctx context.Context) error {
	s.following.is.Store(true)
	if err := s.locate(ctx); err != nil {
		return err
	}
	if all, err := s.tokens(ctx); len(all) > 0 || err != nil {
		return err // the note aligns it
	}
	return s.align()
}

// align makes the position the one before Pebble's next number: a copy of the store has it
// then, also without a record in its log.
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

// Prepare implements [cf.Follower].
func (s *Store) Prepare(ctx context.Context, r *cf.LogRecord) (cf.Need, error) {
	s.following.record = nil
	if err := s.caughtUp(ctx); err != nil {
		return cf.Need{}, err
	}
	in, err := s.inspect(ctx, r)
	if err == nil && in.done {
		err = s.endsWith(ctx, r)
	}
	if err != nil {
		return cf.Need{}, err
	}
	s.following.record, s.following.read = r, in
	return in.Need, nil
}

// clockKey is the catalog's entry that changes each second. It is not part of the schema.
const clockKey = "smolwc/clock"

// inspect reads a record, and checks that it comes next.
func (s *Store) inspect(ctx context.Context, r *cf.LogRecord) (*inspected, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.writable(); err != nil {
		return nil, err
	}
	of, err := recordOf(r.Data)
	if err != nil {
		return nil, err
	}
	in := &inspected{record: of, created: families{}}
	if of.own || of.last != r.Last {
		return nil, diverged("a record of %d changes ends at position %d", of.count, r.Last)
	}
	latest := s.Latest()
	if in.done = of.last == latest; in.done {
		return in, nil
	}
	if latest < r.After || latest >= of.first {
		return nil, diverged("the standby has position %d; the next record begins with %d, after %d", latest, of.first, r.After)
	}
	if err := s.readOps(in); err != nil {
		return nil, err
	}
	if in.load == nil {
		return in, nil
	}
	in.Catalog, in.Load, in.Dir = true, in.load.id, s.fs.PathJoin(s.dir, loadsDir, in.load.id)
	all, err := s.tokens(ctx)
	in.here = slices.ContainsFunc(all, func(l load) bool { return l.id == in.load.id })
	if !in.here {
		in.Files = in.load.Files
	}
	return in, err
}

// endsWith fails if a record is not the last one of the log.
func (s *Store) endsWith(ctx context.Context, r *cf.LogRecord) error {
	last, err := s.LastRecords(ctx)
	if err == nil && (len(last) == 0 || !bytes.Equal(last[len(last)-1].Data, r.Data)) {
		err = diverged("the standby has another record up to %d", r.Last)
	}
	return err
}

// readOps reads the changes of a record.
func (s *Store) readOps(in *inspected) error {
	known := map[uint32]bool{}
	for _, f := range *s.families.Load() {
		known[f.id] = true
	}
	count := uint64(0)
	var files []byte
	err := eachOp(in.ops, func(id uint32, op *cf.LoggedOp) error {
		if op.Kind == cf.OpNote {
			if op.Value[0] == logLoad {
				files = op.Value[1:]
			}
			return nil
		}
		count++
		switch {
		case id == spaceSystem:
			return s.readEntry(in, op, files)
		case id == spaceMeta:
			in.Catalog = in.Catalog || string(op.Key) != clockKey
			return nil
		}
		if !known[id] && !slices.ContainsFunc(slices.Collect(maps.Values(in.created)), func(f *family) bool { return f.id == id }) {
			return diverged("record %d writes to family %d, which the standby does not have", in.first, id)
		}
		in.changes = append(in.changes, changed{id, op.Kind})
		return nil
	})
	if err == nil && count != in.count {
		err = fmt.Errorf("%w: record %d of the log has %d changes, not %d", cf.ErrCorrupt, in.first, count, in.count)
	}
	return err
}

// readEntry reads a change of the system's entries.
func (s *Store) readEntry(in *inspected, op *cf.LoggedOp, files []byte) error {
	if len(op.Key) == 0 {
		return diverged("record %d has an entry without a name", in.first)
	}
	name := string(op.Key[1:])
	switch op.Key[0] {
	case entryFamily:
		in.Catalog = true
		if op.Kind == cf.OpDelete {
			in.dropped = append(in.dropped, name)
			return nil
		}
		if len(op.Value) != idLen {
			return diverged("record %d has no number for family %s", in.first, name)
		}
		in.created[name] = s.newFamily(name, binary.BigEndian.Uint32(op.Value))
	case entryNext:
		if len(op.Value) == idLen {
			in.nextID = binary.BigEndian.Uint32(op.Value)
		}
	case entryLoad:
		if op.Kind != cf.OpDelete || in.count != 1 {
			return diverged("record %d has the note about load %s, and other changes", in.first, name)
		}
		l, err := loadOf(name, files)
		if err == nil && len(l.Files) == 0 {
			err = diverged("record %d has a load without files", in.first)
		}
		in.load = &l
		return err
	}
	return nil
}

// Apply implements [cf.Follower].
func (s *Store) Apply(ctx context.Context, r *cf.LogRecord) error {
	if s.following.record != r {
		if _, err := s.Prepare(ctx, r); err != nil {
			return err
		}
	}
	in := s.following.read
	s.following.record = nil
	if in.done {
		return nil
	}
	if err := s.gate.letIn(ctx); err != nil {
		return err
	}
	if in.load != nil {
		return s.applyLoad(ctx, in)
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.writable(); err != nil {
		return err
	}
	flight := s.under.begin(allRows)
	return s.do(ctx, func() error {
		defer s.under.end(flight)
		s.shaping.Lock()
		defer s.shaping.Unlock()
		return s.applyOne(in)
	})
}

// applyOne writes a record as it is, but for its shift. The caller holds shaping.
func (s *Store) applyOne(in *inspected) error {
	before := *s.families.Load()
	if len(in.dropped) > 0 {
		left := maps.Clone(before)
		for _, name := range in.dropped {
			delete(left, name)
		}
		s.families.Store(&left)
	}
	s.writing.RLock()
	defer s.writing.RUnlock()
	if err := s.writeRecord(in); err != nil {
		s.families.Store(&before)
		return err
	}
	if len(in.created) > 0 {
		all := maps.Clone(*s.families.Load())
		maps.Copy(all, in.created)
		s.families.Store(&all)
	}
	s.next = max(s.next, in.nextID)
	s.count(in.changes)
	return nil
}

func (s *Store) writeRecord(in *inspected) error {
	if err := s.shiftTo(uint64(in.first)); err != nil {
		return err
	}
	b := s.db.NewBatch()
	if err := b.SetRepr(appendRecord(nil, 0, in.count, s.shift.Load(), in.ops)); err != nil {
		return errors.Join(wrap(err), b.Close())
	}
	if err := s.write(b); err != nil {
		return err
	}
	s.acked.Store(uint64(in.last))
	s.kept.Tell()
	return nil
}

// count counts what is in the memtable.
func (s *Store) count(changes []changed) {
	if len(changes) == 0 {
		return
	}
	byID := map[uint32]*family{}
	for _, f := range *s.families.Load() {
		byID[f.id] = f
	}
	for _, c := range changes {
		if f := byID[c.id]; f != nil {
			f.wrote(c.kind)
		}
	}
}

// applyLoad makes the files of a load part of the database, and writes the note about it.
func (s *Store) applyLoad(ctx context.Context, in *inspected) error {
	if err := s.ingesting.Lock(ctx); err != nil {
		return err
	}
	defer s.ingesting.Unlock()
	var files []string
	for _, name := range in.Files {
		files = append(files, s.fs.PathJoin(in.Dir, name))
	}
	if !in.here {
		if err := s.kept.KeepLoad(in.load.id, uint64(in.first), files); err != nil {
			return err
		}
		// The disk must not have the load before it has the changes that come before it.
		if _, err := s.SyncLog(ctx); err != nil {
			return err
		}
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.writable(); err != nil {
		return err
	}
	err := s.do(ctx, func() error {
		defer s.hold()()
		if !in.here {
			s.following.next = 0
			if err := s.db.Ingest(ctx, files); err != nil {
				return wrap(err)
			}
		}
		return s.writeRecord(in)
	})
	if err == nil {
		err = os.RemoveAll(in.Dir) // it is empty
	}
	return err
}

// LastRecords implements [cf.Follower].
func (s *Store) LastRecords(ctx context.Context) ([]*cf.LogRecord, error) {
	numbers, err := s.logNumbers()
	if err != nil {
		return nil, err
	}
	logs := kept.Logs{
		Count: len(numbers),
		First: func(i int) (uint64, bool, error) { return s.firstChange(numbers[i]) },
		Open:  s.Log,
	}
	return logs.Last(ctx)
}

// Ops implements [cf.Follower].
func (s *Store) Ops(r *cf.LogRecord, fn func(op *cf.LoggedOp) error) error {
	of, err := recordOf(r.Data)
	if err != nil {
		return err
	}
	names := map[uint32]string{spaceMeta: ""}
	for name, f := range *s.families.Load() {
		names[f.id] = name
	}
	return eachOp(of.ops, func(id uint32, op *cf.LoggedOp) error {
		if op.Kind == cf.OpNote || id == spaceSystem {
			if op.Kind != cf.OpDelete || len(op.Key) == 0 || op.Key[0] != entryLoad {
				return nil
			}
			op.Key, id = append([]byte(cf.LoadedPrefix), op.Key[1:]...), spaceMeta
		}
		name, ok := names[id]
		if !ok {
			name = fmt.Sprint("family ", id)
		}
		op.Family = name
		return fn(op)
	})
}

// Loading implements [cf.Follower].
func (s *Store) Loading(ctx context.Context) (bool, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.usable(); err != nil {
		return false, err
	}
	all, err := s.tokens(ctx)
	return len(all) > 0, err
}

// Promote implements [cf.Follower].
func (s *Store) Promote(ctx context.Context, async bool, begin func() error) error {
	if err := s.ingesting.Lock(ctx); err != nil {
		return err
	}
	defer s.ingesting.Unlock()
	if err := s.caughtUp(ctx); err != nil {
		return err
	}
	if _, err := s.SyncLog(ctx); err != nil {
		return err
	}
	s.following.is.Store(false)
	s.fs.async.Store(async)
	if err := begin(); err != nil {
		return err
	}
	if s.Ships() == "" { // restored: the records that were applied are not its own changes
		if err := s.KeepChanges(time.Time{}); err != nil {
			return err
		}
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.writable(); err != nil {
		return err
	}
	return s.noteLoads(ctx)
}

// TrimLog implements [cf.Follower].
func (s *Store) TrimLog() error {
	s.log.keeping.Lock()
	defer s.log.keeping.Unlock()
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.writable(); err != nil {
		return err
	}
	if !s.fs.keep.Load() {
		return nil
	}
	return s.trim(func(time.Time) bool { return true })
}
