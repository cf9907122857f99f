//go:build cgo && linux && !norocksdb

package rocks

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/smolwc/smolwc/cf"
)

// levels is the number of the engine's levels.
const levels = 7

// Stats implements cf.Store. It reads no data. Entries and tombstones come from the
// properties of the files.
func (s *Store) Stats(ctx context.Context) (cf.Stats, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return cf.Stats{}, cf.ErrClosed
	}
	all := cf.Stats{Families: map[string]cf.FamilyStats{}}
	var memory cf.MemoryStats
	for name, f := range *s.families.Load() {
		if err := ctx.Err(); err != nil {
			return cf.Stats{}, err
		}
		stats := s.familyStats(f)
		memory.Memtables += stats.MemtableBytes
		memory.Readers += s.property(f, "estimate-table-readers-mem")
		if name != catalogFamily {
			all.Families[name] = stats
		}
	}
	memory.Cache = int64(s.engine.cache.GetUsage())
	all.Engine = s.engineStats(parseTickers(s.engine.db.GetStatisticsString()))
	all.Engine.Memory = memory
	return all, nil
}

func (s *Store) familyStats(f *family) cf.FamilyStats {
	stats := cf.FamilyStats{
		FileBytes:     s.property(f, "live-sst-files-size"),
		BlobBytes:     s.property(f, "live-blob-file-size"),
		MemtableBytes: s.property(f, "cur-size-all-mem-tables"),
		PendingBytes:  s.property(f, "estimate-pending-compaction-bytes"),
		Entries:       s.property(f, "num-entries-active-mem-table") + s.property(f, "num-entries-imm-mem-tables"),
		Tombstones:    s.property(f, "num-deletes-active-mem-table") + s.property(f, "num-deletes-imm-mem-tables"),
	}
	for level := range levels {
		stats.Levels = append(stats.Levels, s.property(f, "num-files-at-level"+strconv.Itoa(level)))
	}
	if stats.Files() > 0 {
		files := s.tableSums(f)
		stats.Entries += files.entries
		stats.Tombstones += files.deletions
	}
	return stats
}

// tableSums are sums over a family's table files. A range tombstone counts as one
// deletion and one entry.
type tableSums struct {
	version            string // of the family
	entries, deletions int64
}

// tableSums keeps the sums until the family changes: the engine reads them from each table
// file that is not open, under the lock that flushes and new iterators take.
func (s *Store) tableSums(f *family) tableSums {
	version := s.db.GetPropertyCF("rocksdb.current-super-version-number", f.Handle) // before the sums: these may be newer
	if have := f.sums.Load(); have != nil && have.version == version {
		return *have
	}
	files := parseProperties(s.db.GetPropertyCF("rocksdb.aggregated-table-properties", f.Handle))
	sums := tableSums{version, files["# entries"], files["# deletions"]}
	if len(files) > 0 { // else a file cannot be read
		f.sums.Store(&sums)
	}
	return sums
}

// property is a numeric property of a family, 0 if the engine does not have it.
func (s *Store) property(f *family, name string) int64 {
	n, _ := strconv.ParseInt(s.db.GetPropertyCF("rocksdb."+name, f.Handle), 10, 64)
	return n
}

// parseProperties reads "# entries=3; raw key size=24; ...".
func parseProperties(text string) map[string]int64 {
	numbers := map[string]int64{}
	for field := range strings.SplitSeq(text, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(field), "=")
		if n, err := strconv.ParseInt(value, 10, 64); err == nil {
			numbers[name] = n
		}
	}
	return numbers
}

// parseTickers reads the engine's counters, and the counts of its histograms, one a line:
//
//	rocksdb.wal.synced COUNT : 3
//	rocksdb.db.flush.micros P50 : 1.0 P95 : 2.0 P99 : 2.0 P100 : 2.0 COUNT : 2 SUM : 3
//
// Text is the only form that the C API of every version offers.
func parseTickers(text string) map[string]int64 {
	tickers := map[string]int64{}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if at := slices.Index(words, "COUNT"); at > 0 && at+2 < len(words) {
			n, _ := strconv.ParseInt(words[at+2], 10, 64)
			tickers[strings.TrimPrefix(words[0], "rocksdb.")] = n
		}
	}
	return tickers
}

func (s *Store) engineStats(t map[string]int64) cf.EngineStats {
	cache := s.engine.cache
	snapshots, cursors := s.Open()
	return cf.EngineStats{
		Cache: cf.CacheStats{
			Capacity: int64(cache.GetCapacity()), Used: int64(cache.GetUsage()), Pinned: int64(cache.GetPinnedUsage()),
			Hits: t["block.cache.hit"], Misses: t["block.cache.miss"],
			DataHits: t["block.cache.data.hit"], DataMisses: t["block.cache.data.miss"],
		},
		Filters: cf.FilterStats{Checked: t["bloom.filter.prefix.checked"], Useful: t["bloom.filter.prefix.useful"]},
		Stalls:  s.stallStats(t),
		Log:     cf.LogStats{Bytes: s.logBytes(), Kept: s.keptBytes(), Written: t["wal.bytes"], Syncs: t["wal.synced"]},
		Work: cf.WorkStats{
			Flushes: t["db.flush.micros"], Compactions: t["compaction.times.micros"],
			RunningFlushes: s.number("num-running-flushes"), RunningCompactions: s.number("num-running-compactions"),
			FlushedBytes: t["flush.write.bytes"], CompactedBytes: t["compact.write.bytes"],
			Expired: t["compaction.key.drop.user"],
			Errors:  s.number("background-errors"), Refused: s.refusal.Cause(),
		},
		Open:     cf.OpenStats{Snapshots: int64(snapshots), Cursors: int64(cursors)},
		BytesIn:  t["bytes.written"],
		BytesOut: t["db.iter.bytes.read"] + t["bytes.read"],
	}
}

// number is a numeric property of the whole database.
func (s *Store) number(name string) int64 {
	n, _ := s.db.GetIntProperty("rocksdb." + name)
	return int64(n)
}

// stallStats adds up the waits of writes at the gate and in the engine, where the few
// writes wait that do not pass the gate. It does not use the engine's own count, which
// includes refused writes.
func (s *Store) stallStats(t map[string]int64) cf.StallStats {
	state, rate := s.stallLocked()
	waiting, count, wait := s.gate.Stats()
	wait += time.Duration(t["stall.micros"]) * time.Microsecond
	return cf.StallStats{State: state, Rate: rate, Waiting: waiting, Count: count, Time: wait}
}

// logBytes is the size of the logs in bytes; it is 0 for a database in memory.
func (s *Store) logBytes() int64 { return s.bytesOfLogs(s.dir) }

// keptBytes is the size in bytes of the logs that are kept only for their changes, and of
// the loads that are kept for standbys.
func (s *Store) keptBytes() int64 {
	return s.bytesOfLogs(filepath.Join(s.dir, archiveDir)) + s.changes.kept.LoadBytes()
}

func (s *Store) bytesOfLogs(dir string) (sum int64) {
	if s.options.InMemory {
		return 0
	}
	logs, _ := filepath.Glob(filepath.Join(dir, "*.log"))
	for _, name := range logs {
		if info, err := os.Stat(name); err == nil { // it may be gone meanwhile
			sum += info.Size()
		}
	}
	return sum
}
