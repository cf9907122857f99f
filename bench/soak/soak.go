// Package soak uses one database for a time in all ways at once: writes of all kinds,
// reads of all kinds, collections, compactions, backups and restores, schema changes, a
// second reader, and closing and reopening. It compares everything that it reads with
// what it wrote.
package soak

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/smolwc/smolwc/archive"
	"github.com/smolwc/smolwc/query"
)

// Options say where and how long a soak works, and what it prints.
type Options struct {
	// Dir holds the database and all other files. It must be empty; it is created if it
	// does not exist.
	Dir      string
	Duration time.Duration
	// Interval is the time between two lines of the report.
	Interval time.Duration
	// Seed chooses the operations. The scheduling of goroutines remains random.
	Seed uint64
	// Memory is the database's memory in bytes.
	Memory int64
	Out    io.Writer

	spoil func(context.Context, *query.DB) error // for tests: makes a fault before the end
}

const (
	writerCount = 4
	readerCount = 3
)

// A soak is one running soak.
type soak struct {
	Options
	rows   *model
	began  time.Time
	counts counts
	flat   flatness
	last   reportLine
	files  int // open before the database was opened

	// use is held shared by users of db, and exclusively to replace it.
	use     sync.RWMutex
	db      *query.DB
	closing atomic.Bool

	late int // consecutive failed openings of the read-only database

	backups   *archive.Archive
	generated map[int]span // the possible contents of each generation
}

type counts struct {
	writes, reads, cells, opens, backups, restores, collections atomic.Int64
}

// Run soaks and prints a line each interval. It fails if a read was wrong, if memory or
// open files grow, if a snapshot, a cursor or a file is left open, or if the check at
// the end finds anything.
func Run(ctx context.Context, o Options) (err error) {
	run := &soak{Options: o, rows: newModel(o.Seed), began: time.Now(), generated: map[int]span{}}
	run.last.at = run.began
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return err
	}
	run.files = openFiles()
	if run.backups, err = archive.Open(ctx, filepath.Join(o.Dir, "backups")); err != nil {
		return err
	}
	if err := run.open(rand.New(rand.NewPCG(o.Seed, 0))); err != nil {
		return err
	}
	if err := run.rows.fill(ctx, run.db); err != nil {
		return errors.Join(err, run.db.Close())
	}
	if err := run.work(ctx); err != nil {
		return errors.Join(err, run.db.Close())
	}
	if o.spoil != nil {
		if err := o.spoil(ctx, run.db); err != nil {
			return errors.Join(err, run.db.Close())
		}
	}
	return run.end(ctx)
}

// work runs all workers until the time is over or one of them fails.
func (s *soak) work(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	over := time.AfterFunc(s.Duration, func() { stop(errSoaked) })
	defer over.Stop()
	var workers sync.WaitGroup
	start := func(name string, do func(context.Context, *rand.Rand) error) {
		rng := rand.New(rand.NewPCG(s.Seed, hashOf(name)))
		workers.Go(func() {
			for ctx.Err() == nil {
				if err := do(ctx, rng); err != nil && !errors.Is(err, context.Canceled) {
					stop(fmt.Errorf("%s: %w", name, err))
				}
			}
		})
	}
	for i := range writerCount {
		w := &writer{soak: s, id: i}
		start(fmt.Sprint("writer ", i), w.step)
	}
	for i := range readerCount {
		start(fmt.Sprint("reader ", i), s.read)
	}
	start("collections", s.collect)
	start("compactions", s.compact)
	start("backups", s.backUp)
	start("schema", s.changeSchema)
	start("reader beside", s.follow)
	start("reopening", s.reopen)
	start("report", s.report)
	workers.Wait()
	if err := context.Cause(ctx); err != errSoaked {
		return err
	}
	return nil
}

var errSoaked = errors.New("the time is over")

