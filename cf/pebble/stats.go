package pebble

import (
	"cmp"
	"context"
	"errors"

	engine "github.com/cockroachdb/pebble/v2"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/internal/wal"
)

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
	st.Engine.Open.Snapshots, st.Engine.Open.Cursors = int64(s.open.snapshots.Len()), int64(s.open.cursors.Len())
	return st, nil
}

// A tableCounts are the counts of a table file.
type tableCounts struct {
	counts []count
	ranges int64 // range tombstones
	blobs  int64 // values that are stored apart
}

// tableCounts returns the counts of each table file. It reads the properties of the files only if
// some are new.
func (s *Store) tableCounts() (levels [][]engine.SSTableInfo, of map[uint64]tableCounts, err error) {
	if levels, err = s.db.SSTables(); err != nil {
		return nil, nil, wrap(err)
	}
	known, _ := s.counted.Load().(map[uint64]tableCounts)
	unknown := false
	of = map[uint64]tableCounts{}
	for _, level := range levels {
		for _, t := range level {
			c, ok := known[uint64(t.BackingSSTNum)]
			of[uint64(t.BackingSSTNum)] = c
			unknown = unknown || !ok
		}
	}
	if unknown {
		if levels, err = s.db.SSTables(engine.WithProperties()); err != nil {
			return nil, nil, wrap(err)
		}
		of = map[uint64]tableCounts{}
		for _, level := range levels {
			for _, t := range level {
				if t.Properties != nil {
					of[uint64(t.BackingSSTNum)] = tableCounts{parseCounts(t.Properties.UserProperties[countsName]), int64(t.Properties.NumRangeDeletions), int64(t.Properties.NumValuesInBlobFiles)}
				}
			}
		}
	}
	s.counted.Store(of)
	return levels, of, nil
}

// familyStats are the figures of all families.
func (s *Store) familyStats(ctx context.Context, m *engine.Metrics) (map[string]cf.FamilyStats, error) {
	levels, counts, err := s.tableCounts()
	if err != nil {
		return nil, err
	}
	if err := s.countReplayed(ctx); err != nil {
		return nil, err
	}
	byID, apart, allApart := map[uint32]*cf.FamilyStats{}, map[uint32]float64{}, 0.0
	for at, level := range levels {
		for _, t := range level {
			c := counts[uint64(t.BackingSSTNum)]
			var entries uint64
			for _, n := range c.counts {
				entries += n.entries
			}
			for _, n := range c.counts {
				values := float64(c.blobs) * float64(n.entries) / float64(entries)
				apart[n.id] += values
				allApart += values
				f := byID[n.id]
				if f == nil {
					f = &cf.FamilyStats{Levels: make([]int64, len(levels))}
					byID[n.id] = f
				}
				f.Levels[at]++
				f.Entries += int64(n.entries)
				f.Tombstones += int64(n.tombstones)
				if len(c.counts) == 1 {
					f.Entries += c.ranges
					f.Tombstones += c.ranges
				}
			}
		}
	}
	all := map[string]cf.FamilyStats{}
	var files int64
	for name, f := range *s.families.Load() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		fs := cf.FamilyStats{Levels: make([]int64, len(levels))}
		if have := byID[f.id]; have != nil {
			fs = *have
		}
		if allApart > 0 {
			fs.BlobBytes = int64(apart[f.id] / allApart * float64(m.BlobFiles.LiveSize))
		}
		for i := range f.unflushed {
			fs.Entries += f.unflushed[i].entries.Load()
			fs.Tombstones += f.unflushed[i].tombstones.Load()
		}
		n, err := s.db.EstimateDiskUsage(f.prefix, appendID(nil, f.id+1))
		if err != nil {
			return nil, wrap(err)
		}
		fs.FileBytes = int64(n)
		files += fs.FileBytes
		all[name] = fs
	}
	// Figures of all families together are divided by their files.
	for name, fs := range all {
		if files > 0 {
			part := float64(fs.FileBytes) / float64(files)
			fs.PendingBytes = int64(part * float64(m.Compact.EstimatedDebt))
			fs.MemtableBytes = int64(part * float64(m.MemTable.Size))
		} else {
			fs.MemtableBytes = int64(m.MemTable.Size) / int64(len(all))
		}
		all[name] = fs
	}
	return all, nil
}

// countReplayed counts the entries of a reader's memtables.
func (s *Store) countReplayed(ctx context.Context) error {
	s.replayed.mu.Lock()
	defer s.replayed.mu.Unlock()
	for ; len(s.replayed.logs) > 0; s.replayed.logs = s.replayed.logs[1:] {
		counts := map[uint32]*count{}
		for log := s.logReader(s.replayed.logs[0]); ; {
			data, err := log.Next()
			if errors.Is(err, wal.ErrEnd) || errors.Is(err, cf.ErrTrimmed) { // the second: the writer removed it before it was pinned
				break
			}
			if err = cmp.Or(err, ctx.Err()); err != nil {
				return err
			}
			r, err := recordOf(data)
			if err != nil {
				return err
			}
			_ = eachOp(r.ops, func(id uint32, op *cf.LoggedOp) error { // of a load's record there is nothing to count
				if counts[id] == nil {
					counts[id] = &count{id: id}
				}
				counts[id].entries++
				if op.Kind == cf.OpDelete || op.Kind == cf.OpDeleteRange {
					counts[id].tombstones++
				}
				return nil
			})
		}
		for _, f := range *s.families.Load() {
			if n := counts[f.id]; n != nil {
				f.unflushed[filling].entries.Add(int64(n.entries))
				f.unflushed[filling].tombstones.Add(int64(n.tombstones))
			}
		}
	}
	return nil
}

// moveCounts moves the counts of all families to another state.
func (s *Store) moveCounts(from, to int) {
	for _, f := range *s.families.Load() {
		entries, tombstones := f.unflushed[from].entries.Swap(0), f.unflushed[from].tombstones.Swap(0)
		if to != inFiles {
			f.unflushed[to].entries.Add(entries)
			f.unflushed[to].tombstones.Add(tombstones)
		}
	}
}
