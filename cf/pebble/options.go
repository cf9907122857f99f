package pebble

import (
	"cmp"
	"context"
	"log/slog"
	"runtime"
	"time"

	engine "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Options say how a database is opened.
type Options struct {
	Memory    int64 // for the cache and the memtables; 0 is DefaultMemory
	Async     bool  // acknowledge writes once the operating system takes them
	Standby   bool  // the store follows another one, and commits nothing itself
	ReadOnly  bool
	MustExist bool
	InMemory  bool
	Logger    *slog.Logger
	FS        vfs.FS // for tests; nil is the disk
	// BackgroundRate is the number of bytes a second that all flushes and compactions
	// may write together; 0 is no bound.
	BackgroundRate int64
	// KeepExpired leaves expired cells, which no read returns, to Compact.
	KeepExpired bool
	// FileSize is the size in bytes at which a file ends and the next one begins; 0 is
	// Pebble's. Tests make it tiny to have many boundaries of files.
	FileSize int

	cache *engine.Cache   // of the views of a Follower
	ctx   context.Context // of a Refresh

	cleanPause time.Duration // for tests
}

// DefaultMemory is the memory when none is given, in bytes.
const DefaultMemory = 256 << 20

// cacheSize is the part of the memory that the cache takes, with the memtables: Pebble
// counts them as part of it. The rest is for all other memory.
func cacheSize(memory int64) int64 {
	memory = cmp.Or(memory, DefaultMemory)
	return memory - memory/writeShare
}

// pins is whether files can be removed while somebody reads them.
const pins = runtime.GOOS != "windows"

const (
	blockSize   = 16 << 10
	filterBits  = 10
	writeShare  = 4 // 1/writeShare of the memory is for memtables
	minMemtable = 1 << 20
	maxMemtable = 64 << 20
	memtables   = 2 // of maxMemtable each; at most twice as many until writes wait
)

// formatMajor is Pebble's version of the format of files. A newer one needs a newer smolwc:
// docs/format.md.
const formatMajor = engine.FormatValueSeparation
