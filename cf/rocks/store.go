//go:build cgo

package rocks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/linxGnu/grocksdb"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/rocks/internal/files"
	"github.com/smolwc/smolwc/cf/rocks/internal/native"
	"github.com/smolwc/smolwc/internal/claim"
	"github.com/smolwc/smolwc/internal/lock"
)

// A Store is an open RocksDB database.
type Store struct {
	engine   *engine
	db       *grocksdb.DB
	dir      string
	claim    *claim.Claim // nil unless the store writes to a disk
	options  Options
	write    *grocksdb.WriteOptions
	c        handles
	logger   *slog.Logger
	families atomic.Pointer[families]
	locks    rowLocks
	history  commitLog
	gate     *stallGate
	refusal  refusal
	changes  changeLog
	queue    *writeQueue

	// mu is held shared while families must not come or go and the database
	// must not close, exclusively to do either.
	mu      sync.RWMutex
	closed  bool
	dropped droppedFamilies

	ingesting lock.RW            // held by the Commit of an ingestion; before all other locks
	broken    error              // set when one stopped half-way
	onStep    func(string) error // for tests, at each step of one
	held      atomic.Int32       // changes that left the manifest in doubt: no files are removed

	ended       sync.Once      // by EndWaits
	maintenance sync.WaitGroup // flushes and compactions, which do not hold mu

	open     openSet      // snapshots and cursors
	sweeping atomic.Bool  // a sweep of kept cursors is due
	helpers  atomic.Int32 // goroutines that fill blocks for scans beside their callers
}

var _ cf.Store = (*Store)(nil)

// Open opens the database in dir, which it creates unless told otherwise. The
// errors of cf tell a database that is in use, corrupt, missing or out of reach.
func Open(dir string, o Options) (*Store, error) {
	if o.InMemory {
		dir = memoryDir
	}
	if err := checkDir(dir, o); err != nil {
		return nil, err
	}
	if o.InMemory {
		return openStore(dir, o, nil)
	}
	// RocksDB looks files up by their paths for as long as the database is open:
	// they must not depend on the working directory.
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", cf.ErrUnavailable, err)
	}
	if o.ReadOnly {
		return openStore(dir, o, nil)
	}
	return openClaimed(dir, o)
}

// openStore opens the database in a directory, which is claimed if it is to be
// written.
func openStore(dir string, o Options, c *claim.Claim) (*Store, error) {
	e := newEngine(o)
	if !o.InMemory {
		files.SetInfoLog(e.db, dir, o.ReadOnly)
	}
	if o.ReadOnly {
		e.holding = files.NewHeld(e.db)
	}
	if c != nil {
		e.logs.Guard(dir, c)
	}
	names, err := familyNames(e, dir, o)
	if err != nil {
		e.destroy()
		return nil, err
	}
	s := &Store{engine: e, dir: dir, claim: c, options: o, logger: o.Logger}
	if s.logger == nil {
		s.logger = slog.New(slog.DiscardHandler)
	}
	s.gate = newStallGate()
	s.queue = newWriteQueue()
	s.locks = newRowLocks()
	s.ingesting = lock.NewRW()
	if err := s.openChanges(); err != nil {
		e.destroy()
		return nil, err
	}
	began, replayed := time.Now(), s.logBytes()
	if err := s.openFamilies(dir, names); err != nil {
		e.destroy()
		return nil, err
	}
	s.noteStrays()
	s.write = grocksdb.NewDefaultWriteOptions()
	s.write.SetSync(!o.Async && !o.InMemory)
	s.write.SetNoSlowdown(true) // writes wait at the gate, where a context ends the wait
	s.c = newHandles(s.db, s.write)
	if o.ReadOnly {
		if err := s.holdFiles(); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	if err := s.finishIngestions(context.Background()); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.noteLoaded()
	s.logger.Info("opened the database", "dir", dir, "families", len(names)-1, "replayed_bytes", replayed,
		"duration", time.Since(began).Round(time.Millisecond))
	return s, nil
}

// memoryDir is where a database in memory lies: its environment wants an
// absolute path.
const memoryDir = "/smolwc"

// checkDir finds what RocksDB would report less clearly.
func checkDir(dir string, o Options) error {
	if o.InMemory {
		return nil
	}
	switch info, err := os.Stat(dir); {
	case errors.Is(err, os.ErrNotExist) && (o.MustExist || o.ReadOnly):
		return fmt.Errorf("no database at %s: it %w", dir, cf.ErrNotExist)
	case errors.Is(err, os.ErrNotExist):
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("cannot create %s: %w: %w", dir, cf.ErrUnavailable, err)
		}
	case err != nil:
		return fmt.Errorf("%w: %w", cf.ErrUnavailable, err)
	case !info.IsDir():
		return fmt.Errorf("%s is a file, not a directory: %w", dir, cf.ErrUnavailable)
	}
	return nil
}

