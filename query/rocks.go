//go:build cgo

package query

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/rocks"
	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/query/internal/state"
)

// This file has the parts of a database on RocksDB that a store alone lacks: a
// directory, with a marker in it. Builds without cgo have nocgo.go instead.

// HasEngine says whether [Open], [OpenInMemory] and [OpenReadOnly] work: whether this
// build has RocksDB. A build without cgo does not.
const HasEngine = true

// Open opens the database on RocksDB in a directory. It creates a missing database
// unless the options say that it must exist. A database can be open for writing once at
// a time, in one process, however its path is spelled: otherwise the error's kind is
// [KindBusy]. Its directory must stay in its place while it is open: after it was moved
// or replaced, an operation that needs a new file fails with kind [KindUnavailable].
func Open(dir string, o Options) (*DB, error) {
	return open(dir, o, rocks.Options{})
}

// OpenInMemory opens a new database in memory, for tests. It is gone when it is
// closed. Otherwise it behaves like one on disk.
func OpenInMemory(o Options) (*DB, error) {
	return open("", o, rocks.Options{InMemory: true})
}

func open(dir string, o Options, engine rocks.Options) (*DB, error) {
	const op = "open"
	if err := o.validate(); err != nil {
		return nil, fail(op, "", "", err)
	}
	engine.Memory, engine.Async = cmp.Or(o.Memory, defaultMemory), o.Durability == DurabilityAsync
	engine.BackgroundRate, engine.Logger = o.BackgroundRate, o.Logger
	engine.ReadOnly, engine.MustExist = o.ReadOnly, o.MustExist
	marked := 0
	if !engine.InMemory {
		var err error
		if marked, err = checkMarker(dir, engine); err != nil {
			return nil, fail(op, "", "", fmt.Errorf("%s: %w", dir, err))
		}
	}
	store, err := openStore(dir, engine)
	if err != nil {
		return nil, fail(op, "", "", describeOpen(dir, err))
	}
	o.MustExist = false // it does
	db, err := newDB(context.Background(), store, o)
	if err != nil {
		return nil, errors.Join(fail(op, "", "", err), store.Close())
	}
	if err := db.settle(dir, engine); err != nil {
		return nil, errors.Join(fail(op, "", "", err), db.Close())
	}
	if !engine.InMemory && !o.ReadOnly && marked != db.Format() {
		if err := state.WriteMarker(dir, db.Format()); err != nil {
			return nil, errors.Join(fail(op, "", "", err), db.Close())
		}
	}
	return db, nil
}

// openStore opens the store of a database in a directory or in memory, for reading
// alone or for writing too.
func openStore(dir string, o rocks.Options) (cf.Reader, error) {
	if o.ReadOnly {
		return rocks.OpenFollower(dir, o)
	}
	return rocks.Open(dir, o)
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
func (db *DB) settle(dir string, engine rocks.Options) error {
	if engine.InMemory {
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
// marker's format, 0 when there is no marker.
func checkMarker(dir string, engine rocks.Options) (version int, err error) {
	if _, err := os.Stat(filepath.Join(dir, "CURRENT")); err != nil {
		return 0, nil // no database yet, or one that the engine will refuse
	}
	text, err := os.ReadFile(filepath.Join(dir, state.MarkerFile))
	if errors.Is(err, os.ErrNotExist) {
		if engine.ReadOnly {
			return 0, nil // its catalog says what it is
		}
		return 0, probe(dir, engine)
	}
	if err != nil {
		return 0, fault.Errorf(fault.Unavailable, "%w", err)
	}
	if _, err := fmt.Sscanf(string(text), state.MarkerFormat, &version); err != nil || version < 1 {
		return 0, fault.Errorf(fault.Corruption, "%s says %q, not a format", filepath.Join(dir, state.MarkerFile), text)
	}
	return version, state.CheckFormat(version)
}

// probe reads the catalog of a database without a marker, without writing: the
// engine's own tools may have made it from one of smolwc, or it may be new.
func probe(dir string, engine rocks.Options) error {
	engine.ReadOnly = true
	store, err := rocks.OpenFollower(dir, engine)
	if errors.Is(err, rocks.ErrCreating) {
		return nil
	}
	if err != nil {
		return describeOpen(dir, err)
	}
	defer store.Close()
	db := &state.DB{Reader: store, Store: cf.ReadOnly(store), ReadOnly: true}
	return db.LoadCatalog(context.Background(), false)
}

// releaseEngine gives the engine library's unused memory back to the system.
func releaseEngine() { rocks.ReleaseMemory() }
