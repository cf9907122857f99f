package query

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/internal/alter"
	"github.com/smolwc/smolwc/query/internal/catalog"
	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/query/internal/gc"
)

// A janitor does a database's background work, in one goroutine: now and then it
// tells the store up to which time cells have expired and removes tables that were
// deleted long ago, and once a day it removes surplus versions. Of the processes that write a store, one removes them. Another
// goroutine watches the schema.
type janitor struct {
	cancel  context.CancelFunc
	running sync.WaitGroup

	leading context.Context // of the process that collects, nil before it begins
	resign  func()
}

// collectJob is the name of the work that one process does.
const collectJob = "collect"

const (
	// expiryLag is how long ago a cell must have expired before the store may
	// drop it, so that reads under way find the cells that were there when they
	// began.
	expiryLag = time.Minute
	// defaultGCInterval is Options.GCInterval when it is not given.
	defaultGCInterval = 24 * time.Hour
	// dailyShare is the part of the time that the daily collection may take.
	dailyShare = 0.1
	// compactFrom: the daily collection compacts a family when at least this part
	// of it was surplus; less is left to the engine.
	compactFrom = 0.1
)

// startJanitor reports at once the cells that had expired when the database was
// opened.
func (db *DB) startJanitor(ctx context.Context, interval time.Duration) error {
	now := db.state.Clock.Now()
	err := db.state.SetExpiry(context.Background(), func(f *catalog.Family) cf.Expiry { return cf.Expiry{Before: f.Expiry(now).Before} })
	if err != nil {
		return err
	}
	if interval == 0 {
		interval = defaultGCInterval
	}
	if err := db.purgeOld(context.Background()); err != nil {
		return err
	}
	db.janitor.running.Go(func() { db.clean(ctx, interval, now) })
	return nil
}

// end tells the goroutines to end. Later failures are not logged.
func (j *janitor) end() { j.cancel() }

// clean is the janitor's loop. With a negative interval it never collects.
func (db *DB) clean(ctx context.Context, interval time.Duration, now cells.Timestamp) {
	lag := time.NewTicker(expiryLag)
	defer lag.Stop()
	var collect <-chan time.Time
	timer := time.NewTimer(0)
	defer timer.Stop()
	next := func(wait time.Duration) {
		if interval > 0 {
			timer.Reset(wait)
			collect = timer.C
		}
	}
	// The first collection is at a random time in the interval, so that processes that
	// are started together, or often, do not all collect at the same moment.
	next(1 + rand.N(max(interval, 1)))
	defer db.janitor.stepDown()
	var failures int64 // failures of the engine that have been logged
	for {
		select {
		case <-ctx.Done():
			return
		case <-lag.C:
			db.report(ctx, "cannot let expired cells go", db.state.AllowExpiry(ctx, now))
			db.report(ctx, "cannot let old changes go", db.state.TrimChanges(ctx))
			db.report(ctx, "cannot remove tables that were deleted long ago", db.purgeOld(ctx))
			failures = db.watch(ctx, failures)
			now = db.state.Clock.Now()
		case <-collect:
			if leading := db.lead(ctx); leading != nil {
				db.collect(leading)
			}
			next(interval - interval/8 + rand.N(interval/4+1))
		}
	}
}

// purgeOld removes the deleted tables that have been kept for long enough.
func (db *DB) purgeOld(ctx context.Context) error {
	if err := db.state.Freshen(ctx); err != nil {
		return err
	}
	gone, err := alter.PurgeOld(ctx, db.state)
	for _, d := range gone {
		if err == nil {
			db.state.Logger.Info("removed a table for good that was deleted", "table", d.Name, "deleted", d.At.Time())
		}
	}
	return err
}

// lead returns the context of collections, nil while another process collects. Once this
// process begins to collect, it does so until it is closed.
func (db *DB) lead(ctx context.Context) context.Context {
	elector, ok := db.state.Reader.(cf.Elector)
	j := &db.janitor
	if !ok || j.leading != nil && j.leading.Err() == nil {
		return cmp.Or(j.leading, ctx)
	}
	j.stepDown()
	leading, resign, err := elector.Lead(ctx, collectJob)
	if errors.Is(err, cf.ErrBusy) {
		return nil
	}
	if err != nil {
		db.report(ctx, "cannot collect what retention has dropped", err)
		return nil
	}
	j.leading, j.resign = leading, resign
	return leading
}

// stepDown lets another process collect.
func (j *janitor) stepDown() {
	if j.leading != nil {
		j.resign()
		j.leading = nil
	}
}

// watch logs failures of the engine's background work if there are more than the given
// number, and returns the new number. The writes that such a failure stops report it
// too.
func (db *DB) watch(ctx context.Context, failures int64) int64 {
	s, err := db.state.Store.Stats(ctx)
	if err != nil {
		return failures
	}
	if n := s.Engine.Work.Errors; n > failures {
		db.state.Logger.Error("a flush or a compaction has failed", "failures", n)
	}
	return s.Engine.Work.Errors
}

