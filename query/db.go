// Package query is smolwc's Go API: Bigtable's data model on an embedded
// store.
//
// A database holds tables; a table holds rows, ordered by row key; a row holds cells in
// declared column families. Each cell consists of a qualifier, which needs no declaration,
// a timestamp in microseconds as its version, and a typed value (package cells). Retention
// rules (package schema) hide and drop cells by number and age.
//
// [Open] opens a database in a directory, [OpenStore] one on another store, and
// [DB.Table] gives a table; [Table.Apply] writes a [write.Mutation] of one row
// atomically, [Table.ReadRow] and [Table.ReadRows] read.
// [RowsInto] makes structs of rows, and [MutationFrom] a mutation of a struct. Packages read
// and write have all options and changes, package views runs SQL.
// Every read sees one consistent snapshot. Writes are on disk when they return,
// unless [DurabilityAsync] is asked for.
//
// A DB and its Tables are safe for concurrent use. Errors are of type [*Error].
package query

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/internal/lock"
	"github.com/smolwc/smolwc/query/internal/alter"
	"github.com/smolwc/smolwc/query/internal/edit"
	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/query/internal/state"
	"github.com/smolwc/smolwc/query/plumbing"
	"github.com/smolwc/smolwc/schema"
)

// Durability says when a write is acknowledged.
type Durability int

const (
	// DurabilitySync acknowledges a write when it is on the disk: it survives the
	// loss of power.
	DurabilitySync Durability = iota
	// DurabilityAsync acknowledges a write when the operating system takes it: it survives
	// a crash of the process, but not of the machine.
	DurabilityAsync
)

// Options say how a database is opened. The zero value opens a durable database with its
// present schema.
type Options struct {
	// Schema is declared as [DB.Declare] does it: missing tables and families are created,
	// and retention is relaxed where the declaration changed. Opening drops and hides
	// nothing: it does not make retention stricter, but logs a warning. A program that
	// wants to see or apply such changes calls Declare itself. nil changes nothing.
	Schema *schema.Schema
	// Engine is the engine of a new database; "" is [DefaultEngine]. An existing database
	// names its engine itself: an Engine that differs is an error.
	Engine Engine
	// Durability applies to every write.
	Durability Durability
	// Memory is the budget in bytes for block cache and write buffers
	// together; 0 is 256 MiB.
	Memory int64
	// BackgroundRate is how many bytes a second the engine may write in the
	// background, in flushes and compactions together; 0 is no bound. A lower
	// rate leaves more of a slow disk to reads, but stalls writes when they
	// exceed it for long.
	BackgroundRate int64
	// ReadOnly opens only for reads. Schema must then be nil.
	ReadOnly bool
	// MustExist refuses to create a database.
	MustExist bool
	// GCInterval is how often surplus versions are removed in the
	// background, as [DB.GC] does; 0 is once a day, less than 0 never. Less than 0 also
	// leaves expired cells on Pebble until their table is compacted.
	GCInterval time.Duration
	// KeepDeleted is how long a table is kept that a plan deletes, see
	// [schema.DeleteTable]; 0 is 7 days, less than 0 is not at all. Of many deleted
	// tables those that were deleted last are kept, with up to 32 families together, or
	// 8 in a database in memory: each family of the store makes it slower to create
	// another one. The table that was deleted last is always kept.
	KeepDeleted time.Duration
	// DeletedBytes bounds the size of the files of all deleted tables together; 0 is no
	// bound. A deletion that exceeds it removes tables that were deleted before, the
	// oldest first.
	DeletedBytes int64
	// Clock is the wall clock; nil is time.Now or, in a store that several processes
	// write, the clock of the store. It is called by many goroutines.
	Clock func() time.Time
	// ClockGoesBack is for tests whose Clock is set back: the next timestamps then follow
	// the earlier time, and may be in rows already. Without it, and always in a store that
	// several processes write, timestamps ascend for the life of the database.
	ClockGoesBack bool
	// Logger gets messages for an operator; nil discards them.
	Logger *slog.Logger
	// Standbys is for package standby; nil is a database without standbys.
	Standbys *plumbing.Standbys
}

// A DB is an open database.
type DB struct {
	state *state.DB

	limits   cf.Limits
	memory   int64   // Options.Memory
	loading  lock.RW // held while a bulk load is committed
	janitor  janitor
	close    sync.Once
	closed   atomic.Bool          // set when Close begins
	freezing lock.RW              // one Freeze at a time
	checks   lock.Keyed[cf.RowID] // rows whose predicates are slow
	deferred edit.Deferred
	surplus  atomic.Int64 // cells that collections have deleted
	held     sync.Map     // of [plumbing.DB.Held]
}

