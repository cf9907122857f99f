package cf

import (
	"context"
	"errors"
)

// A Shared is a [Store] that several processes may have open and write at the same time.
//
// The layer above keeps its schema in the catalog, and a copy of it in each process. The
// catalog's version keeps a process from writing under a schema that another one changed. A
// batch can raise it, and a batch can demand it: see [Batch.RaiseCatalog] and
// [Batch.UnderCatalog]; [Scan] demands it of reads without a snapshot. The snapshots of the
// store, those given to Update and its transactions among them, are [Versioned].
//
// The store also gives the timestamps of cells: see [Batch.Stamp].
type Shared interface {
	Store
	// Now is the store's clock in microseconds since 1970. No call, in any process,
	// gets less than a call that returned before it began.
	Now(ctx context.Context) (int64, error)
	// TimeOf is when a commit was made, by this clock, ascending with the positions. All
	// commits earlier than the time that Now gives are in the log when it is read after Now
	// returns.
	TimeOf(Position) int64
}

// A Behind is a [Shared] store that receives another process's writes, a little later,
// with its log. The commits in the log carry that process's notes.
type Behind interface {
	Shared
	// Version is the catalog's current version. An error says why nothing may be read any
	// longer.
	Version() (uint64, error)
	// News is closed when there is more in the log than there was at the call.
	News() <-chan struct{}
	// Latest is the position of the newest change.
	Latest() Position
	// Settled is a time, in microseconds since 1970, such that all commits with earlier
	// timestamps are in the log, and no later commit will have an earlier one; 0 if it is
	// not known.
	Settled() int64
	// Ships is the name of the history that the log is of.
	Ships() string
}

// A Versioned is a [Snapshot] that knows the version of the catalog in it.
type Versioned interface {
	CatalogVersion(ctx context.Context) (uint64, error)
}

// A Stamper is a [Txn] of a [Shared] store. Stamp is [Batch.Stamp] for a row of the
// transaction, which must also have [Txn.Read] it: if another commit gave the row
// timestamps since the transaction began, the transaction conflicts.
type Stamper interface {
	Stamp(ctx context.Context, row RowID) (int64, error)
}

// ErrCatalogChanged: the catalog does not have the version that a batch or a read demands.
// Nothing was written.
var ErrCatalogChanged = errors.New("the schema was changed meanwhile")

// sharing is the part of a batch that only a [Shared] store uses.
type sharing struct {
	version uint64
	demands bool
	raises  bool
	stamp   func(RowID) int64
}

// UnderCatalog demands a version of the catalog: if it is another one when the batch is
// committed, nothing is written and the error is [ErrCatalogChanged]. A batch that raises
// the version demands the one before.
func (b *Batch) UnderCatalog(version uint64) { b.sharing.version, b.sharing.demands = version, true }

// DemandsCatalog is the version that the batch demands, if it demands one.
func (b *Batch) DemandsCatalog() (version uint64, ok bool) {
	return b.sharing.version, b.sharing.demands
}

// RaiseCatalog adds one to the version of the catalog.
func (b *Batch) RaiseCatalog() { b.sharing.raises = true }

// RaisesCatalog reports whether the batch adds one to the version of the catalog.
func (b *Batch) RaisesCatalog() bool { return b.sharing.raises }

// Stamp is a timestamp for new cells of the row that [Batch.Row] named last, in
// microseconds. It is greater than all that Stamp gave for this row before, in any
// process. ok is false if the store gives no timestamps, as one that is not [Shared].
func (b *Batch) Stamp() (ts int64, ok bool) {
	if b.sharing.stamp == nil || len(b.rows) == 0 {
		return 0, false
	}
	return b.sharing.stamp(b.rows[len(b.rows)-1]), true
}

// SetStamps is for a [Shared] store, which calls it before it hands out the batch: stamp
// gives the timestamps of a row.
func (b *Batch) SetStamps(stamp func(RowID) int64) { b.sharing.stamp = stamp }
