package pebble

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"runtime"
	"time"

	engine "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
	"golang.org/x/time/rate"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/internal/claim"
	"github.com/smolwc/smolwc/internal/lock"
)

var _ cf.Store = (*Store)(nil)

// Open opens the database in dir. With ReadOnly it shows the moment of the call, takes no
// lock, and another process may write meanwhile; but see [Follower] on Windows.
func Open(dir string, o Options) (_ *Store, err error) {
	s := &Store{options: o, dir: dir, gate: newGate(), calls: workers{next: make(chan func())}, ingesting: lock.NewRW()}
	s.life, s.end = context.WithCancel(context.Background())
	defer func() {
		if err != nil {
			s.end()
			if s.pins != nil {
				s.pins.close()
			}
		}
	}()
	base := o.FS
	switch {
	case base != nil:
	case o.InMemory:
		base = vfs.NewMem()
	default:
		base = vfs.Default
		abs, err := filepath.Abs(dir)
		if err != nil {
			return nil, err
		}
		s.dir = abs
	}
	if there, err := look(base, s.dir); err != nil || !there && (o.ReadOnly || o.MustExist) {
		return nil, cmp.Or(err, noDatabase(base, dir, s.dir))
	}
	var claimed *claim.Claim
	disk := base
	if !o.ReadOnly {
		if claimed, err = enter(base, dir, s.dir, o); err != nil {
			return nil, err
		}
		defer func() {
			if err != nil && claimed != nil {
				claimed.Release()
			}
		}()
	}
	if o.ReadOnly && pins && !o.InMemory {
		if s.pins, err = pin(cmp.Or(o.ctx, s.life), base, s.dir); err != nil {
			return nil, err
		}
		base = s.pins
	}
	s.fs = &system{FS: base, disk: disk, dir: s.dir, lost: make(chan struct{}), bad: make(chan struct{}), claim: claimed, logger: o.Logger}
	s.fs.async.Store(o.Async || o.InMemory)
	if s.Home() != "" && !o.ReadOnly {
		s.kept.In(s.fs.archive())
	}
	if err := s.examine(); err != nil {
		return nil, err
	}
	if o.BackgroundRate > 0 {
		s.fs.pace = rate.NewLimiter(rate.Limit(o.BackgroundRate), int(min(o.BackgroundRate, math.MaxInt32)))
		s.fs.life = s.life
	}
	s.locks.Init()
	memtable := min(max(cmp.Or(o.Memory, DefaultMemory)/writeShare/memtables, minMemtable), maxMemtable)
	cache := o.cache
	if cache == nil {
		cache = engine.NewCache(cacheSize(o.Memory))
		defer cache.Unref()
	}
	s.settings = &engine.Options{
		FS: s.fs, Cache: cache, Comparer: comparer, Merger: merger,
		MemTableSize: uint64(memtable), MemTableStopWritesThreshold: stopMemory, L0StopWritesThreshold: stopTop,
		FormatMajorVersion: formatMajor, ReadOnly: o.ReadOnly, ErrorIfNotExists: o.MustExist || o.ReadOnly,
		BytesPerSync: 1 << 20, Logger: logger{s}, MaxOpenFiles: 10_000,
		CompactionConcurrencyRange: func() (int, int) { return 1, max(2, runtime.GOMAXPROCS(0)) },
		BlockPropertyCollectors:    []func() engine.BlockPropertyCollector{newTimes, newCounts},
	}
	if o.FileSize > 0 {
		for i := range s.settings.TargetFileSizes {
			s.settings.TargetFileSizes[i] = int64(o.FileSize)
		}
	}
	s.families.Store(new(families))
	s.settings.Experimental.SpanPolicyFunc = s.span
	s.settings.Experimental.ValueSeparationPolicy = s.separation
	for i := range s.settings.Levels {
		l := &s.settings.Levels[i]
		l.BlockSize, l.FilterPolicy = blockSize, bloom.FilterPolicy(filterBits)
		l.Compression = func() *sstable.CompressionProfile { return sstable.SnappyCompression }
	}
	s.settings.Levels[len(s.settings.Levels)-1].Compression = func() *sstable.CompressionProfile { return sstable.ZstdCompression }
	if _, err := s.fs.Stat(s.fs.archive()); err == nil {
		s.fs.keep.Store(true)
	} else if o.Standby { // its position is in its log, which goes once Pebble writes the rows to files
		if err := s.keepLogs(); err != nil {
			return nil, err
		}
	}
	// Pebble's own listener ends the process when a block is damaged. The read that met it
	// returns the error.
	s.settings.EventListener = &engine.EventListener{
		DataCorruption: func(i engine.DataCorruptionInfo) {
			logger{s}.Errorf("damage in %s: %s", i.Path, firstLine(i.Details))
		},
		BackgroundError: func(err error) {
			s.failures.Add(1)
			logger{s}.Errorf("%s", firstLine(err))
		},
		WriteStallBegin: func(engine.WriteStallBeginInfo) {
			s.gate.close()
			s.stuck.note(s.fs, func(k *stuck) { k.stalled = true })
		},
		WriteStallEnd: func() {
			s.stuck.note(s.fs, func(k *stuck) { k.stalled = false })
			s.gate.open()
		},
		WALCreated: func(engine.WALCreateInfo) {
			s.moveCounts(filling, full)
		},
		FlushBegin: func(engine.FlushInfo) {
			s.moveCounts(full, flushing)
		},
		FlushEnd: func(i engine.FlushInfo) {
			s.flushed()
			s.stuck.note(s.fs, func(k *stuck) { k.flush = i.Err })
			if i.Err != nil && !s.fs.opened.Load() && s.failures.Load() > attempts { // Pebble would go on for ever
				s.fs.lose(fmt.Errorf("what is in the log cannot be written to a file: %w; the database can be opened for reading", i.Err))
			}
			if i.Err != nil {
				s.moveCounts(flushing, full)
			} else {
				s.moveCounts(flushing, inFiles)
			}
		},
		CompactionEnd: func(i engine.CompactionInfo) {
			s.stuck.note(s.fs, func(k *stuck) { k.compaction = i.Err })
			s.met(i.Err)
		},
	}
	s.settings.EnsureDefaults()
	if err := s.examineOptions(); err != nil {
		return nil, err
	}
	began, replayed := time.Now(), s.fs.logBytes(s.dir)
	err = s.openEngine()
	switch {
	case s.fs.isLost():
		return nil, errors.Join(wrap(s.fs.why), s.fs.unlock())
	case errors.Is(err, engine.ErrDBDoesNotExist):
		return nil, noDatabase(base, dir, s.dir)
	case err != nil:
		return nil, err
	}
	s.fs.opened.Store(true)
	if o.Logger != nil {
		o.Logger.Info("opened the database", "dir", dir, "families", len(*s.families.Load()), "replayed_bytes", replayed,
			"duration", time.Since(began).Round(time.Millisecond))
	}
	if !o.ReadOnly {
		s.sums.due = make(chan mergedCell, len(s.sums.merges))
		s.clean.running.Go(s.sumUp)
	}
	if !o.ReadOnly && !o.KeepExpired {
		s.clean.running.Go(s.cleanUp)
	}
	return s, nil
}

