// Package cf holds column families on an ordered store: the physical key of a cell, and
// the interface between the data model and an engine.
//
// A [Store] keeps declared families. A family is an ordered run of cells; their keys
// sort by row, then by qualifier, then newest version first. Reads come in blocks of
// cells, filtered where the data lies; writes are atomic batches over any rows and
// families. cf knows a cell as a row key, a qualifier, a timestamp in microseconds and
// the bytes of its value: it never sees a schema or a type, and nothing above it names
// an engine.
//
// Package cf/rocks is the store on RocksDB; package cf/cftest tests the promises of
// every store.
package cf

import (
	"context"
	"time"
)

// A Reader reads column families. All methods are safe for concurrent use, except that
// nothing may be called after Close. [ReadOnly] makes it a [Store] that refuses writes.
type Reader interface {
	// Limits are the engine's bounds. The layer above checks them before it writes, so
	// that every engine gives the same errors.
	Limits() Limits

	// Families lists the names of the families, sorted.
	Families() []string
	// Snapshot is a consistent view, across families, of everything written before the
	// call. The caller closes it.
	Snapshot(ctx context.Context) (Snapshot, error)

	// Read reads a scan of the newest state to its end, into a, which is a zero Answer.
	// It needs no snapshot, and is meant for reads of few cells. After an error only the
	// cost of the answer counts. The scan belongs to the caller, and stays as it is.
	Read(ctx context.Context, s *Scan, a *Answer) error

	// Begin starts a transaction on a snapshot of its own. The caller closes it. The
	// context must not end before the transaction. A
	// transaction of a Reader that is no Store cannot commit changes.
	Begin(ctx context.Context) (Txn, error)

	// Splits divides the rows of a range, of several families together, into up to n
	// parts of about the same size. It is cheap, and approximate where it would have to
	// read much data. There is at least one part; the last one ends where the range
	// ends.
	Splits(ctx context.Context, families []string, rows Range, n int) ([]Part, error)

	// Stats are figures of the store and its families.
	Stats(ctx context.Context) (Stats, error)

	// Close releases the store. Cursors and snapshots must be closed before.
	Close() error
}

// A Store is a [Reader] that also writes. All methods are safe for concurrent use,
// except that nothing may be called after Close.
type Store interface {
	Reader

	// CreateFamily makes empty families, one after the other; after an error the
	// earlier ones exist. It does nothing for a family that exists. One call for many
	// families takes much less time than one call for each.
	CreateFamily(ctx context.Context, names ...string) error
	// DropFamily removes families and their cells, one after the other, each in
	// constant time. Snapshots taken before may still read them. It does nothing for a
	// family that does not exist.
	DropFamily(ctx context.Context, names ...string) error

	// Update runs fn and commits its batch atomically. While fn runs, nothing else
	// changes any of the rows; its batch may touch no other row. The snapshot shows the
	// newest state of these rows in every family. It shows all other rows as of one
	// moment between the beginning of fn and its first read of another row. A store
	// need not know which families belong to a space: any row with the key of a named
	// row counts as named. An error of fn writes nothing and is returned as it is.
	// While the store takes no writes, Update waits without holding locks, until the
	// context ends at most, and then runs fn again. Write, DropRange and the commits of
	// transactions and ingestions do the same.
	Update(ctx context.Context, rows []RowID, fn func(Snapshot, *Batch) error) (Position, error)

	// Write runs fn and commits its batch atomically. It does not read: only Update of
	// one of the rows waits for it, and it waits only for Update. fn's batch may touch
	// no row that is not named. With nil rows, the rows that fn touches count as named;
	// fn is then not ordered with Updates of these rows; only the commit is. An error
	// of fn writes nothing and is returned as it is.
	Write(ctx context.Context, rows []RowID, fn func(*Batch) error) (Position, error)

	// PutMeta writes a catalog entry; fn of Update or Write may call it. It does not
	// wait while the store takes no writes: it returns a StallError. An fn that returns
	// this error runs again once the store takes writes.
	PutMeta(ctx context.Context, key string, value []byte) error

	// Ingest begins a load of more cells than a batch holds; they become visible
	// together. The caller closes it.
	Ingest(ctx context.Context) (Ingestion, error)

	// DropRange removes the cells of a range of rows from families. Snapshots taken
	// later do not see them. The cost does not depend on the number of cells.
	DropRange(ctx context.Context, families []string, rows Range) error

	// Flush writes a family's cells from memory to files. Compact rewrites a range of a
	// family's files, and so frees the space of dropped cells.
	Flush(ctx context.Context, family string) error
	Compact(ctx context.Context, family string, rows Range) error

	// SetExpiry says which cells of a family the store may drop; see [Expiry]. It
	// replaces the Expiry before it. A store opens with the zero Expiry.
	SetExpiry(family string, e Expiry) error

	// SetTuning says how the files of a family are written from now on. A store may
	// ignore settings that mean nothing to it. It replaces the Tuning before it. A
	// store opens with the zero Tuning.
	SetTuning(family string, t Tuning) error

	ChangeLog

	// EndWaits prepares for Close: everything that may take long fails with ErrClosed
	// from now on. These are writes that wait because the store takes no writes,
	// flushes, compactions and checks of files. Nothing that was written is lost.
	EndWaits()
}

