package cf

import (
	"context"
	"errors"
	"strings"
	"time"
)

// A store can have standbys: stores that begin as a copy of its files and apply each record
// of its log, at the same positions. So a standby contains the same families, with the same
// numbers, and the same loads.

// ErrDiverged: a record does not continue a standby's history, or needs something that the
// standby lacks for good. The standby must be rebuilt.
var ErrDiverged = errors.New("the standby does not fit the log")

type asyncKey struct{}

// Async makes the writes with a context return without waiting for a standby. A nil context
// stays nil.
func Async(ctx context.Context) context.Context {
	if ctx == nil {
		return nil
	}
	return context.WithValue(ctx, asyncKey{}, true)
}

// IsAsync reports whether a context is one of [Async].
func IsAsync(ctx context.Context) bool { return ctx.Value(asyncKey{}) != nil }

// A LogRecord is a record of the log: one or more batches that were written together.
type LogRecord struct {
	// After is the last position of the previous record, Last of this one.
	After, Last Position
	Data        []byte // in the engine's form
	// Time is when it was written, in microseconds since 1970 by the clock of [Dater.DateLog];
	// 0: the log does not say.
	Time int64
}

// A Dater is a [Shipper] whose log can say when its records were written.
type Dater interface {
	// DateLog dates each record from now on, until the store is closed. Several goroutines
	// call the clock at once.
	DateLog(clock func() time.Time)
}

// LoadedPrefix is the beginning of the key of a record about a load; see [Follower].
const LoadedPrefix = "standby/loaded/"

// ExpiryPrefix is the beginning of the keys of the catalog about the cells that families may drop, as an
// [Expiry] in JSON. A family's name follows.
const ExpiryPrefix = "standby/expiry/"

// EngineEntry reports whether an entry of the catalog is an engine's own, and not one of ExpiryPrefix: a
// record that changes it says more than that.
func EngineEntry(key string) bool {
	return strings.HasPrefix(key, "standby/") && !strings.HasPrefix(key, ExpiryPrefix) || strings.HasPrefix(key, "ingest/")
}

// A Shipper is a [Store] that standbys can follow.
type Shipper interface {
	Store
	Checkpointer

	// Ship keeps the log for standbys from now on, also when the store is opened again: the
	// newest bytes of it at least, whole files. The files of loads count. With an empty
	// history it ends that; with the same one it only changes how much is kept. Families
	// that are created and dropped, loads, and what [Store.SetExpiry] allows are written to
	// the log too. history names the store's course since Ship was first called: a copy of
	// the store starts without it.
	Ship(history string, bytes int64) error
	// Ships is the history; "" before Ship, and in a copy of the store.
	Ships() (history string)
	// Pin keeps the log after a position until release is called, whatever its size.
	Pin(at Position) (release func())

	// Log reads the records after a position. If the log does not reach back to it, or ends
	// before it, the error is ErrTrimmed; if no record ends there, it is ErrDiverged. The
	// caller closes the Log.
	Log(after Position) (Log, error)
	// Latest is the position of the newest commit.
	Latest() Position
	// LogSnapshot is a snapshot whose position is known. It waits for the commit of a load.
	// A store that applied the log up to this position and nothing else holds the same
	// cells, except for what [Shipper.DroppedBefore] allows. The caller closes it.
	LogSnapshot(ctx context.Context) (*LogSnapshot, error)
	// DroppedBefore: the store may have dropped cells of a family with timestamps before this
	// one without a delete, from snapshots too, since it was opened or, as its catalog
	// says, before. Of a family that is gone it may have dropped all cells.
	DroppedBefore(family string) int64
	// SyncLog syncs all commits up to Latest to the disk, and returns Latest as it was
	// before. If each write is synced, it does nothing else.
	SyncLog(ctx context.Context) (Position, error)
	// News is closed when a commit was made after the call.
	News() <-chan struct{}
	// Fence ends all writes: when it returns, no write is under way, and all later ones
	// fail with why. A load's commit that is under way still ends.
	Fence(why error)
	// Home is the directory of the store, "" of one in memory, and LoadDir is where the
	// files of a load in the log are.
	Home() string
	LoadDir(id string) (dir string, err error)
}

// A LogSnapshot is a snapshot with its position and the families of the store at that
// moment.
type LogSnapshot struct {
	Snapshot
	At       Position
	Families []string // sorted
}

// A Log reads records. It belongs to one goroutine.
type Log interface {
	// Next is the next record, nil at the end of the log: a later call looks again. It
	// does not wait.
	Next(ctx context.Context) (*LogRecord, error)
	// Behind is the number of bytes of the log after the last record that Next gave.
	Behind() int64
	Close()
}

// A Follower is a [Shipper] that follows another one and commits nothing itself. Its
// methods belong to one goroutine, those of Shipper to any.
type Follower interface {
	Shipper
	// Skip makes a position the one of the newest commit, without a record. It is not below Latest, and
	// nobody follows the store.
	Skip(ctx context.Context, to Position) error
	// LastRecords are the last records that were applied unchanged, one after the other, the
	// last one last: enough to tell two logs apart.
	LastRecords(ctx context.Context) ([]*LogRecord, error)
	// Prepare says what applying a record needs, and does the part of the work that reads
	// need not wait for. The error is ErrDiverged if the record does not continue the log.
	Prepare(ctx context.Context, r *LogRecord) (Need, error)
	// Apply applies a record. It is on the disk after the next SyncLog. After an error
	// it can be called again with the same record, also when the store was opened anew.
	Apply(ctx context.Context, r *LogRecord) error
	// Ops calls fn for each change of a record. Family is "" for an entry of the catalog,
	// and lacks a slash if the family is gone. The entry with LoadedPrefix and the id of a
	// load says that its cells, which are not in the log, become visible.
	Ops(r *LogRecord, fn func(op *LoggedOp) error) error
	// Loading reports whether cells of a load are visible whose end the log may not have.
	Loading(ctx context.Context) (bool, error)
	// Promote makes the store one that does not follow: the methods of Follower must not be
	// called again. begin runs when the store takes writes, before any other write. Then
	// the loads that the log began are ended. async says whether a write is acknowledged
	// before it is synced. After an error the store must be closed.
	Promote(ctx context.Context, async bool, begin func() error) error
	// TrimLog removes the parts of the log that are kept for nobody.
	TrimLog() error
}

// A Need must be met before a record is applied.
type Need struct {
	// Catalog: the record changes the catalog or the families. No read may have a
	// snapshot from before the record, and the catalog from after it.
	Catalog bool
	// Load is the load that becomes visible with the record, "" for none. Files are its
	// files, which must be in Dir.
	Load, Dir string
	Files     []string
}
