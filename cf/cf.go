// Package cf holds column families on an ordered store: the physical cell key,
// and the seam between the data model and an engine.
//
// A [Store] keeps declared families, each an ordered run of cells whose keys
// sort by row, then qualifier, then newest version first. Reads come in blocks
// of cells, filtered where the data lies; writes are atomic batches over any
// rows and families. cf knows a cell as a row key, a qualifier, a timestamp in
// microseconds and the bytes of its value: it never sees a schema or a type,
// and nothing above it names an engine.
//
// Package cf/rocks is the store on RocksDB; package cf/cftest is the suite
// that every store has to pass.
package cf

import (
	"context"
	"time"
)

// A Reader is an engine that gives what column families hold. All methods are safe
// for concurrent use, except that nothing may be called after Close. [ReadOnly] makes
// a [Store] of it that refuses writes.
type Reader interface {
	// Limits are the engine's bounds. The layer above checks them before it
	// writes, so that errors are the same on every engine.
	Limits() Limits

	// Families lists the names of the families there are, sorted.
	Families() []string
	// Snapshot is a view of everything written before the call, consistent
	// across families. It must be closed.
	Snapshot(ctx context.Context) (Snapshot, error)

	// Read returns all blocks that a scan of the newest state yields, for reads
	// of few cells: it does without a snapshot.
	Read(ctx context.Context, s Scan) ([]*Block, Cost, error)

	// Begin starts a transaction on a snapshot of its own. It must be closed.
	// One of a mere Reader reads, and cannot commit changes.
	Begin(ctx context.Context) (Txn, error)

	// Splits divides the rows of a range, of some families together, into up
	// to n parts of about the same size. It is cheap, and approximate where
	// much data would have to be read. There is at least one part; the last
	// ends where the range does.
	Splits(ctx context.Context, families []string, rows Range, n int) ([]Part, error)

	// Stats are what the store knows of its families and of itself.
	Stats(ctx context.Context) (Stats, error)

	// Close releases the store. Cursors and snapshots must be closed before.
	Close() error
}

// A Store is an engine that keeps column families: a [Reader] that also writes. All
// methods are safe for concurrent use, except that nothing may be called after Close.
type Store interface {
	Reader

	// CreateFamily makes empty families, one after the other: an error leaves
	// those before. It does nothing for one that exists. Many at once take much
	// less time than one by one.
	CreateFamily(ctx context.Context, names ...string) error
	// DropFamily removes families and their cells in constant time each, one
	// after the other. Snapshots taken before may still read them. It does
	// nothing for one that does not exist.
	DropFamily(ctx context.Context, names ...string) error

	// Update runs fn and commits its batch atomically. fn runs while
	// nothing else changes any of the rows, and its batch may touch no
	// other row. Its snapshot shows the newest state of these rows, in every
	// family, and everything else as of one moment, which is not before fn
	// begins and not after fn first reads any of it. A store need not know
	// which families belong to a space: a row with the key of a named one
	// counts as named. An error of fn writes nothing and is returned as it
	// is. While the store takes no writes, the update waits until the context
	// ends, holds nobody up meanwhile, and runs fn again then: so do Write,
	// DropRange and the commits of transactions and ingestions with what they
	// run.
	Update(ctx context.Context, rows []RowID, fn func(Snapshot, *Batch) error) (Position, error)

	// Write runs fn and commits its batch atomically. It does not look at
	// what is there: only an Update of one of the rows waits for it, or it
	// for the Update. fn's batch may touch no row that is not named; where
	// the order of fn among those Updates does not matter, nil names the
	// rows that it turns out to touch. An error of fn writes nothing and is
	// returned as it is.
	Write(ctx context.Context, rows []RowID, fn func(*Batch) error) (Position, error)

	// PutMeta writes a catalog entry, from within fn of Update or Write as
	// well. It does not wait while the store takes no writes: it returns a
	// StallError, and an fn that returns that runs again when it does.
	PutMeta(ctx context.Context, key string, value []byte) error

	// Ingest begins a load of more cells than a batch holds, which become
	// visible together. It must be closed.
	Ingest(ctx context.Context) (Ingestion, error)

	// DropRange removes the cells of a range of rows from families. It
	// promises that snapshots taken later do not see them; the cost does
	// not depend on how many there are.
	DropRange(ctx context.Context, families []string, rows Range) error

	// Flush writes what memory holds of a family to its files; Compact
	// rewrites a range of a family's files, giving the space of dropped
	// cells back.
	Flush(ctx context.Context, family string) error
	Compact(ctx context.Context, family string, rows Range) error

	// SetExpiry says which cells of a family the store may drop; see
	// [Expiry]. It replaces what was said before, and a store that is
	// opened begins with the zero Expiry.
	SetExpiry(family string, e Expiry) error

	// SetTuning says how the files of a family are written from now on. A
	// store may pass over what it has no use for. What was said before is
	// replaced, and a store that is opened begins with the zero Tuning.
	SetTuning(family string, t Tuning) error

	ChangeLog

	// EndWaits makes what may take long fail with ErrClosed, now and from now
	// on: writes that wait since the store takes none, flushes, compactions,
	// checks of files. A Close is to follow. What has been written is kept
	// all the same.
	EndWaits()
}

