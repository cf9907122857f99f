package query

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/internal/osfile"
	"github.com/smolwc/smolwc/query/internal/catalog"
	"github.com/smolwc/smolwc/query/internal/clock"
	"github.com/smolwc/smolwc/query/internal/engine"
	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/query/internal/state"
	"github.com/smolwc/smolwc/query/plumbing"
)

// An Engine keeps the files of a database.
type Engine string

// The engines. RocksDB is in builds for Linux with cgo and without the tag norocksdb.
const (
	EngineRocksDB Engine = engine.RocksDB
	EnginePebble  Engine = engine.Pebble
)

// HasRocksDB says whether this build includes RocksDB.
const HasRocksDB = engine.HasRocksDB

// DefaultEngine is the engine of new databases: RocksDB in a build with it, and otherwise
// Pebble.
func DefaultEngine() Engine { return Engine(engine.Default()) }

// EngineOf is the engine of the database in a directory, "" without one.
func EngineOf(dir string) (Engine, error) {
	name, err := engine.Of(dir)
	if err != nil {
		err = fail("open", "", "", fmt.Errorf("%s: %w", dir, err))
	}
	return Engine(name), err
}

// Open opens the database in a directory. It creates a missing database
// unless the options say that it must exist. A database can be open for writing once at
// a time, in one process, however its path is spelled: otherwise the error's kind is
// [KindBusy]. Its directory must stay in its place while it is open: after it was moved
// or replaced, an operation that needs a new file fails with kind [KindUnavailable].
// If the database is on RocksDB and this build does not have it, the error matches
// [ErrNoEngine].
func Open(dir string, o Options) (*DB, error) {
	return open(dir, o, engine.Options{})
}

// OpenReadOnly opens a database for reading, also while another process writes
// it. It shows the moment when it was opened, in all tables, until [DB.Refresh].
// It is Open with [Options.ReadOnly].
func OpenReadOnly(dir string, o Options) (*DB, error) {
	o.ReadOnly = true
	return Open(dir, o)
}

// OpenInMemory opens a new database in memory, for tests. It is gone when it is
// closed. Otherwise it behaves like one on disk.
func OpenInMemory(o Options) (*DB, error) {
	return open("", o, engine.Options{InMemory: true})
}

func open(dir string, o Options, on engine.Options) (*DB, error) {
	const op = "open"
	if err := o.validate(); err != nil {
		return nil, fail(op, "", "", err)
	}
	on.Memory, on.Async = cmp.Or(o.Memory, defaultMemory), o.Durability == DurabilityAsync
	on.BackgroundRate, on.Logger = o.BackgroundRate, o.Logger
	on.ReadOnly, on.MustExist, on.KeepExpired = o.ReadOnly, o.MustExist, o.GCInterval < 0
	marker, format := engine.Marker{}, 0
	name, err := chooseEngine(dir, on, &o)
	if err != nil {
		return nil, fail(op, "", "", fmt.Errorf("%s: %w", cmp.Or(dir, "in memory"), err))
	}
	if name == engine.Pebble {
		format = catalog.FormatOfPebble
	}
	if !on.InMemory {
		if marker, err = checkMarker(name, dir, on, o.Standbys != nil); err != nil {
			return nil, fail(op, "", "", fmt.Errorf("%s: %w", dir, err))
		}
	}
	store, err := openEngine(name, dir, on, marker, o.Standbys)
	if err != nil {
		return nil, fail(op, "", "", describeOpen(dir, err))
	}
	o.MustExist = false // the engine opened or created one
	db, err := newDB(context.Background(), store, o, format, marker.Identity)
	if err != nil {
		return nil, errors.Join(fail(op, "", "", err), store.Close())
	}
	if on.InMemory {
		db.state.DeletedFamilies = deletedInMemory
	}
	if err := db.settle(dir, on); err != nil {
		return nil, errors.Join(fail(op, "", "", err), db.Close())
	}
	if o.Standbys != nil {
		o.Standbys.Raise = func(ctx context.Context) error { return db.state.Raise(ctx, catalog.FormatOfStandbys) }
		o.Standbys.Dated = func(ctx context.Context) (func() time.Time, error) {
			return db.Plumbing().Wall, db.state.Raise(ctx, catalog.FormatOfDated)
		}
		o.Standbys.Flush = db.applyDeferred
		o.Standbys.Settled = func() int64 { return int64(db.state.Changes.Settled(&db.state.Clock)) }
	}
	if !on.InMemory && !o.ReadOnly && marker.Format != db.Format() {
		if err := engine.WriteMarker(dir, db.Format(), ""); err != nil {
			return nil, errors.Join(fail(op, "", "", err), db.Close())
		}
	}
	if o.Standbys != nil && o.Standbys.Opened != nil {
		o.Standbys.Opened()
	}
	return db, nil
}

