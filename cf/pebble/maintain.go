package pebble

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	engine "github.com/cockroachdb/pebble/v2"

	"github.com/smolwc/smolwc/cf"
)

// lookup is a family of an open store, for work that EndWaits ends.
func (s *Store) lookup(ctx context.Context, name string) (*family, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := s.writable(); err != nil {
		return nil, err
	}
	if s.life.Err() != nil {
		return nil, cf.ErrClosed
	}
	return (*s.families.Load()).get(name)
}

// until is a context that ends with EndWaits too; the cause is ErrClosed then.
func (s *Store) until(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(s.life, func() { cancel(cf.ErrClosed) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// Flush implements [cf.Store]. Pebble has one memtable for all families.
func (s *Store) Flush(ctx context.Context, name string) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if _, err := s.lookup(ctx, name); err != nil {
		return err
	}
	ctx, done := s.until(ctx)
	defer done()
	err := s.do(ctx, func() error { return s.flush(ctx) }) // its beginning may wait for the disk, too
	return cmp.Or(context.Cause(ctx), err)
}

func (s *Store) flush(ctx context.Context) error {
	flushed, err := s.db.AsyncFlush()
	if err != nil {
		return wrap(err)
	}
	select {
	case <-flushed:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Compact implements [cf.Store]. It first deletes the cells that have expired. Pebble moves a
// file down without rewriting it if nothing is below, and leaves the files at the bottom alone.
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
	err = s.do(ctx, func() error {
		return wrap(s.db.Compact(ctx, append(slices.Clone(f.prefix), start...), append(slices.Clone(f.prefix), end...), true))
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// Checkpoint implements [cf.Checkpointer]. It flushes first: what is in files once is not
// sent again with each backup.
func (s *Store) Checkpoint(ctx context.Context, dir string) (cf.Position, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if err := s.ingesting.Lock(ctx); err != nil { // a copy has a load whole or not at all
		return 0, err
	}
	defer s.ingesting.Unlock()
	if err := s.caughtUp(ctx); err != nil {
		return 0, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.writable(); err != nil {
		return 0, err
	}
	ctx, done := s.until(ctx)
	defer done()
	at, err := s.acked.Load(), s.loaded(ctx)
	if err != nil {
		return 0, err
	}
	return cf.Position(at), s.do(ctx, func() error {
		if err := s.flush(ctx); err != nil {
			return err
		}
		if err := s.copy(dir); err != nil {
			return err
		}
		return wrap(writeName(s.fs, dir))
	})
}

// copy copies the files. Pebble writes the manifest ahead of the log: so no commit is under way
// until it has chosen the files, and made the directory for them. What is written then may be
// in the logs of the copy.
func (s *Store) copy(dir string) error {
	release := s.hold()
	defer release()
	if s.Ships() != "" {
		if err := s.settle(); err != nil {
			return err
		}
	}
	made := func(path string) {
		if path == dir {
			release()
		}
	}
	s.fs.copying.Store(&made)
	return wrap(s.db.Checkpoint(dir, engine.WithFlushedWAL()))
}

// Stats implements [cf.Store].
func (s *Store) Stats(ctx context.Context) (cf.Stats, error) {
	st := cf.Stats{Families: map[string]cf.FamilyStats{}}
	if err := ctx.Err(); err != nil {
		return st, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.usable(); err != nil {
		return st, err
	}
	m := s.db.Metrics()
	families, err := s.familyStats(ctx, m)
	if err != nil {
		return st, err
	}
	st.Families = families
	st.Engine = cf.EngineStats{
		Cache: cf.CacheStats{
			Capacity: s.settings.Cache.MaxSize(), Used: m.BlockCache.Size, Hits: m.BlockCache.Hits, Misses: m.BlockCache.Misses,
		},
		Memory:  cf.MemoryStats{Memtables: int64(m.MemTable.Size), Cache: m.BlockCache.Size, Readers: m.FileCache.Size},
		Filters: cf.FilterStats{Checked: m.Filter.Hits + m.Filter.Misses, Useful: m.Filter.Hits},
		Stalls:  s.gate.figures(),
		Log:     cf.LogStats{Bytes: int64(max(m.WAL.Size, m.WAL.PhysicalSize)), Kept: s.keptBytes(), Written: int64(m.WAL.BytesWritten), Syncs: s.fs.syncs.Load()},
		BytesIn: int64(m.WAL.BytesIn), BytesOut: s.read.Load(),
	}
	work := &st.Engine.Work
	*work = cf.WorkStats{
		Flushes: m.Flush.Count, RunningFlushes: m.Flush.NumInProgress,
		Compactions: m.Compact.Count, RunningCompactions: m.Compact.NumInProgress,
		Expired: s.clean.deleted.Load(), Errors: s.failures.Load(),
	}
	for i := range m.Levels {
		l := &m.Levels[i]
		work.FlushedBytes += int64(l.TableBytesFlushed + l.BlobBytesFlushed)
		work.CompactedBytes += int64(l.TableBytesCompacted + l.BlobBytesCompacted)
	}
	if err := s.writable(); err != nil && !errors.Is(err, cf.ErrReadOnly) {
		work.Refused = err
	}
	st.Engine.Open.Snapshots, st.Engine.Open.Cursors = s.open.counts()
	return st, nil
}

// keptBytes is the size of the logs that are kept only for their changes.
func (s *Store) keptBytes() int64 {
	if !s.fs.keep.Load() {
		return 0
	}
	return s.fs.logBytes(s.fs.archive()) + s.kept.LoadBytes()
}

// Splits implements [cf.Store]. Small data is read, large data is divided by its files.
func (s *Store) Splits(ctx context.Context, names []string, rows cf.Range, n int) ([]cf.Part, error) {
	snap, err := s.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	defer snap.Close()
	d := &divider{snap: snap.(*snapshot), names: names, rows: rows}
	total, err := d.size(rows)
	switch {
	case err != nil:
		return nil, err
	case total < 4<<20:
		return d.byRows(ctx, n)
	}
	return d.byFiles(ctx, n, total)
}

type divider struct {
	snap  *snapshot
	names []string
	rows  cf.Range
}

func (d *divider) size(rows cf.Range) (sum uint64, err error) {
	if rows.Empty() {
		return 0, nil
	}
	start, end := rows.Bounds()
	for _, name := range d.names {
		f, err := d.snap.families.get(name)
		if err != nil {
			return 0, err
		}
		n, err := d.snap.store.db.EstimateDiskUsage(append(slices.Clone(f.prefix), start...), append(slices.Clone(f.prefix), end...))
		if err != nil {
			return 0, wrap(err)
		}
		sum += n
	}
	return sum, nil
}

// byFiles cuts at the rows where table files begin.
func (d *divider) byFiles(ctx context.Context, n int, total uint64) (parts []cf.Part, err error) {
	var cuts []string
	for _, name := range d.names {
		f := d.snap.families[name]
		tables, err := d.snap.store.db.SSTables(engine.WithKeyRangeFilter(f.prefix, appendID(nil, f.id+1)))
		if err != nil {
			return nil, wrap(err)
		}
		for _, level := range tables {
			for _, t := range level {
				key := t.Smallest.UserKey
				if len(key) < idLen {
					continue
				}
				if row, _, _, err := cf.SplitCellKey(key[idLen:]); err == nil && d.rows.Contains(string(row)) && string(row) > d.rows.Start {
					cuts = append(cuts, string(row))
				}
			}
		}
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	start, sum := d.rows.Start, uint64(0)
	var before uint64
	for _, c := range cuts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		part, err := d.size(cf.Range{Start: start, End: c})
		if err != nil {
			return nil, err
		}
		sum += part
		start = c
		if sum*uint64(n) >= total*uint64(len(parts)+1) && len(parts)+1 < n {
			parts = append(parts, cf.Part{End: c, Bytes: int64(sum - before)})
			before = sum
		}
	}
	return append(parts, cf.Part{End: d.rows.End, Bytes: int64(total - min(before, total))}), nil
}

type point struct {
	row   string
	bytes int64
}

func (d *divider) byRows(ctx context.Context, n int) (parts []cf.Part, err error) {
	var all []point
	var total int64
	for _, name := range d.names {
		c, err := d.snap.Scan(ctx, cf.Scan{Family: name, Rows: []cf.Range{d.rows}})
		if err != nil {
			return nil, err
		}
		for {
			b, err := c.Next(ctx)
			if err != nil {
				c.Close()
				return nil, err
			}
			if b == nil {
				break
			}
			for i := range b.Rows {
				p := point{row: strings.Clone(b.RowKey(&b.Rows[i]))}
				for _, cell := range b.RowCells(&b.Rows[i]) {
					p.bytes += int64(len(p.row)) + int64(cell.QualifierLen) + int64(cell.ValueLen)
				}
				total += p.bytes
				all = append(all, p)
			}
		}
		c.Close()
	}
	slices.SortFunc(all, func(a, b point) int { return cmp.Compare(a.row, b.row) })
	var sum, cut int64
	for i, p := range all {
		if i > 0 && p.row != all[i-1].row && sum*int64(n) >= total*int64(len(parts)+1) && len(parts)+1 < n {
			parts = append(parts, cf.Part{End: p.row, Bytes: sum - cut})
			cut = sum
		}
		sum += p.bytes
	}
	return append(parts, cf.Part{End: d.rows.End, Bytes: sum - cut}), nil
}
