//go:build cgo && linux && !norocksdb

package rocks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/linxGnu/grocksdb"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/internal/kept"
	"github.com/smolwc/smolwc/cf/rocks/internal/files"
	"github.com/smolwc/smolwc/cf/rocks/internal/native"
)

// Flush implements cf.Store. The engine delays a flush that would stall writes. The
// context ends only the wait for it: the flush itself is still made.
func (s *Store) Flush(ctx context.Context, name string) error {
	return s.await(ctx, func() error { return s.flush(name) })
}

// await waits for a flush, or until the context ends.
func (s *Store) await(ctx context.Context, flush func() error) error {
	done := make(chan error, 1)
	go func() { done <- flush() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	if state, _ := s.stall(); state != cf.NotStalled {
		return s.gate.Error(ctx.Err())
	}
	return ctx.Err()
}

func (s *Store) flush(name string) error {
	return s.maintain(name, func(f *family) error {
		opts := grocksdb.NewDefaultFlushOptions()
		defer opts.Destroy()
		opts.SetWait(true)
		if err := s.db.FlushCF(f.Handle, opts); err != nil {
			return native.Wrap(err)
		}
		// Otherwise the few entries of the catalog in memory would keep all logs since
		// the first of these entries.
		if err := native.Wrap(s.db.Flush(opts)); err != nil {
			return err
		}
		return s.flushOld(opts)
	})
}

// logsBetween is how many logs begin between two looks at the families that keep them.
const logsBetween = 8

// flushOld flushes the families that had writes in memory when it looked last, and still
// have them: each keeps all logs since. A flush of another family begins a log.
func (s *Store) flushOld(opts *grocksdb.FlushOptions) error {
	s.old.Lock()
	defer s.old.Unlock()
	begun := s.engine.logs.Begun()
	if begun-s.old.looked < logsBetween {
		return nil
	}
	s.old.looked = begun
	was := s.old.entries
	s.old.entries = map[*family]int64{}
	for _, f := range *s.families.Load() {
		n := s.property(f, "num-entries-active-mem-table")
		if n > 0 && n >= was[f] && was[f] > 0 {
			if err := s.db.FlushCF(f.Handle, opts); err != nil {
				return native.Wrap(err)
			}
			n = 0
		}
		if n > 0 {
			s.old.entries[f] = n
		}
	}
	return nil
}

// Compact implements cf.Store. The end of the context stops it between two files.
func (s *Store) Compact(ctx context.Context, name string, rows cf.Range) error {
	if err := s.Flush(ctx, name); err != nil {
		return err
	}
	return s.maintain(name, func(f *family) error {
		paused := make(chan struct{})
		running := context.AfterFunc(ctx, func() {
			s.db.DisableManualCompaction()
			close(paused)
		})
		defer func() {
			if !running() {
				<-paused
				s.db.EnableManualCompaction()
			}
		}()
		opts := grocksdb.NewCompactRangeOptions()
		defer opts.Destroy()
		opts.SetBottommostLevelCompaction(grocksdb.KForce)
		start, end := rows.Bounds()
		s.db.CompactRangeCFOpt(f.Handle, grocksdb.Range{Start: start, Limit: end}, opts)
		f.ClearKept()                             // the old files can go
		return cmp.Or(ctx.Err(), s.gate.Ending()) // the engine reports no error when it is stopped
	})
}

var _ cf.Checkpointer = (*Store)(nil)

const (
	// checkpoints is the pattern of directories in the database's directory in which
	// checkpoints are made. The next open removes those that a crash left there.
	checkpoints = "checkpoint-*.tmp"
	// flushNever leaves memtables to the copy of the log.
	flushNever = math.MaxUint64
)

// Checkpoint implements cf.Checkpointer. Changes of families and loads wait while RocksDB
// links files, and writes wait for them. So memory is flushed before, and files are copied
// to another file system after it.
func (s *Store) Checkpoint(ctx context.Context, dir string) (at cf.Position, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if s.options.InMemory {
		return 0, fmt.Errorf("a database in memory has no files to copy: %w", cf.ErrUnavailable)
	}
	if err := s.inPlace(); err != nil {
		return 0, err
	}
	if err := s.await(ctx, s.flushMemory); err != nil {
		return 0, err
	}
	if err := s.step("flushed"); err != nil {
		return 0, err
	}
	temp, err := os.MkdirTemp(s.dir, checkpoints)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", cf.ErrUnavailable, err)
	}
	defer func() {
		if e := os.RemoveAll(temp); err == nil && e != nil {
			err = fmt.Errorf("%w: %w", cf.ErrUnavailable, e)
		}
	}()
	links := filepath.Join(temp, "db")
	if at, err = s.link(ctx, links); err != nil {
		return 0, err
	}
	if err := s.step("linked"); err != nil {
		return 0, err
	}
	if os.Rename(links, dir) == nil {
		return at, nil
	}
	return at, copyFiles(ctx, links, dir) // to another file system
}

