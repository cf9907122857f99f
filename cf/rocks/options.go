//go:build cgo && linux && !norocksdb

package rocks

import (
	"log/slog"
	"math"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/linxGnu/grocksdb"

	"github.com/smolwc/smolwc/cf/rocks/internal/callbacks"
	"github.com/smolwc/smolwc/cf/rocks/internal/files"
	"github.com/smolwc/smolwc/cf/rocks/internal/native"
	"github.com/smolwc/smolwc/cf/rocks/internal/recovery"
	"github.com/smolwc/smolwc/cf/rocks/internal/scan"
)

// Options say how a database is opened. The zero value opens a durable database with
// [DefaultMemory], and creates it if it does not exist.
type Options struct {
	// Memory is the budget in bytes for the block cache and the write
	// buffers of all families together; 0 is DefaultMemory.
	Memory int64
	// Async acknowledges a write before it is synced to the disk. A crash of the
	// process loses nothing; a crash of the machine loses the last moments.
	Async bool
	// ReadOnly opens without writing anything; another process may write the database.
	ReadOnly bool
	// MustExist refuses to create a database.
	MustExist bool
	// Standby opens a store that follows another one: see cf.Follower.
	Standby bool
	// InMemory keeps all files in memory; they are gone at Close.
	InMemory bool
	// BackgroundRate is the number of bytes a second that all flushes and compactions
	// together may write; 0 is no limit.
	BackgroundRate int64
	// Logger logs events for an operator; nil discards them.
	Logger *slog.Logger
	// FileSize is the size in bytes at which a file ends and the next one begins; 0 is
	// the engine's 64 MiB. Tests make it tiny to have many boundaries of files.
	FileSize int
}

// DefaultMemory is the memory budget when none is given, in bytes.
const DefaultMemory = 256 << 20

const (
	blockSize        = 16 << 10
	filterBits       = 10 // per key: about 1 % false positives
	ribbonFrom       = 1  // ribbon filters from this level on, Bloom filters at level 0
	writeShare       = 4  // 1/writeShare of the memory is for write buffers
	minMemtable      = 1 << 20
	maxMemtable      = 64 << 20
	minArena         = 4 << 10  // the least that an empty family's write buffer takes
	maxArena         = 64 << 10 // the most; the buffer's row filter takes the same again
	bytesPerSync     = 1 << 20
	openingThreads   = 2        // for each family; families are opened one after another
	deletionWindow   = 1024     // consecutive entries of a file
	deletionRun      = 512      // deletions among them
	manifestInMemory = 64 << 10 // each flush appends to the manifest
	refillMicros     = 100_000  // how often the rate limiter grants bytes
	rateFairness     = 10       // one grant in this many goes to compactions before flushes
)

func (o Options) memory() int64 {
	if o.Memory == 0 {
		return DefaultMemory
	}
	return o.Memory
}

// engine is shared by the families of one database.
type engine struct {
	cache *grocksdb.Cache
	db    *grocksdb.Options
	table *grocksdb.BlockBasedTableOptions
	data  *grocksdb.Options // of a declared family
	logs  *files.System
	found *recovery.Found // found before the open; nil for a new database

	holding *files.Held // files that a reader keeps; nil for a writer
}

// newEngine makes the options and divides the memory. A quarter is for all write
// buffers together. The rest is for one block cache, which also holds indexes and
// filters. So memory grows neither with the number of families nor with the data.
func newEngine(o Options) *engine {
	buffers := uint64(o.memory() / writeShare)
	e := &engine{cache: scan.NewCache(uint64(o.memory()) - buffers)}
	e.db = grocksdb.NewDefaultOptions()
	e.db.SetCreateIfMissing(!o.MustExist)
	e.db.SetDbWriteBufferSize(buffers)
	e.db.SetMaxBackgroundJobs(max(2, runtime.GOMAXPROCS(0)))
	e.db.SetStatsDumpPeriodSec(0)
	e.db.SetWALRecoveryMode(grocksdb.TolerateCorruptedTailRecordsRecovery) // recovery.Check finds other damage
	e.db.SetMaxFileOpeningThreads(openingThreads)
	e.db.EnableStatistics()
	if o.BackgroundRate > 0 {
		e.db.SetRateLimiter(grocksdb.NewRateLimiter(o.BackgroundRate, refillMicros, rateFairness))
	}
	e.db.SetBytesPerSync(bytesPerSync)
	e.db.SetWALBytesPerSync(bytesPerSync)
	e.db.SetMaxTotalWalSize(mostLogs(buffers, o.InMemory))
	if o.InMemory {
		e.db.SetMaxManifestFileSize(manifestInMemory)
	}
	e.db.SetWriteBufferSize(memtableSize(buffers))
	e.logs = files.New(e.db, o.InMemory, scan.BlockRefused())
	e.table = newTableOptions(e.cache)
	e.data = e.db.Clone()
	if o.FileSize > 0 {
		e.data.SetTargetFileSizeBase(uint64(o.FileSize))
		e.table.SetBlockSize(min(blockSize, o.FileSize)) // files end where blocks do
		e.table.SetMetadataBlockSize(uint64(min(blockSize, o.FileSize)))
	}
	setDataOptions(e.data, e.table, buffers)
	// By default the engine gives a family with a compaction filter a period of 30
	// days. Level 1 of zstd makes files as small as level 3, the engine's default, in
	// less time.
	if err := native.SetOptions(e.data, "periodic_compaction_seconds=0;compression_opts={level=1}"); err != nil {
		panic(err) // a version of the engine that does not know the options
	}
	return e
}

