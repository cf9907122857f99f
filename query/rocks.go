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
)

// This file has what a database on RocksDB is beyond a store: a directory, with a
// marker in it. Without cgo nocgo.go stands in its place.

// HasEngine says whether [Open] and its kin work: whether this build has RocksDB. One
// without cgo has not.
const HasEngine = true

// Open opens the database on RocksDB in a directory, which it creates unless it is told
// that the database must exist. A database can be open for writing once at a
// time, in one process, however its path is spelled: otherwise the error's kind
// is [KindBusy]. While it is open its directory stays where it is: what needs a new
// file fails with kind [KindUnavailable] after it was moved or replaced.
func Open(dir string, o Options) (*DB, error) {
	return open(dir, o, rocks.Options{})
}

// OpenInMemory opens a new database that lives in memory and is gone when it
// is closed: for tests. It behaves as one on disk in everything else.
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
		if err := writeMarker(dir, db.Format()); err != nil {
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

// describeOpen says of an engine's failure to open what it means here.
func describeOpen(dir string, err error) error {
	switch {
	case errors.Is(err, cf.ErrBusy):
		return faultf(KindBusy, "database %s is %w", dir, cf.ErrBusy)
	case errors.Is(err, cf.ErrOpenHere):
		return faultf(KindBusy, "database %s is %w", dir, cf.ErrOpenHere)
	case errors.Is(err, cf.ErrCorrupt):
		return faultf(KindCorruption, "database %s cannot be opened: %w", dir, err)
	case errors.Is(err, cf.ErrUnavailable):
		return faultf(KindUnavailable, "database %s cannot be opened: %w", dir, err)
	}
	return err
}

// settle notes where the database lies, and removes what a crash during Freeze
// has left there.
func (db *DB) settle(dir string, engine rocks.Options) error {
	if engine.InMemory {
		return nil
	}
	var err error
	if db.dir, err = filepath.Abs(dir); err != nil || db.readOnly {
		return err
	}
	left := filepath.Join(db.dir, frozenDir)
	if err := errors.Join(os.RemoveAll(left), os.RemoveAll(left+".tmp")); err != nil {
		return faultf(KindUnavailable, "%w", err)
	}
	return nil
}

// checkMarker refuses a directory that holds a database of another kind. It
// returns the marker's format, 0 when there is no marker.
func checkMarker(dir string, engine rocks.Options) (version int, err error) {
	if _, err := os.Stat(filepath.Join(dir, "CURRENT")); err != nil {
		return 0, nil // no database yet, or one that the engine will report on
	}
	text, err := os.ReadFile(filepath.Join(dir, markerFile))
	if errors.Is(err, os.ErrNotExist) {
		if engine.ReadOnly {
			return 0, nil // its catalog says what it is
		}
		return 0, probe(dir, engine)
	}
	if err != nil {
		return 0, faultf(KindUnavailable, "%w", err)
	}
	if _, err := fmt.Sscanf(string(text), markerFormat, &version); err != nil || version < 1 {
		return 0, faultf(KindCorruption, "%s says %q, not a format", filepath.Join(dir, markerFile), text)
	}
	return version, checkFormat(version)
}

// probe reads the catalog of a database without a marker, without writing: it
// may have been made by the engine's own tools from one of smolwc, or be new.
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
	db := &DB{reader: store, store: cf.ReadOnly(store), readOnly: true}
	return db.loadCatalog(context.Background(), false)
}

// releaseEngine gives memory that the engine's library holds and nothing uses back to
// the system.
func releaseEngine() { rocks.ReleaseMemory() }