// enter keeps other stores and processes from writing in a directory, and makes it and
// names the engine there if the database is new. Pebble's own lock goes by the path within
// a process, and is lost with its file. at is the absolute path.
func enter(fs vfs.FS, dir, at string, o Options) (c *claim.Claim, err error) {
	if err := fs.MkdirAll(at, 0o755); err != nil {
		return nil, fmt.Errorf("cannot create %s: %w", dir, wrap(err))
	}
	if o.FS == nil && !o.InMemory {
		switch c, err = claim.Take(at); {
		case errors.Is(err, claim.ErrHere):
			return nil, cf.ErrOpenHere
		case errors.Is(err, claim.ErrElsewhere):
			return nil, cf.ErrBusy
		case err != nil:
			return nil, wrap(err)
		}
	}
	there, err := look(fs, at)
	if err == nil && !there {
		err = wrap(writeName(fs, at))
	}
	if err != nil && c != nil {
		c.Release()
		c = nil
	}
	return c, err
}

// examine looks for damage, and makes the file system continue SYNCED.
func (s *Store) examine() error {
	if s.options.InMemory {
		return nil
	}
	said, tables, logs, err := examine(s.fs.FS, s.dir, func(log string, end int64) { s.fs.ends.Store(log, end) })
	if err != nil || s.options.ReadOnly {
		s.replayed.logs = logs
		return err
	}
	s.fs.said = newSyncing(s.fs.FS, s.dir, said)
	if tables == nil || said.Files != nil {
		return nil
	}
	names, err := s.fs.FS.List(s.dir)
	s.fs.strays = map[string]bool{}
	for _, name := range names {
		_, named := tables[name]
		s.fs.strays[name] = isTable(name) && !named
	}
	return wrap(err)
}