// flushMemory flushes all families.
func (s *Store) flushMemory() error {
	err := s.maintain(catalogFamily, func(catalog *family) error {
		var all []*family
		for _, f := range *s.families.Load() {
			if f != catalog {
				all = append(all, f)
			}
		}
		return s.flushAll(append(all, catalog))
	})
	if errors.Is(err, cf.ErrNotExist) { // one was dropped meanwhile
		return s.flushMemory()
	}
	return err
}

// link makes a checkpoint on the database's file system. RocksDB looks at the manifest
// before the log: if families were created meanwhile, the copy would lose the writes to
// them without an error.
func (s *Store) link(ctx context.Context, dir string) (at cf.Position, err error) {
	if err := s.ingesting.Lock(ctx); err != nil { // a copy contains a load whole or not at all
		return 0, err
	}
	defer s.ingesting.Unlock()
	if err := s.shaping.Lock(ctx); err != nil {
		return 0, err
	}
	defer s.shaping.Unlock()
	err = s.maintain(catalogFamily, func(*family) error {
		at = cf.Position(s.db.GetLatestSequenceNumber())
		c, err := s.db.NewCheckpoint()
		if err != nil {
			return native.Wrap(err)
		}
		defer c.Destroy()
		return native.Wrap(c.CreateCheckpoint(dir, flushNever))
	})
	return at, err
}

// copyFiles copies the files of a directory to one that it makes.
func copyFiles(ctx context.Context, from, to string) error {
	names, err := os.ReadDir(from)
	if err == nil {
		err = os.Mkdir(to, 0o755)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", cf.ErrUnavailable, err)
	}
	for _, e := range names {
		if err = kept.CopyFile(ctx, filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
			break
		}
	}
	if err == nil {
		err = syncDir(to)
	}
	if ctx.Err() != nil {
		return errors.Join(ctx.Err(), os.RemoveAll(to))
	}
	if err != nil {
		return fmt.Errorf("%w: %w", cf.ErrUnavailable, errors.Join(err, os.RemoveAll(to)))
	}
	return nil
}

// maintain runs f, which may take long, on a family. Families may be created and
// dropped meanwhile; the family's handle stays valid. Close waits until f returns, and
// EndWaits makes it return.
func (s *Store) maintain(name string, f func(*family) error) error {
	fam, set, err := s.beginMaintenance(name)
	if err != nil {
		return err
	}
	defer s.maintenance.Done()
	defer s.dropped.unuse(set)
	return f(fam)
}

func (s *Store) beginMaintenance(name string) (fam *family, set uint64, err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.usable(); err != nil {
		return nil, 0, err
	}
	fam, err = s.families.Load().get(name)
	if err == nil {
		err = cmp.Or(s.gate.Ending(), s.engine.logs.Lasting())
	}
	if err != nil {
		return nil, 0, err
	}
	s.maintenance.Add(1)
	return fam, s.dropped.use(), nil
}

const (
	// keptLogs is the size in bytes up to which the logs stay when a database is
	// closed. The next open replays them in some milliseconds. So a process that makes
	// a few small writes does not leave a small file for each family.
	keptLogs = 1 << 20
	// closingTime bounds the wait of a close for its flushes. Data that is not flushed
	// by then stays in the logs.
	closingTime = 3 * time.Second
)