// manyTables is the number of table files from which on they are opened when they are
// read first.
var manyTables = 1000 // a test lowers it

// openLate lets a database with many table files open few of them at its beginning. By
// default the engine opens all, with six reads each, and looks up no reader later: that
// makes reads quicker. A quarter of the files that the process may have open is left for
// logs, new tables and connections. A reader beside a writer opens all files, which may be
// removed.
func (e *engine) openLate(dir string, o Options) {
	if o.InMemory || o.ReadOnly {
		return
	}
	if tables, _ := filepath.Glob(filepath.Join(dir, "*.sst")); len(tables) >= manyTables { // the pattern is sound
		limit := syscall.Rlimit{Cur: math.MaxInt32}
		_ = syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) // without it the engine finds the limit, and leaves nothing
		e.db.SetMaxOpenFiles(int(min(limit.Cur, math.MaxInt32) / 4 * 3))
		e.db.SetSkipStatsUpdateOnDBOpen(true)
	}
}

func newTableOptions(cache *grocksdb.Cache) *grocksdb.BlockBasedTableOptions {
	t := grocksdb.NewDefaultBlockBasedTableOptions()
	t.SetBlockCache(cache)
	t.SetBlockSize(blockSize)
	t.SetFormatVersion(5)
	t.SetFilterPolicy(grocksdb.NewRibbonHybridFilterPolicy(filterBits, ribbonFrom))
	t.SetWholeKeyFiltering(false) // reads ask for rows, which are prefixes
	t.SetCacheIndexAndFilterBlocks(true)
	t.SetCacheIndexAndFilterBlocksWithHighPriority(true)
	t.SetPinL0FilterAndIndexBlocksInCache(true)
	// Filters and indexes are cached in parts. The whole filter of a file with many
	// small rows is larger than a shard of the cache: the cache would never hold it,
	// and every get would read it again.
	t.SetIndexType(grocksdb.KTwoLevelIndexSearchIndexType)
	t.SetPartitionFilters(true)
	t.SetMetadataBlockSize(blockSize)
	t.SetPinTopLevelIndexAndFilter(true)
	return t
}

// mostLogs is the size of all logs from which the families that need the oldest one are
// flushed. Logs in memory are beside the memory budget.
func mostLogs(buffers uint64, inMemory bool) uint64 {
	if inMemory {
		return max(buffers, maxMemtable/4)
	}
	return 4 * max(buffers, maxMemtable)
}

func memtableSize(buffers uint64) uint64 { return min(max(buffers/2, minMemtable), maxMemtable) }

func setDataOptions(o *grocksdb.Options, table *grocksdb.BlockBasedTableOptions, buffers uint64) {
	o.SetBlockBasedTableFactory(table)
	callbacks.SetRowPrefix(o)
	callbacks.SetMergeOperator(o)
	memtable := memtableSize(buffers)
	o.SetWriteBufferSize(memtable)
	// Each family allocates these when it is opened: a thousand families take the whole
	// budget.
	arena := min(max(buffers/1000, minArena), maxArena)
	o.SetArenaBlockSize(arena)
	o.SetMemTablePrefixBloomSizeRatio(float64(arena) / float64(memtable))
	o.SetMaxWriteBufferNumber(maxMemtables)
	// A file with this many deletions in one window is compacted soon, even if the
	// levels are balanced: reads must step over each deletion.
	o.AddCompactOnDeletionCollectorFactory(deletionWindow, deletionRun)
	o.SetLevelCompactionDynamicLevelBytes(true)
	o.SetCompression(grocksdb.LZ4Compression)
	o.SetBottommostCompression(grocksdb.ZSTDCompression)
}

func (e *engine) destroy() {
	e.data.Destroy()
	e.table.Destroy()
	e.db.Destroy()
	e.cache.Destroy()
	e.logs.Free()
	e.holding.Free()
}