// attempts is how often Open tries to write a file.
const attempts = 3

// openEngine returns early if the store is lost. Then Pebble's goroutines stay, and change
// nothing any longer.
func (s *Store) openEngine() error {
	done := make(chan error, 1)
	go func() { done <- s.begin() }()
	select {
	case err := <-done:
		return err
	case <-s.fs.lost:
		return nil
	}
}

// begin opens Pebble's database, and reads the families.
func (s *Store) begin() (err error) {
	s.db, err = engine.Open(s.dir, s.settings)
	if notExist(err) {
		return fmt.Errorf("%w: the database has lost a file: %w", cf.ErrCorrupt, err)
	}
	if err != nil {
		return wrap(err)
	}
	if !s.options.ReadOnly { // the directory is claimed
		if err := s.fs.RemoveAll(s.fs.PathJoin(s.dir, loadsDir)); err != nil && !notExist(err) {
			return errors.Join(wrap(err), s.db.Close())
		}
	}
	err = s.load()
	if err != nil && !s.fs.isLost() { // a call of a lost store goes on after it returned
		err = errors.Join(err, s.db.Close())
	}
	return err
}

// flushed notes the end of a flush.
func (s *Store) flushed() {
	if all := s.families.Load(); all != nil {
		for _, f := range *all {
			for i := range f.buried {
				f.buried[i].Store(0)
			}
		}
	}
}

// load reads the families.
func (s *Store) load() error {
	it, err := s.db.NewIter(&engine.IterOptions{LowerBound: appendID(nil, spaceSystem), UpperBound: appendID(nil, spaceMeta)})
	if err != nil {
		return wrap(err)
	}
	found := families{}
	s.next = firstFamily
	for ok := it.First(); ok; ok = it.Next() {
		key, value := it.Key()[idLen:], it.Value()
		if len(key) > 0 && key[0] == entryShift && len(value) == 8 {
			s.shift.Store(int64(binary.BigEndian.Uint64(value)))
		}
		if len(key) == 0 || len(value) != idLen {
			continue
		}
		id := binary.BigEndian.Uint32(value)
		switch key[0] {
		case entryFamily:
			found[string(key[1:])] = s.newFamily(string(key[1:]), id)
		case entryNext:
			s.next = max(s.next, id)
		}
	}
	s.families.Store(&found) // nothing else writes it yet
	if err := it.Close(); err != nil || s.options.ReadOnly {
		return wrap(err)
	}
	ctx := context.Background()
	if s.fs.keep.Load() && s.Home() != "" {
		left, err := s.kept.Read()
		if left != nil {
			logger{s}.Errorf("logs kept for standbys cannot be removed: %v", left)
		}
		if err != nil {
			return err
		}
	}
	if s.options.Standby {
		return s.follow(ctx)
	}
	if s.kept.Ships() == "" {
		_, err = s.apply(ctx, s.mark(), false, nil) // so that the position is known
	} else {
		err = s.locate(ctx) // without a change unknown to standbys
	}
	if err != nil {
		return err
	}
	return s.noteLoads(ctx) // before anything else: standbys expect them there
}

// Close implements [cf.Store].
func (s *Store) Close() error {
	s.EndWaits()
	s.fs.ended.Store(true)
	_ = s.outlast(func() error { s.clean.running.Wait(); return nil })
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return cf.ErrClosed
	}
	s.closed = true
	if s.fs.claim != nil {
		defer s.fs.claim.Release()
	}
	if s.lost() != nil { // Pebble's own goroutines may hold anything
		return s.fs.unlock()
	}
	_ = s.outlast(func() error { s.calls.all.Wait(); return nil })
	if s.lost() != nil {
		return s.fs.unlock()
	}
	s.open.close()
	err := s.outlast(s.db.Close)
	switch {
	case s.lost() != nil:
		return errors.Join(err, s.fs.unlock())
	case s.pins != nil:
		s.pins.close()
	}
	return wrap(err)
}