// end checks everything once more after all workers have stopped.
func (s *soak) end(ctx context.Context) error {
	if err := s.line(ctx, s.db); err != nil {
		return errors.Join(err, s.db.Close())
	}
	err := s.rows.checkAll(ctx, s.db, s.rows.bounds(s.rows.before()))
	if err == nil {
		err = checked(ctx, s.db)
	}
	if err == nil {
		_, err = s.backups.Verify(ctx, archive.Options{})
	}
	if err := errors.Join(err, s.closeQuietly(ctx)); err != nil {
		return err
	}
	memory, files := s.flat.judge()
	_, err = fmt.Fprintf(s.Out, "%d writes, %d reads of %d cells, none wrong; opened %d times, %d backups, %d restored, %d collections; check: nothing wrong\n%s\n%s\n",
		s.counts.writes.Load(), s.counts.reads.Load(), s.counts.cells.Load(), s.counts.opens.Load(), s.counts.backups.Load(), s.counts.restores.Load(), s.counts.collections.Load(), memory, files)
	return errors.Join(err, memory.err(), files.err())
}

func checked(ctx context.Context, db *query.DB) error {
	report, err := db.Check(ctx)
	if err != nil {
		return err
	}
	if !report.OK() {
		return fmt.Errorf("check found %d problems, the first of them: %v", report.Count, report.Problems[0])
	}
	return nil
}

// open opens the database; a quarter of the time it syncs writes.
func (s *soak) open(rng *rand.Rand) error {
	o := query.Options{Schema: newSchema(), Memory: s.Memory, Durability: query.DurabilityAsync, GCInterval: -1}
	if rng.IntN(4) == 0 {
		o.Durability = query.DurabilitySync
	}
	db, err := query.Open(filepath.Join(s.Dir, "db"), o)
	if err != nil {
		return err
	}
	s.db = db
	s.counts.opens.Add(1)
	return nil
}

// errReopening says that the soak closed the database during the operation.
var errReopening = errors.New("the database is being opened again")

// with calls f with the database. If the database is closed during the call, f fails
// with errReopening, and may or may not have taken effect.
func (s *soak) with(f func(*query.DB) error) error {
	s.use.RLock()
	defer s.use.RUnlock()
	err := f(s.db)
	if err != nil && s.closing.Load() && query.KindOf(err) == query.KindUnavailable {
		return errReopening
	}
	return err
}

// tolerant is with for workers that continue after errReopening.
func (s *soak) tolerant(f func(*query.DB) error) error {
	if err := s.with(f); err != errReopening {
		return err
	}
	return nil
}

// reopen closes the database and opens it again: half of the times while it is in use,
// half while it is idle, when nothing may be left open.
func (s *soak) reopen(ctx context.Context, rng *rand.Rand) error {
	if !s.pause(ctx, rng, 8) {
		return nil
	}
	abrupt := rng.IntN(2) == 0
	if abrupt {
		s.closing.Store(true)
		defer s.closing.Store(false)
		if err := s.db.Close(); err != nil {
			return err
		}
	}
	s.use.Lock()
	defer s.use.Unlock()
	if !abrupt {
		if err := s.closeQuietly(ctx); err != nil {
			return err
		}
	}
	return s.open(rng)
}

// closeQuietly closes the database while it is not in use.
func (s *soak) closeQuietly(ctx context.Context) error {
	stats, err := s.db.Stats(context.WithoutCancel(ctx))
	if err == nil && (stats.Open.Snapshots != 0 || stats.Open.Cursors != 0) {
		err = fmt.Errorf("nobody reads, and %d snapshots and %d cursors are open", stats.Open.Snapshots, stats.Open.Cursors)
	}
	if err := errors.Join(err, s.db.Close()); err != nil {
		return err
	}
	if now := openFiles(); now > s.files {
		return fmt.Errorf("the database is closed, and %d files are open; %d were before it was first opened", now, s.files)
	}
	return nil
}

// pause waits for n units, times a random factor from 0.5 to 1.5. A unit is a 200th of
// the duration, at least 10 ms and at most 1 s. It returns false if the soak is over.
func (s *soak) pause(ctx context.Context, rng *rand.Rand, n float64) bool {
	unit := min(max(s.Duration/200, 10*time.Millisecond), time.Second)
	t := time.NewTimer(time.Duration(float64(unit) * n * (0.5 + rng.Float64())))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
