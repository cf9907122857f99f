package query

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/internal/catalog"
	"github.com/smolwc/smolwc/query/internal/fault"
)

// A janitor does a database's background work, in one goroutine: now and then it
// tells the store up to which time cells have expired, and once a day it removes
// surplus versions.
type janitor struct {
	cancel context.CancelFunc // nil: the janitor does not run
	done   chan struct{}
}

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
func (db *DB) startJanitor(interval time.Duration) error {
	now := db.state.Clock.Now()
	err := db.state.SetExpiry(context.Background(), func(f *catalog.Family) cf.Expiry { return cf.Expiry{Before: f.Expiry(now).Before} })
	if err != nil {
		return err
	}
	if interval == 0 {
		interval = defaultGCInterval
	}
	ctx, cancel := context.WithCancel(context.Background())
	db.janitor = janitor{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(db.janitor.done)
		db.clean(ctx, interval, now)
	}()
	return nil
}

// end tells the goroutine to end. Later failures are not logged.
func (j *janitor) end() {
	if j.cancel != nil {
		j.cancel()
	}
}

// wait waits until the goroutine has ended.
func (j *janitor) wait() {
	if j.cancel != nil {
		<-j.done
	}
}

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
	var failures int64 // failures of the engine that have been logged
	for {
		select {
		case <-ctx.Done():
			return
		case <-lag.C:
			db.report(ctx, "cannot let expired cells go", db.state.AllowExpiry(ctx, now))
			db.report(ctx, "cannot let old changes go", db.state.TrimChanges(ctx))
			failures = db.watch(ctx, failures)
			now = db.state.Clock.Now()
		case <-collect:
			db.collect(ctx)
			next(interval - interval/8 + rand.N(interval/4+1))
		}
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
