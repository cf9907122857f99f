package cf

import "time"

// Stats are figures of a store. A figure that the engine does not have is zero.
type Stats struct {
	Engine   EngineStats
	Families map[string]FamilyStats // by name in the store
}

// FamilyStats are of one family.
type FamilyStats struct {
	FileBytes     int64   // in table files, compressed, as far as they are in use
	BlobBytes     int64   // in files of large values
	MemtableBytes int64   // of memory for writes that are not in a file yet
	Entries       int64   // that compactions have not removed: cells, also deleted and replaced ones, and Tombstones
	Tombstones    int64   // the Entries that delete a cell or a range
	Levels        []int64 // table files by level
	PendingBytes  int64   // about what compactions have yet to rewrite
}

// Files is the number of table files.
func (f *FamilyStats) Files() (n int64) {
	for _, files := range f.Levels {
		n += files
	}
	return n
}

// Bytes is the size of the family on disk.
func (f *FamilyStats) Bytes() int64 { return f.FileBytes + f.BlobBytes }

// Cells is an upper bound of the number of cells: replaced and deleted cells count
// until a compaction removes them.
func (f *FamilyStats) Cells() int64 { return f.Entries - f.Tombstones }

// EngineStats are of the whole store. Counters and times are totals since it
// was opened.
type EngineStats struct {
	Cache    CacheStats
	Memory   MemoryStats
	Filters  FilterStats
	Stalls   StallStats
	Log      LogStats
	Work     WorkStats
	Open     OpenStats
	BytesIn  int64 // of batches written
	BytesOut int64 // of keys and values read
}

// CacheStats are of the cache of blocks.
type CacheStats struct {
	Capacity, Used, Pinned int64 // bytes; reads hold the pinned ones at the moment
	Hits, Misses           int64 // of all blocks
	DataHits, DataMisses   int64 // of blocks with cells
}

// HitRate is the share of look-ups that found their block, 0 without look-ups.
func (c CacheStats) HitRate() float64 {
	if c.Hits == 0 {
		return 0
	}
	return float64(c.Hits) / float64(c.Hits+c.Misses)
}

// MemoryStats are bytes that the engine holds, by kind.
type MemoryStats struct {
	Memtables int64 // writes that are not in a file yet
	Cache     int64 // blocks, indexes and filters
	Readers   int64 // metadata of open files outside the cache
}

// Total is all of them.
func (m MemoryStats) Total() int64 { return m.Memtables + m.Cache + m.Readers }

// FilterStats count look-ups in the row filters of files. Useful are the look-ups whose
// filter made reading the file unnecessary.
type FilterStats struct{ Checked, Useful int64 }

// StallStats are of writes that the engine held up, because flushes or compactions did
// not keep up with them.
type StallStats struct {
	State   StallState    // now
	Rate    int64         // bytes a second that a delayed store lets in; 0 otherwise
	Waiting int64         // writes that wait now
	Count   int64         // writes that have waited
	Time    time.Duration // the sum of their waits
}

// A StallState says whether a store takes writes.
type StallState uint8

// The states.
const (
	NotStalled StallState = iota
	Delayed               // writes are slowed down
	Stopped               // no write is taken
)

// String is "none", "delayed" or "stopped".
func (s StallState) String() string {
	switch s {
	case Delayed:
		return "delayed"
	case Stopped:
		return "stopped"
	}
	return "none"
}

// LogStats are of the write-ahead log.
type LogStats struct {
	Bytes   int64 // in its files now
	Kept    int64 // in further files, kept only for their changes, and of loads for standbys
	Written int64
	Syncs   int64
}

// WorkStats are of the engine's background work.
type WorkStats struct {
	Flushes, Compactions               int64
	RunningFlushes, RunningCompactions int64
	FlushedBytes                       int64
	CompactedBytes                     int64 // written by compactions
	Expired                            int64 // cells that were dropped, since they were too old
	Errors                             int64 // after which the store may take no writes
	Refused                            error // of the last write; nil when the write was taken
}

// OpenStats count callers' open snapshots and cursors.
type OpenStats struct{ Snapshots, Cursors int64 }
