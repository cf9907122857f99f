//go:build cgo && linux && !norocksdb

package rocks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/linxGnu/grocksdb"
	"golang.org/x/sync/semaphore"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/isolation"
	"github.com/smolwc/smolwc/cf/rocks/internal/files"
	"github.com/smolwc/smolwc/cf/rocks/internal/gate"
	_ "github.com/smolwc/smolwc/cf/rocks/internal/headers" // says what is missing
	"github.com/smolwc/smolwc/cf/rocks/internal/native"
	"github.com/smolwc/smolwc/cf/rocks/internal/scan"
	"github.com/smolwc/smolwc/cf/rocks/internal/steady"
	"github.com/smolwc/smolwc/cf/rocks/internal/writequeue"
	"github.com/smolwc/smolwc/internal/claim"
	"github.com/smolwc/smolwc/internal/lock"
)

// A Store is an open RocksDB database.
type Store struct {
	engine    *engine
	db        *grocksdb.DB
	dir       string
	stamp     steady.Stamp // of the files that a reader opened
	claim     *claim.Claim // nil unless the store writes to a disk
	options   Options
	write     *grocksdb.WriteOptions
	scans     *scan.Engine
	writer    files.Writer
	logger    *slog.Logger
	families  atomic.Pointer[families]
	locks     isolation.Locks
	history   isolation.Log
	gate      *gate.Gate
	refusal   gate.Refusal
	changes   changeLog
	following following // of a standby
	queue     *writequeue.Queue
	large     *semaphore.Weighted // bytes of large writes; see turn

	// A shared lock of mu keeps families from being created or dropped, and the
	// database from being closed. These hold mu exclusively.
	mu      lock.Wide
	closed  bool
	dropped droppedFamilies

	shaping   lock.RW            // held while families are created and dropped, or files are linked; taken before mu
	ingesting lock.RW            // held by the Commit of an ingestion; taken before all other locks
	bulkDirs  sync.Mutex         // held while directories of ingestions are made and removed
	broken    error              // set when a Commit stopped half-way
	fence     error              // set when another server was promoted
	unnoted   atomic.Bool        // a load is visible, and not noted in the log yet
	onStep    func(string) error // for tests: called at each step of a Commit
	old       unflushed
	held      atomic.Int32 // changes that left the manifest in doubt; RocksDB removes no files meanwhile

	ended       sync.Once      // by EndWaits
	maintenance sync.WaitGroup // flushes and compactions, which do not hold mu

	open openSet // snapshots and cursors
}

// unflushed are the families that have writes in memory only, see flushOld.
type unflushed struct {
	sync.Mutex
	looked  uint64            // the number of logs that had begun
	entries map[*family]int64 // their entries then
}

var _ cf.Store = (*Store)(nil)

// Open opens the database in dir. It creates the database unless the options forbid it.
// Errors match the kinds of cf: in use, corrupt, missing, unavailable.
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

// openStore opens the database in a directory. c is its claim, nil for a database in
// memory or for reading.
func openStore(dir string, o Options, c *claim.Claim) (*Store, error) {
	e := newEngine(o)
	files.SetInfoLog(e.db, dir, !o.ReadOnly && !o.InMemory)
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
	s.gate = gate.New(s.stall, s.describeStall, s.logger)
	s.refusal.Logger = s.logger
	s.queue = writequeue.New()
	s.large = semaphore.NewWeighted(largeAtOnce)
	s.locks.Init()
	s.ingesting, s.shaping = lock.NewRW(), lock.NewRW()
	if err := s.openChanges(); err != nil {
		e.destroy()
		return nil, err
	}
	began, replayed := time.Now(), s.logBytes()
	if err := s.openFamilies(dir, names); err != nil {
		e.destroy()
		return nil, err
	}
	s.engine.logs.Opened(!o.Async)
	s.noteStrays()
	s.write = grocksdb.NewDefaultWriteOptions()
	s.write.SetSync(!o.Async && !o.InMemory)
	s.write.SetNoSlowdown(true) // writes wait at the gate, where a context can end the wait
	s.writer = files.NewWriter(s.engine.logs, s.db, s.write)
	s.scans = scan.NewEngine(s.db, s.engine.cache, s.inFamily, s.sweep)
	if o.ReadOnly {
		if err := s.holdFiles(); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	if err := s.settle(context.Background()); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.noteLoaded()
	s.logger.Info("opened the database", "dir", dir, "families", len(names)-1, "replayed_bytes", replayed,
		"duration", time.Since(began).Round(time.Millisecond))
	return s, nil
}

// settle brings an opened database into order.
func (s *Store) settle(ctx context.Context) error {
	if err := s.finishIngestions(ctx); err != nil || !s.options.Standby && s.Ships() == "" {
		return err
	}
	_, err := s.readExpiries(ctx)
	return err
}

func (s *Store) openFamilies(dir string, names []string) error {
	expiries, opts, destroy, err := s.engine.familyOptions(names)
	if err != nil {
		return err
	}
	defer destroy()
	var handles []*grocksdb.ColumnFamilyHandle
	s.engine.openLate(dir, s.options)
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

// Limits implements cf.Store. The bounds on keys and values are Bigtable's. A batch is
// in memory several times while it is written.
func (s *Store) Limits() cf.Limits {
	return cf.Limits{RowKey: 4096, Qualifier: 16384, Value: 100 << 20, Batch: 1 << 30}
}

// writable is the reason that the store cannot be written, nil if it can. The caller
// holds s.mu.
func (s *Store) writable() error { return cmp.Or(s.usable(), s.fence) }

// usable is the reason that the store cannot write its own files, nil if it can. The
// caller holds s.mu.
func (s *Store) usable() error {
	if s.closed {
		return cf.ErrClosed
	}
	if s.options.ReadOnly {
		return cf.ErrReadOnly
	}
	return s.broken
}

// Close implements cf.Store. It closes open snapshots and cursors; using them
// afterwards is an error.
func (s *Store) Close() error {
	s.EndWaits()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return cf.ErrClosed
	}
	s.closed = true
	s.maintenance.Wait()
	s.open.close()
	for _, f := range *s.families.Load() {
		f.free()
	}
	s.stopEngine()
	s.db.Close()
	s.scans.Free()
	s.write.Destroy()
	s.engine.destroy()
	if s.claim != nil {
		s.claim.Release()
	}
	return nil
}

// stopEngine ends the engine's background work.
func (s *Store) stopEngine() {
	if s.options.ReadOnly {
		return
	}
	s.db.CancelAllBackgroundWork(false)
	s.engine.logs.EndRecovery()
}
