package pebble

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/internal/kept"
)

var _ cf.Follower = (*Store)(nil)

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

// count counts the entries in the memtable.
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
		// The changes before the load must be on the disk first.
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

// Skip implements [cf.Follower].
func (s *Store) Skip(ctx context.Context, to cf.Position) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.writable(); err != nil {
		return err
	}
	if at := s.Latest(); at > to {
		return diverged("the store has position %d, beyond %d", at, to)
	}
	return s.do(ctx, func() error {
		s.shaping.Lock()
		defer s.shaping.Unlock()
		s.acked.Store(uint64(to))
		return s.align()
	})
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
	if s.kept.Ships() == "" { // restored: the records that were applied are not its own changes
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