// OpenStore opens the database that a store holds, and creates one in an empty store.
// It is the way to an engine other than RocksDB. The store must keep the promises of
// package cf, which package cf/cftest tests.
//
// The database owns the store: nothing else may use it, and [DB.Close] closes it. When
// OpenStore fails, the store stays open and belongs to the caller. The engine itself
// keeps other processes from opening the store; OpenStore takes no lock and writes no
// marker.
//
// If the store is a [cf.Shared] one, several processes may have its database open and
// write it. Each read and each write is made under the schema that is in force at that
// moment, whichever process changed it last. While one of them changes the schema, the
// writes of all others wait. If it dies meanwhile, another one ends the change after some
// ten seconds. The timestamps of a row ascend across processes, whatever their clocks say.
//
// Durability, BackgroundRate and Engine are settings of the store: set them where it is
// opened, and leave them zero here. Memory bounds what bulk loads sort at once. A store
// that is written is a [cf.Store]; with ReadOnly a [cf.Reader] is enough, and a [cf.Store]
// is not written. The store may also implement [cf.Checker], [cf.DropTeller] and
// [cf.Refresher]. The database is without a directory ([DB.Dir]), so [DB.Checkpoint]
// fails with kind [KindFailedPrecondition].
func OpenStore(ctx context.Context, store cf.Reader, o Options) (*DB, error) {
	const op = "open store"
	switch {
	case ctx == nil:
		return nil, fail(op, "", "", errNoContext)
	case store == nil:
		return nil, fail(op, "", "", fault.Given("store", false))
	case o.Durability != DurabilitySync || o.BackgroundRate != 0 || o.Engine != "":
		return nil, fail(op, "", "", fault.Errorf(fault.InvalidArgument, "durability, background rate and engine are settings of the store; open the store with them"))
	}
	if _, writes := store.(cf.Store); !writes && !o.ReadOnly {
		return nil, fail(op, "", "", fault.Errorf(fault.InvalidArgument, "the store can only be read, since it is not a cf.Store; open it with ReadOnly"))
	}
	if err := o.validate(); err != nil {
		return nil, fail(op, "", "", err)
	}
	o.MustExist = o.MustExist || o.ReadOnly
	db, err := newDB(ctx, store, o, 0, "")
	if err != nil {
		return nil, fail(op, "", "", err)
	}
	return db, nil
}

// The least that Options.Memory and BackgroundRate may be, unless they are 0.
const (
	minMemory         = 16 << 20
	minBackgroundRate = 1 << 20
)

const (
	defaultMemory      = 256 << 20
	defaultKeepDeleted = 7 * 24 * time.Hour
	deletedFamilies    = 32
	deletedInMemory    = 8
)

func (o *Options) validate() error {
	switch {
	case o.Memory != 0 && o.Memory < minMemory:
		return fault.Errorf(fault.InvalidArgument, "memory of %d bytes is too little; the least is %d", o.Memory, minMemory)
	case o.BackgroundRate != 0 && o.BackgroundRate < minBackgroundRate:
		return fault.Errorf(fault.InvalidArgument, "background rate of %d bytes a second is too little; the least is %d", o.BackgroundRate, minBackgroundRate)
	case o.Engine != "" && o.Engine != EngineRocksDB && o.Engine != EnginePebble:
		return fault.Errorf(fault.InvalidArgument, "unknown engine %q; there are %s and %s", o.Engine, EngineRocksDB, EnginePebble)
	case o.DeletedBytes < 0:
		return fault.Errorf(fault.InvalidArgument, "a bound of %d bytes for deleted tables is negative", o.DeletedBytes)
	case o.Durability != DurabilitySync && o.Durability != DurabilityAsync:
		return fault.Errorf(fault.InvalidArgument, "unknown durability %d", o.Durability)
	case o.ReadOnly && o.Schema != nil:
		return fault.Errorf(fault.InvalidArgument, "a schema cannot be declared for a database that is opened read-only")
	case o.Schema != nil:
		if err := o.Schema.Validate(); err != nil {
			return fault.Of(fault.InvalidArgument, err)
		}
	}
	return nil
}