// dropLogs flushes memory before the database is closed, so that the logs can be
// removed. It is only an optimization: data that cannot be flushed soon stays in the
// logs.
func (s *Store) dropLogs() {
	if s.options.ReadOnly || s.options.InMemory || s.logBytes() <= keptLogs {
		return
	}
	all, set, err := s.flushable()
	if all == nil || err != nil {
		return
	}
	began, done := time.Now(), make(chan error, 1)
	go func() {
		defer s.maintenance.Done()
		defer s.dropped.unuse(set)
		done <- s.flushAll(all)
	}()
	late := time.NewTimer(closingTime)
	defer late.Stop()
	select {
	case err := <-done:
		if err != nil {
			s.logger.Warn("the logs stay, since the data in memory could not be flushed", "err", err)
		}
	case <-late.C:
		s.logger.Warn("the logs stay, since flushing takes long", "duration", time.Since(began).Round(time.Millisecond))
	}
}

// flushable are the families with data in memory, and last the catalog. The list is empty
// if the engine cannot flush them at once. It begins a maintenance and a use of the set of
// families, which the caller must end: the families may be dropped meanwhile.
func (s *Store) flushable() (some []*family, set uint64, err error) {
	if s.gate.On() || s.refusal.On() {
		return nil, 0, nil
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := cmp.Or(s.usable(), s.gate.Ending()); err != nil {
		return nil, 0, err
	}
	bytes := int64(0)
	for name, f := range *s.families.Load() {
		waiting := s.property(f, "num-immutable-mem-table")
		if name == catalogFamily || waiting+s.property(f, "num-entries-active-mem-table") == 0 {
			continue
		}
		// The engine delays flushes from these limits on.
		if s.property(f, "num-files-at-level0")+1 >= l0Slowdown || waiting+1 >= maxMemtables-1 ||
			s.property(f, "estimate-pending-compaction-bytes") >= softPending {
			return nil, 0, nil
		}
		bytes += s.property(f, "cur-size-all-mem-tables")
		some = append(some, f)
	}
	if rate := s.options.BackgroundRate; rate > 0 && bytes > rate { // more than a second
		return nil, 0, nil
	}
	s.maintenance.Add(1)
	return append(some, (*s.families.Load())[catalogFamily]), s.dropped.use(), nil
}

// flushAll flushes families. The last one is the catalog, whose few entries would keep
// all logs.
func (s *Store) flushAll(all []*family) error {
	opts := grocksdb.NewDefaultFlushOptions()
	defer opts.Destroy()
	for _, wait := range []bool{false, true} { // start all flushes, then wait for them
		opts.SetWait(wait)
		for _, f := range all {
			if err := s.db.FlushCF(f.Handle, opts); err != nil {
				return native.Wrap(err)
			}
		}
	}
	return nil
}

// ReleaseMemory returns unused memory of the C library to the system. It concerns the
// whole process. It takes some milliseconds, and allocations of C wait meanwhile.
func ReleaseMemory() { native.ReleaseMemory() }

// changeManifest makes a change that the engine writes to its manifest. If the write
// fails, the engine recovers with another manifest, and expects that no file was
// removed meanwhile. It ensures this for its own changes, but not for changes on
// request: then it ends the process. So changeManifest keeps files from being removed.
func (s *Store) changeManifest(change func() error) error {
	if err := s.db.DisableFileDeletions(); err != nil {
		return native.Wrap(err)
	}
	err := s.engine.logs.OnManifest(change)
	s.held.Add(1)
	s.releaseFiles()
	return err
}

// releaseFiles lets the engine remove files again unless its manifest is in doubt.
func (s *Store) releaseFiles() {
	for n := s.held.Load(); n > 0 && !s.engine.logs.InDoubt(); n = s.held.Load() {
		if s.held.CompareAndSwap(n, n-1) {
			files.AllowRemovals(s.db)
		}
	}
}