// chooseEngine is the engine of the database in a directory, or for a new one.
func chooseEngine(dir string, on engine.Options, o *Options) (name string, err error) {
	if !on.InMemory {
		if name, err = engine.Of(dir); err != nil {
			return "", err
		}
	}
	asked, exists := string(o.Engine), name != ""
	switch {
	case name != "" && asked != "" && asked != name:
		return "", fault.Errorf(fault.FailedPrecondition, "the database is on %s, and engine %s was asked for; a copy can be on another engine", name, asked)
	case name == "":
		name = cmp.Or(asked, engine.Default())
	}
	switch {
	case name == engine.RocksDB && !HasRocksDB && exists:
		return "", fault.Of(fault.FailedPrecondition, ErrNoEngine)
	case name == engine.RocksDB && !HasRocksDB:
		return "", fault.Errorf(fault.FailedPrecondition, "engine %s was asked for, which this build does not have; a build for Linux with CGO_ENABLED=1, a C and a C++ compiler and librocksdb-dev has it, and engine %s is in every build", name, engine.Pebble)
	}
	return name, nil
}

// openEngine opens the store, and gives it to the standbys' side.
func openEngine(name, dir string, on engine.Options, marker engine.Marker, standbys *plumbing.Standbys) (store cf.Reader, err error) {
	if standbys != nil && standbys.Store != nil {
		store, standbys.Store = standbys.Store, nil
	} else {
		if standbys != nil && standbys.Begin != nil && !on.InMemory && !on.ReadOnly {
			if err := standbys.Begin(dir); err != nil {
				return nil, err
			}
		}
		if store, err = engine.Open(name, dir, on); err != nil {
			return nil, err
		}
	}
	s, ok := store.(cf.Store)
	if ok && marker.Identity != "" {
		if err := identify(s, dir, marker); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	if !ok || standbys == nil {
		return store, nil
	}
	wrapped, err := standbys.Wrap(s)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return wrapped, nil
}

// identify gives a database the identity that its marker names. The marker names it until the
// database has it: after a crash in between, the next open does the same again.
func identify(s cf.Store, dir string, marker engine.Marker) error {
	if err := state.Identify(context.Background(), s, marker.Identity); err != nil {
		return err
	}
	return engine.WriteMarker(dir, marker.Format, "")
}

// describeOpen turns an engine's failure to open into an error of this package.
func describeOpen(dir string, err error) error {
	switch {
	case errors.Is(err, cf.ErrBusy):
		return fault.Errorf(fault.Busy, "database %s is %w", dir, cf.ErrBusy)
	case errors.Is(err, cf.ErrOpenHere):
		return fault.Errorf(fault.Busy, "database %s is %w", dir, cf.ErrOpenHere)
	case errors.Is(err, cf.ErrCorrupt):
		return fault.Errorf(fault.Corruption, "database %s cannot be opened: %w", dir, err)
	case errors.Is(err, cf.ErrUnavailable):
		return fault.Errorf(fault.Unavailable, "database %s cannot be opened: %w", dir, err)
	}
	return err
}

// settle notes the database's directory, and removes the files that a crash
// during Freeze left there.
func (db *DB) settle(dir string, on engine.Options) error {
	if on.InMemory {
		return nil
	}
	var err error
	if db.state.Dir, err = filepath.Abs(dir); err != nil || db.state.ReadOnly {
		return err
	}
	left := filepath.Join(db.state.Dir, frozenDir)
	if err := errors.Join(os.RemoveAll(left), os.RemoveAll(left+".tmp")); err != nil {
		return fault.Errorf(fault.Unavailable, "%w", err)
	}
	return nil
}

// checkMarker refuses a directory with a database of another kind. It returns the
// marker; the format is 0 without one.
func checkMarker(name, dir string, on engine.Options, standbys bool) (m engine.Marker, err error) {
	if _, err := os.Stat(filepath.Join(dir, "CURRENT")); err != nil {
		if on.ReadOnly {
			return m, nil
		}
		return m, checkCopied(dir) // nil: no database yet, or one that the engine will refuse
	}
	if err := checkRole(dir, standbys); err != nil && !on.ReadOnly {
		return m, err
	}
	if m, err = engine.ReadMarker(dir); err == nil {
		err = state.CheckFormat(m.Format)
	}
	if !errors.Is(err, os.ErrNotExist) {
		return m, err
	}
	if on.ReadOnly {
		return m, nil // its catalog says what it is
	}
	return m, probe(name, dir, on)
}

// checkRole refuses to write a database that another one leads. standbys says whether
// package standby opens it.
func checkRole(dir string, standbys bool) error {
	has := func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return err == nil
	}
	switch {
	case has(plumbing.StandbyFile):
		return fault.Errorf(fault.FailedPrecondition, "the directory has a standby, which only follows its primary; smolwc serve --standby-of runs it, and it can be opened for reading")
	case has(plumbing.FencedFile):
		return fault.Errorf(fault.FailedPrecondition, "the directory has a primary whose place a standby has taken; the file %s there names it. smolwc serve --standby-of follows it, and the directory can be opened for reading", plumbing.FencedFile)
	case has(plumbing.PromotedFile) && !standbys:
		return fault.Errorf(fault.FailedPrecondition, "the directory has a standby whose promotion has not ended; smolwc serve ends it")
	}
	return nil
}

