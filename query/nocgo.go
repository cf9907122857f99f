//go:build !cgo

package query

// HasEngine says whether [Open] and its kin work: whether this build has RocksDB. One
// without cgo has not.
const HasEngine = false

// Open opens the database on RocksDB in a directory. This build is one without cgo, and
// so without RocksDB: the error matches [ErrNoEngine].
func Open(string, Options) (*DB, error) { return nil, errNoEngine }

// OpenInMemory opens a new database on RocksDB in memory. This build is one without
// cgo, and so without RocksDB: the error matches [ErrNoEngine].
func OpenInMemory(Options) (*DB, error) { return nil, errNoEngine }

var errNoEngine = fail("open", "", "", &fault{KindFailedPrecondition, ErrNoEngine})

func releaseEngine() {}