// collect runs the collection over the tables that keep a number of versions.
func (db *DB) collect(ctx context.Context) {
	for _, table := range db.state.Catalog.Load().TableNames() {
		info, err := db.state.Catalog.Load().Table(table)
		if err != nil || !slices.ContainsFunc(info.Families, (*catalog.Family).Collected) {
			continue
		}
		began := time.Now()
		r, err := db.gc(ctx, table, gcRun{share: dailyShare, families: (*catalog.Family).Collected, compacts: mostlySurplus})
		db.report(ctx, "collection failed", err, slog.String("table", table))
		if n := r.Cells(); n > 0 && err == nil {
			db.state.Logger.Info("collected what retention had dropped", "table", table, "cells", n, "bytes", r.Bytes(),
				"duration", time.Since(began))
		}
	}
}

func mostlySurplus(f *GCFamily) bool {
	return f.Surplus > 0 && float64(f.Surplus) >= compactFrom*float64(f.Scanned)
}

// report logs a failure, unless the database is being closed or the table was dropped
// meanwhile.
func (db *DB) report(ctx context.Context, what string, err error, attrs ...any) {
	if err != nil && ctx.Err() == nil && fault.KindOf(err) != fault.NotFound {
		db.state.Logger.Warn(what, append(attrs, "error", err)...)
	}
}

// GCOptions say what [DB.GC] does.
type GCOptions struct {
	// DryRun finds the cells to remove and changes nothing.
	DryRun bool
	// Compact rewrites the table's files in the end, which frees all space at once;
	// otherwise the space becomes free as the engine compacts.
	Compact bool
}

// A GCReport is the result of [DB.GC] for a table.
type GCReport struct {
	Table    string
	DryRun   bool
	Families []GCFamily // in the order of their names
}

// A GCFamily is the result of [DB.GC] for one family. The bytes count row keys, qualifiers,
// timestamps and values, before compression.
type GCFamily struct {
	Family  string
	Scanned int64 // cells looked at
	// Surplus cells are those beyond the number of versions to keep that are not
	// expired. They are deleted.
	Surplus, SurplusBytes int64
	// Expired cells are too old, independently of their rank. Compactions drop them.
	Expired, ExpiredBytes int64
}

// Cells is how many cells are removed, or would be.
func (r *GCReport) Cells() (n int64) {
	for _, f := range r.families() {
		n += f.Surplus + f.Expired
	}
	return n
}

// Bytes is how many bytes are removed, or would be.
func (r *GCReport) Bytes() (n int64) {
	for _, f := range r.families() {
		n += f.SurplusBytes + f.ExpiredBytes
	}
	return n
}

func (r *GCReport) families() []GCFamily {
	if r == nil {
		return nil
	}
	return r.Families
}

// GC removes the cells that the retention rules of a table have dropped. It reads
// the table and deletes surplus versions a few columns at a time, under their
// rows' locks; it leaves expired cells to compactions. Visible cells do not
// change, except that a table with lazy retention no longer shows its surplus
// versions.
//
// It works at most half of the time and rests for the remainder. The context may stop
// it at any point; the report then covers the part that was done. It may miss cells
// that are written meanwhile.
func (db *DB) GC(ctx context.Context, table string, o GCOptions) (GCReport, error) {
	const op = "gc"
	if err := db.ready(ctx); err != nil {
		return GCReport{Table: table}, fail(op, table, "", err)
	}
	if db.state.ReadOnly && !o.DryRun {
		return GCReport{Table: table}, fail(op, table, "", cf.RefusalOf(db.state.Reader))
	}
	r, err := db.gc(ctx, table, gcRun{GCOptions: o, share: 0.5, families: func(*catalog.Family) bool { return true },
		compacts: func(*GCFamily) bool { return o.Compact }})
	return r, fail(op, table, "", err)
}

// A gcRun is the settings of one run of the collection.
type gcRun struct {
	GCOptions
	share    float64                    // the share of the time that it may take
	families func(*catalog.Family) bool // the families to look at
	compacts func(*GCFamily) bool       // the families to compact
}

func (db *DB) gc(ctx context.Context, table string, run gcRun) (GCReport, error) {
	report := GCReport{Table: table, DryRun: run.DryRun}
	info, err := db.state.Catalog.Load().Table(table)
	if err != nil {
		return report, err
	}
	for _, f := range info.Families {
		if !run.families(f) {
			continue
		}
		found, err := gc.Collect(ctx, db.state, table, f, run.share, run.DryRun)
		family := GCFamily(found)
		report.Families = append(report.Families, family)
		if !run.DryRun {
			db.surplus.Add(found.Surplus)
		}
		if err != nil {
			return report, err
		}
		if run.DryRun || !run.compacts(&family) {
			continue
		}
		if err := db.state.AllowExpiry(ctx, db.state.Clock.Now()); err != nil {
			return report, err
		}
		if err := db.state.Store.Compact(ctx, f.Store, cf.Range{}); err != nil {
			return report, err
		}
	}
	return report, nil
}