// familyNames lists the column families of the database, just the default one
// for a database that is yet to be made.
func familyNames(e *engine, dir string, o Options) ([]string, error) {
	if o.InMemory {
		return []string{catalogFamily}, nil
	}
	if _, err := os.Stat(filepath.Join(dir, "CURRENT")); errors.Is(err, os.ErrNotExist) {
		e.logs.Begin(dir, nil)
		return missingDatabase(dir, o)
	}
	r, err := checkLogs(dir)
	if err != nil {
		return nil, err
	}
	e.recovered(r)
	names, err := grocksdb.ListColumnFamilies(e.db, dir)
	return names, native.Wrap(err)
}

// missingDatabase decides what a directory without a CURRENT file is: a place
// for a new database, or a database whose CURRENT file was lost, which must not
// be written over.
func missingDatabase(dir string, o Options) ([]string, error) {
	if manifests, _ := filepath.Glob(filepath.Join(dir, "MANIFEST-*")); len(manifests) > 0 {
		switch {
		case !begun(dir, manifests):
			return nil, fmt.Errorf("%w: %s has a MANIFEST but no CURRENT file", cf.ErrCorrupt, dir)
		case o.ReadOnly:
			return nil, ErrCreating
		}
	}
	if o.MustExist || o.ReadOnly {
		return nil, fmt.Errorf("no database at %s: it %w", dir, cf.ErrNotExist)
	}
	return []string{catalogFamily}, nil
}

// begun reports whether a directory without a CURRENT file is that of a database whose
// creation goes on, or was ended by a crash: its first manifest is there, which every
// opening replaces, and nothing that has data.
func begun(dir string, manifests []string) bool {
	for _, pattern := range []string{"*.log", "*.sst", "*.blob"} {
		if files, _ := filepath.Glob(filepath.Join(dir, pattern)); len(files) > 0 {
			return false
		}
	}
	return len(manifests) == 1 && filepath.Base(manifests[0]) == "MANIFEST-000001"
}

func (s *Store) openFamilies(dir string, names []string) error {
	expiries, opts, destroy, err := s.engine.familyOptions(names)
	if err != nil {
		return err
	}
	defer destroy()
	var handles []*grocksdb.ColumnFamilyHandle
	if s.options.ReadOnly {
		s.db, handles, err = grocksdb.OpenDbForReadOnlyColumnFamilies(s.engine.db, dir, names, opts, false)
	} else {
		s.db, handles, err = grocksdb.OpenDbColumnFamilies(s.engine.db, dir, names, opts)
	}
	if err != nil {
		for _, e := range expiries {
			e.Free()
		}
		return s.engine.whichTable(dir, native.Wrap(err))
	}
	open := families{}
	for i, n := range names {
		open[n] = newFamily(n, handles[i], expiries[i])
	}
	s.families.Store(&open)
	return nil
}

// Limits implements cf.Store. The bounds on keys and values are Bigtable's; a
// batch is held in memory several times over while it is written.
func (s *Store) Limits() cf.Limits {
	return cf.Limits{RowKey: 4096, Qualifier: 16384, Value: 100 << 20, Batch: 1 << 30}
}

// writable reports why the store cannot be written; s.mu is held.
func (s *Store) writable() error {
	if s.closed {
		return cf.ErrClosed
	}
	if s.options.ReadOnly {
		return cf.ErrReadOnly
	}
	return s.broken
}

// Close implements cf.Store. Snapshots and cursors that are still open are
// closed; their further use is an error.
func (s *Store) Close() error {
	s.EndWaits()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return cf.ErrClosed
	}
	s.closed = true
	s.maintenance.Wait()
	s.open.closeAll()
	for _, f := range *s.families.Load() {
		f.free()
	}
	s.stopEngine()
	s.db.Close()
	s.c.free()
	s.write.Destroy()
	s.engine.destroy()
	if s.claim != nil {
		s.claim.Release()
	}
	return nil
}

// stopEngine ends what the engine does in the background.
func (s *Store) stopEngine() {
	if s.options.ReadOnly {
		return
	}
	s.db.CancelAllBackgroundWork(false)
	s.engine.logs.AwaitRecovery()
}
