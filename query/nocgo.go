//go:build !cgo

package query

import "github.com/smolwc/smolwc/query/internal/fault"

// HasEngine says whether [Open], [OpenInMemory] and [OpenReadOnly] work: whether this
// build has RocksDB. A build without cgo does not.
const HasEngine = false

// Open opens the database on RocksDB in a directory. This build has no cgo, and so no
// RocksDB: the error matches [ErrNoEngine].
func Open(string, Options) (*DB, error) { return nil, errNoEngine }

// OpenInMemory opens a new database on RocksDB in memory. This build has no cgo,
// and so no RocksDB: the error matches [ErrNoEngine].
func OpenInMemory(Options) (*DB, error) { return nil, errNoEngine }

var errNoEngine = fail("open", "", "", fault.Of(fault.FailedPrecondition, ErrNoEngine))

func releaseEngine() {}
