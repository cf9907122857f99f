//go:build cgo && linux && !norocksdb

// Package scan reads cells: with cursors in C that fill blocks, and the cache with its
// accounting of large values.
package scan

// #include "cursor.h"
import "C"

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/linxGnu/grocksdb"

	"github.com/smolwc/smolwc/cf/internal/ahead"
	"github.com/smolwc/smolwc/cf/rocks/internal/native"
)

// An Engine is shared by all scans of an open database.
type Engine struct {
	db      *grocksdb.DB
	c       *C.rocksdb_t
	reader  *C.smolwc_reader
	cache   *C.rocksdb_cache_t
	explain func(*Family, error) error

	sweep    func()
	sweeping atomic.Bool // a sweep is due
	crew     ahead.Crew  // goroutines that fill blocks for scans besides their callers
	coldCrew ahead.Crew  // those that wait for the disk most of the time
}

// NewEngine makes the engine of a database. explain adds details to an error of a
// family. sweep clears the cursors that families keep; it is called a second after a
// cursor was kept, and must call Swept first.
func NewEngine(db *grocksdb.DB, cache *grocksdb.Cache, explain func(*Family, error) error, sweep func()) *Engine {
	c := (*C.rocksdb_t)(native.Handle(db))
	return &Engine{
		db: db, c: c, reader: C.smolwc_reader_new(c), cache: (*C.rocksdb_cache_t)(native.Handle(cache)),
		explain: explain, sweep: sweep, coldCrew: ahead.Crew{One: coldHelpers, All: allColdHelpers},
	}
}

// Free must be called when no scan uses the engine any longer.
func (e *Engine) Free() { C.smolwc_reader_free(e.reader) }

// keptFor is how long a cursor may be kept. A new cursor once a second costs little,
// and files that a compaction replaced are removed soon.
const keptFor = time.Second

// sweepLater starts a timer that clears the kept cursors after keptFor. The caller
// returned its cursor, and keeps the database open.
func (e *Engine) sweepLater() {
	if !e.sweeping.Load() && e.sweeping.CompareAndSwap(false, true) {
		time.AfterFunc(keptFor, e.sweep)
	}
}

// Swept notes that a sweep begins: cursors that are put back from now on need another
// sweep.
func (e *Engine) Swept() { e.sweeping.Store(false) }

// A Family is an open column family, with data that its scans have gathered.
type Family struct {
	Name   string
	Handle *grocksdb.ColumnFamilyHandle
	c      *C.rocksdb_column_family_handle_t
	kept   keptCursors
	shape  shape
	starts atomic.Pointer[fileStarts] // the beginnings of its files
}

// Open begins the use of a family.
func (f *Family) Open(name string, h *grocksdb.ColumnFamilyHandle) {
	f.Name, f.Handle = name, h
	f.c = (*C.rocksdb_column_family_handle_t)(native.Handle(h))
	f.kept = newKeptCursors()
}

// ClearKept frees the kept cursors that are not in use.
func (f *Family) ClearKept() { f.kept.clear() }

// Free frees the family's handle and its kept cursors.
func (f *Family) Free() {
	f.kept.free()
	f.Handle.Destroy()
}

// A View is a state of the database that scans read. Its owner and its cursors are its
// users.
type View struct {
	Engine  *Engine
	Overlay *grocksdb.WriteBatchWI // the changes of a transaction, else nil
	Users   atomic.Int64

	take sync.Once
	snap *grocksdb.Snapshot // nil until taken; see At
}

// At is the engine's snapshot, which the first call takes. The view must be in use.
func (v *View) At() *grocksdb.Snapshot {
	v.take.Do(func() { v.snap = v.Engine.db.NewSnapshot() })
	return v.snap
}

// Leave ends a use, and frees the view after the last use. It reports whether this was
// the last use.
func (v *View) Leave() (last bool) {
	if v.Users.Add(-1) != 0 {
		return false
	}
	if v.snap != nil {
		v.Engine.db.ReleaseSnapshot(v.snap)
	}
	if v.Overlay != nil {
		v.Overlay.Destroy()
	}
	return true
}

// Helpers is the number of goroutines that fill blocks for scans.
func (e *Engine) Helpers() int { return e.crew.Working() + e.coldCrew.Working() }