// checkCopied refuses to make a database in the place of a standby that was being rebuilt
// when its server was killed: for a moment no directory bears its name.
func checkCopied(dir string) error {
	at, err := filepath.Abs(dir)
	if err == nil {
		at, err = osfile.Leads(at)
	}
	if err == nil {
		_, err = os.Stat(filepath.Join(at+plumbing.CopyingSuffix, plumbing.StandbyFile))
	}
	if err != nil {
		return nil
	}
	return fault.Errorf(fault.FailedPrecondition, "the directory has a standby, which was being rebuilt in %s; smolwc serve --standby-of ends this, also without its primary", filepath.Base(at)+plumbing.CopyingSuffix)
}

// probe reads the catalog of a database without a marker, without writing: the engine's
// own tools may have copied it from a database of smolwc, or it may be new.
func probe(name, dir string, on engine.Options) error {
	on.ReadOnly = true
	store, err := engine.Open(name, dir, on)
	if engine.IsCreating(err) {
		return nil
	}
	if err != nil {
		return describeOpen(dir, err)
	}
	defer store.Close()
	_, err = state.Open(context.Background(), store, state.Options{Logger: slog.New(slog.DiscardHandler), ReadOnly: true})
	return err
}

// Refresh brings a database that was opened for reading up to date: every read that
// begins after it sees all writes acknowledged before the call, and the changes of
// tables and families. Reads under way keep their snapshot. A database that is open for
// writing needs no Refresh.
//
// It opens the files again: that takes some milliseconds, and longer the more data the
// writer did not yet flush to files. Without new writes it costs next to nothing.
func (db *DB) Refresh(ctx context.Context) error {
	if err := db.ready(ctx); err != nil {
		return fail("refresh", "", "", err)
	}
	r, ok := db.state.Reader.(cf.Refresher)
	if !ok {
		return nil
	}
	// One Refresh at a time, so that the catalog in force is never replaced by an older
	// one.
	if err := db.state.SchemaLock.Lock(ctx); err != nil {
		return fail("refresh", "", "", err)
	}
	defer db.state.SchemaLock.Unlock()
	var next *catalog.Catalog
	err := r.Refresh(ctx, func(s cf.Snapshot, families []string) (err error) {
		next, err = db.catalogIn(ctx, s, families)
		return err
	})
	if err == nil && next != nil {
		if db.state.Shared == nil {
			next.Version = db.state.Catalog.Load().Version + 1
		}
		db.state.Catalog.Store(next)
	}
	return fail("refresh", "", "", err)
}

// catalogIn reads the catalog of a snapshot, which must be of this database.
func (db *DB) catalogIn(ctx context.Context, snap cf.Snapshot, families []string) (*catalog.Catalog, error) {
	entries, err := snap.MetaPrefix(ctx, "")
	if err != nil {
		return nil, err
	}
	if !db.state.Is(entries) {
		return nil, fault.Errorf(fault.FailedPrecondition, "the directory holds another database now, %s in place of %s; open it again", entries[catalog.KeyUUID], db.state.UUID)
	}
	if err := db.state.ReadFormat(entries); err != nil {
		return nil, err
	}
	if entry, ok := entries[catalog.KeyClock]; ok {
		last, err := clock.Read(entry)
		if err != nil {
			return nil, err
		}
		db.state.Clock.Follow(last)
	}
	next, err := catalog.Read(entries)
	if err != nil {
		return nil, err
	}
	return next, next.CheckFamilies(families)
}