func newDB(ctx context.Context, reader cf.Reader, o Options, format int, identity string) (*DB, error) {
	opened := state.Options{Wall: o.Clock, GoesBack: o.ClockGoesBack, Logger: o.Logger, ReadOnly: o.ReadOnly, MustExist: o.MustExist, Format: format, Identity: identity,
		KeepDeleted: cmp.Or(o.KeepDeleted, defaultKeepDeleted), DeletedFamilies: deletedFamilies, DeletedBytes: o.DeletedBytes}
	if opened.Logger == nil {
		opened.Logger = slog.New(slog.DiscardHandler)
	}
	at, err := state.Open(ctx, reader, opened)
	if err != nil {
		return nil, err
	}
	db := &DB{state: at, limits: reader.Limits(), memory: cmp.Or(o.Memory, defaultMemory), loading: lock.NewRW(),
		freezing: lock.NewRW()}
	if o.Schema != nil {
		undone, err := alter.Declare(ctx, db.state, o.Schema)
		if err != nil {
			return nil, err
		}
		for _, c := range undone.Changes {
			db.state.Logger.Warn("the schema declares a change that hides or drops data; opening does not make it, ApplyPlan does", "change", c)
		}
	}
	background, cancel := context.WithCancel(context.Background())
	db.janitor.cancel = cancel
	if !o.ReadOnly {
		if err := db.startJanitor(background, o.GCInterval); err != nil {
			cancel()
			return nil, err
		}
	}
	if db.state.Shared != nil {
		db.janitor.running.Go(func() { db.watchSchema(background) })
	}
	return db, nil
}

// Close closes the database. Reads under way, and calls afterwards, fail with the kind
// [KindUnavailable]. It must be called once at the end; a second call does nothing.
func (db *DB) Close() error {
	if db == nil || db.state == nil {
		return fail("close", "", "", errNoDB)
	}
	var err error
	db.close.Do(func() {
		db.endDeferred()
		db.closed.Store(true)
		db.state.Changes.Close()
		db.janitor.end()
		db.state.Store.EndWaits()
		db.janitor.running.Wait()
		err = db.state.SchemaLock.Lock(context.Background())
		defer db.state.SchemaLock.Unlock()
		if !db.state.ReadOnly {
			err = db.state.Clock.Close()
			if errors.Is(err, ErrReadOnly) { // it was fenced, and gave no timestamps since
				err = nil
			}
		}
		err = errors.Join(err, db.state.Store.Close())
	})
	return fail("close", "", "", err)
}

// UUID is the database's identity, made when it was created.
func (db *DB) UUID() uuid.UUID {
	if db == nil || db.state == nil {
		return uuid.Nil
	}
	return db.state.UUID
}

// Now is the database's clock: the wall clock, or the last timestamp that was given to
// a write if that is later, as it can be for a second after a crash, and for as long
// as the wall clock was set back. So no acknowledged commit, and no timestamp that a
// commit was given, is later than Now. In a database opened for reading this holds for
// the commits that it shows. If several processes write the store, Now is the store's
// clock, as of the commits of all of them; while the store does not answer, it is the last
// timestamp known.
func (db *DB) Now() cells.Timestamp {
	if db == nil || db.state == nil {
		return 0
	}
	if now, ok := db.sharedNow(); ok {
		return now
	}
	return db.state.Clock.Latest()
}

// sharedNow is the clock of a store that several processes write.
func (db *DB) sharedNow() (cells.Timestamp, bool) {
	if db.state.Shared == nil || db.ready(context.Background()) != nil {
		return 0, false
	}
	ctx, cancel := context.WithTimeout(context.Background(), schemaWait)
	defer cancel()
	now, err := db.state.Shared.Now(ctx)
	if err == nil {
		db.state.Clock.Follow(now)
	}
	return cells.Timestamp(now), err == nil
}

// Schema is a copy of the schema in force, its tables sorted by name. It leaves out the
// tables that smolwc keeps for others: see [schema.IsDerived]. If several
// processes write the store, it asks the store for the newest schema; while the store
// does not answer, it is the last one known.
func (db *DB) Schema() *schema.Schema {
	db.freshen()
	return withoutDerived(db.inForce().Schema)
}

// withoutDerived is a copy of a schema without the tables that smolwc keeps for others.
func withoutDerived(s *schema.Schema) *schema.Schema {
	s = s.Clone()
	s.Tables = slices.DeleteFunc(s.Tables, func(t schema.Table) bool { return schema.IsDerived(t.Name) })
	return s
}

// FormatVersion is the newest version of the format on disk that this package
// reads and writes; docs/format.md describes it. A database of a larger version
// is refused.
const FormatVersion = state.FormatVersion

// Format is the version of the database's format on disk, from 1 to [FormatVersion]. It
// grows when a write needs a larger one.
func (db *DB) Format() int {
	if db == nil || db.state == nil {
		return 0
	}
	return int(db.state.Format.Load())
}

// Dir is the absolute path of the database's directory; "" for a database in memory,
// and for a database that [OpenStore] opened.
func (db *DB) Dir() string {
	if db == nil || db.state == nil {
		return ""
	}
	return db.state.Dir
}