// An Expiry is leave to drop cells without a delete. The zero Expiry gives none.
type Expiry struct {
	// Before: the store may drop cells with lesser timestamps whenever it
	// rewrites them, from snapshots too, and drops those that Compact
	// comes by. When Before is lowered, what is written after SetExpiry
	// has returned is safe from the old one.
	Before int64
	// Period is the time after which the store rewrites data that nothing
	// else touches, so that cells in it are dropped at last; 0 is never.
	Period time.Duration
}

// A Tuning is how a family's files are written. The zero Tuning leaves it to the
// store.
type Tuning struct {
	Compression string // "none", "lz4" or "zstd"; "" is the store's choice
	BlockSize   int64  // bytes that are read and cached at once; 0 likewise
	BlobMinSize int64  // values of so many bytes or more are kept apart; 0 is never
}

// A Snapshot is a consistent view of a store. It is safe for concurrent use.
type Snapshot interface {
	// Scan opens a cursor over one family. It must be closed before the
	// snapshot.
	Scan(ctx context.Context, s Scan) (Cursor, error)
	// Meta returns the catalog entry with this key, nil when there is none.
	Meta(ctx context.Context, key string) ([]byte, error)
	// MetaPrefix returns the catalog entries whose keys start with prefix.
	MetaPrefix(ctx context.Context, prefix string) (map[string][]byte, error)
	Close()
}

// A Txn is an optimistic transaction, serialisable: it commits only if nothing
// that it read has been changed by another commit since it began. Its scans see
// its own changes. It belongs to one goroutine.
type Txn interface {
	Snapshot
	// Read notes that rows of a space were read, whether they were there or
	// not. They conflict with commits that change them, and with drops and
	// loads of a range that they are in, in a family that the transaction has
	// scanned or written.
	Read(space string, rows Range)
	// Add makes the changes of a batch part of the transaction; puts and
	// deletes of single cells alone. No cursor of the transaction may be
	// open.
	Add(b *Batch) error
	// Commit writes all changes, or none and returns ErrConflict. It ends
	// the transaction, as Close does without a commit. last, unless it is nil,
	// adds to changes that do not conflict, while nothing else changes any of
	// the rows that were read or written, and may touch no other row. An error
	// of last writes nothing and is returned as it is. It is not called where
	// there are no changes.
	Commit(ctx context.Context, last func(*Batch) error) (Position, error)
}

// A Cursor yields the cells of a scan in blocks. It belongs to one goroutine
// at a time.
type Cursor interface {
	// Next returns the next block, nil at the end. The block is the
	// caller's for good: it is never written again. A context that is done
	// ends the scan with its error.
	Next(ctx context.Context) (*Block, error)
	// Cost is what the scan has cost so far.
	Cost() Cost
	Close()
}

// A Position orders commits: one that began after another had returned has a
// larger position, or the same if it changed nothing.
type Position uint64

// A RowID names a row for serialising updates: a space, which is a table to
// the layer above, and the row key in it.
type RowID struct{ Space, Row string }

// Limits are an engine's bounds, in bytes.
type Limits struct {
	RowKey, Qualifier, Value int
	// Batch bounds the size of one atomic batch, keys and values together.
	Batch int
}

// Cost counts what a read did.
type Cost struct {
	Seeks        int64 // positionings of an engine's iterator
	RowsScanned  int64 // rows looked at, wanted or not
	CellsScanned int64 // cells looked at, wanted or not
	BytesScanned int64 // bytes of their keys and values
	Tombstones   int64 // deleted entries, and marks of deletion, passed over; see [Scan]
	Cells        int64 // cells returned, or counted
	Rows         int64 // rows returned
	Bytes        int64 // bytes of row keys, qualifiers and values returned
}

// Add adds the counters of d to c.
func (c *Cost) Add(d Cost) {
	c.Seeks += d.Seeks
	c.RowsScanned += d.RowsScanned
	c.Tombstones += d.Tombstones
	c.CellsScanned += d.CellsScanned
	c.BytesScanned += d.BytesScanned
	c.Cells += d.Cells
	c.Rows += d.Rows
	c.Bytes += d.Bytes
}
