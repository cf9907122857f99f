package pebble

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	engine "github.com/cockroachdb/pebble/v2"

	"github.com/smolwc/smolwc/cf"
)

// Compact implements [cf.Store]. It first deletes the cells that have expired, and then
// rewrites the files of the range, some at a time, with their large values. The end of the
// context stops it between them. A standby rewrites only files that overlap.
func (s *Store) Compact(ctx context.Context, name string, rows cf.Range) error {
	s.mu.RLock()
	f, err := s.lookup(ctx, name)
	s.mu.RUnlock()
	if err != nil || rows.Empty() {
		return err
	}
	ctx, done := s.until(ctx)
	defer done()
	if err := s.expire(ctx, f, rows, 0); err != nil {
		return err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if _, err := s.lookup(ctx, name); err != nil {
		return err
	}
	if err := s.gate.letIn(ctx); err != nil {
		return err
	}
	start, end := rows.Bounds()
	start, end = append(slices.Clone(f.prefix), start...), append(slices.Clone(f.prefix), end...)
	if s.following.is.Load() { // it writes only its primary's writes
		err = s.merge(ctx, start, end)
	} else {
		err = s.rewrite(ctx, f, start, end)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// merge writes the memtable and merges the files of a range that overlap. Pebble begins a
// compaction that failed again and again, and others wait for it: then this call ends.
func (s *Store) merge(ctx context.Context, start, end []byte) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	s.merging.Store(&fail, fail)
	defer s.merging.Delete(&fail)
	err := s.do(ctx, func() error { return wrap(s.db.Compact(ctx, start, end, true)) })
	return cmp.Or(context.Cause(ctx), err)
}

// met is called when a compaction has ended.
func (s *Store) met(err error) {
	if err == nil || errors.Is(err, engine.ErrCancelledCompaction) {
		return
	}
	err = wrap(err)
	s.damaged.Store(errors.Is(err, cf.ErrCorrupt))
	for _, fail := range s.merging.Range {
		fail.(context.CancelCauseFunc)(err)
	}
}

// rest is called when a compaction begins. Pebble repeats one that met damage at once.
func (s *Store) rest() {
	if s.damaged.Swap(false) {
		select {
		case <-time.After(patience):
		case <-s.life.Done():
		}
	}
}

// rewrite merges all files of a range. Pebble moves a file if it overlaps none below, and
// does not touch those at the bottom: so each is given a deleted key that no cell has.
func (s *Store) rewrite(ctx context.Context, f *family, start, end []byte) error {
	s.rewriting.Add(1)
	defer s.rewriting.Add(-1)
	if err := s.do(ctx, func() error { return s.flush(ctx) }); err != nil {
		return err
	}
	levels, err := s.db.SSTables(engine.WithKeyRangeFilter(start, end))
	if err != nil {
		return wrap(err)
	}
	tables := slices.Concat(levels...)
	slices.SortFunc(tables, func(a, b engine.SSTableInfo) int {
		return bytes.Compare(a.Smallest.UserKey, b.Smallest.UserKey)
	})
	for len(tables) > 0 {
		batch, n, size := s.newBatch(0), 0, int64(0)
		from, to := tables[0].Smallest.UserKey, []byte(nil)
		for ; n < len(tables) && size < s.rewritten(); n++ {
			t := &tables[n]
			size += int64(max(t.Size, t.TableStats.RawValueSize)) // of values in other files, too
			to = slices.MaxFunc([][]byte{to, t.Largest.UserKey}, bytes.Compare)
			for _, key := range within(slices.MaxFunc([][]byte{t.Smallest.UserKey, start}, bytes.Compare), t.Largest.UserKey) {
				_ = batch.Delete(key, nil)
			}
		}
		tables = tables[n:]
		if err := s.beginWriting(ctx); err != nil {
			return cmp.Or(err, batch.Close())
		}
		if (*s.families.Load())[f.name] != f {
			s.writing.RUnlock()
			return batch.Close()
		}
		if err := s.erase(ctx, batch, s.writing.RUnlock); err != nil {
			return err
		}
		if err := s.merge(ctx, from, append(slices.Clone(to), 0)); err != nil {
			return err
		}
	}
	return nil
}

// rewritten is the size of the files that are rewritten at once, at least.
func (s *Store) rewritten() int64 { return cmp.Or(4*int64(s.options.FileSize), 256<<20) }

// within are keys that no cell has, and that only files which overlap the range include. The
// smallest key of a file may be one of them, of an earlier call.
func within(smallest, largest []byte) [][]byte {
	after := append(slices.Clone(smallest), 0)
	if isCell(after) {
		after = append(after, 0)
	}
	if bytes.Compare(after, largest) <= 0 {
		return [][]byte{after}
	}
	before := smallest[:len(smallest)-1] // a file of one key lies between them
	if isCell(before) {
		before = before[:len(before)-1]
	}
	return [][]byte{before, after}
}

// isCell reports whether a key of the engine is one of a cell. No key that is one byte longer or
// shorter is then another one.
func isCell(key []byte) bool {
	if len(key) < idLen {
		return false
	}
	_, _, _, err := cf.SplitCellKey(key[idLen:])
	return err == nil
}