// An Expiry allows the store to drop cells without a delete. The zero Expiry allows
// nothing.
type Expiry struct {
	// The store may drop cells with timestamps before Before whenever it rewrites them,
	// also from snapshots, and Compact drops them. When Before is lowered, it protects all
	// cells written after SetExpiry returns.
	Before int64
	// Catalog is the version of the catalog that allows it, for a [Shared] store: the store
	// drops nothing while the catalog is at another version.
	Catalog uint64
	// After Period the store rewrites data that nothing else rewrote, to drop expired cells
	// from it too; 0 is never.
	Period time.Duration
}

// A Tuning says how a family's files are written. The zero Tuning leaves it to the
// store.
type Tuning struct {
	Compression string // "none", "lz4" or "zstd"; "" is the store's choice
	BlockSize   int64  // bytes that are read and cached at once; 0 is the store's choice
	BlobMinSize int64  // values of this many bytes or more are stored apart from their keys; 0 is never
}

// A Snapshot is a consistent view of a store. It is safe for concurrent use.
type Snapshot interface {
	// Scan opens a cursor over one family. The caller closes it before the snapshot.
	Scan(ctx context.Context, s Scan) (Cursor, error)
	// Meta returns the catalog entry with this key, nil when there is no such entry.
	Meta(ctx context.Context, key string) ([]byte, error)
	// MetaPrefix returns the catalog entries whose keys start with prefix.
	MetaPrefix(ctx context.Context, prefix string) (map[string][]byte, error)
	Close()
}

// A Txn is an optimistic, serialisable transaction: it commits only if no other commit
// changed what it read since it began. Its scans see its own changes. It belongs to one
// goroutine.
type Txn interface {
	Snapshot
	// Read notes that rows of a space were read, even if they did not exist. Commits that
	// change these rows conflict with the transaction. So do drops and loads of a range
	// with one of these rows, in a family that the transaction scanned or wrote.
	Read(space string, rows Range)
	// Add makes the changes of a batch part of the transaction. The batch may have only
	// puts, merges and deletes of single cells. No cursor of the transaction may be
	// open.
	Add(b *Batch) error
	// Commit writes all changes, or none and returns ErrConflict. It ends the transaction,
	// as Close does without a commit. If there are changes without a conflict and last is
	// not nil, last runs before the write and may add changes. While it runs, nothing else
	// changes any row that was read or written. last may change only rows that the
	// transaction wrote. An error of last writes nothing and is returned as it is.
	Commit(ctx context.Context, last func(*Batch) error) (Position, error)
}

// A Cursor yields the cells of a scan in blocks. It belongs to one goroutine
// at a time.
type Cursor interface {
	// Next returns the next block, nil at the end. The block belongs to the caller and
	// is never changed. A context that is done ends the scan with its error.
	Next(ctx context.Context) (*Block, error)
	// Cost is the cost of the scan so far.
	Cost() Cost
	Close()
}

// A Position orders commits. A commit that began after another one returned gets a larger
// position, or the same one if it changed nothing.
type Position uint64

// A RowID names a row for locks: the space, which is a table to the layer above, and
// the row key in it.
type RowID struct{ Space, Row string }

// Limits are an engine's bounds, in bytes.
type Limits struct {
	RowKey, Qualifier, Value int
	// Batch bounds the size of one atomic batch, keys and values together.
	Batch int
}

// Cost counts the work of a read.
type Cost struct {
	Seeks        int64 // positionings of an engine's iterator
	RowsScanned  int64 // rows looked at, wanted or not
	CellsScanned int64 // cells looked at, wanted or not
	BytesScanned int64 // bytes of their keys and values
	Tombstones   int64 // deleted entries and marks of deletion that were skipped; see [Scan]
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
