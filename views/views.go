// Package views runs queries of SQL on the tables and the views of a database. Logical
// views are queries with names; materialized views also have rows, which keepers make
// follow the tables. The server, the shell and Go programs use the same. The definitions
// are notes of the database. Decision record 46 explains the design.
//
// [Of] gives the [Views] of a database. Programs call [Views.Query], [Views.Create],
// [Views.Alter], [Views.Drop], [Views.Each] and [Views.Keep]; the other methods and types are
// for the server.
package views

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/smolwc/smolwc/internal/lock"
	"github.com/smolwc/smolwc/query"
)

// Views are the views of an open database, for one choice of the instance whose tables have
// plain names. The database holds them, so that all users share them. They are safe for
// concurrent use.
type Views struct {
	*registry
	changing lock.RW // held by changes of definitions

	keeping sync.Mutex
	keepers map[string]*keeper // by the names that source tables have in the database
}

// DefaultInstance is the instance whose tables have plain names in the database, unless
// another one is given. Programs that know no instances have their tables there.
const DefaultInstance = "projects/local/instances/local"

// Of are the views of an open database.
func Of(db *query.DB) *Views { return In(db, DefaultInstance) }

// heldBy is the key under which a database holds the views of an instance.
type heldBy string

// In are the views of an open database in which the tables of an instance,
// projects/P/instances/I, have plain names.
func In(db *query.DB, instance string) *Views { return InBranch(db, instance, instance) }

// InBranch returns the views of a branch that is served as an instance. The branch has copies of
// the views of its database, whose notes name the instance origin; they belong to instance here.
func InBranch(db *query.DB, instance, origin string) *Views {
	create := func() any {
		v := &Views{registry: &registry{db: db, own: instance, origin: origin}, changing: lock.NewRW(), keepers: map[string]*keeper{}}
		v.logger.Store(slog.New(slog.DiscardHandler))
		v.known.Store(&definitions{})
		return v
	}
	if db == nil { // each call fails
		return create().(*Views)
	}
	return db.Plumbing().Held(heldBy(instance), create).(*Views)
}

// Each calls fn for each view of the instance whose tables have plain names, first the
// logical ones, each kind sorted by name, until fn returns false.
func (v *Views) Each(ctx context.Context, fn func(View) bool) error {
	if err := v.Reload(ctx); err != nil {
		return named("list views", err)
	}
	for _, view := range v.All() {
		if view.Instance == v.own && fn != nil && !fn(view) {
			return nil
		}
	}
	return nil
}

// keeper is the keeper of a table.
func (v *Views) keeper(table string) *keeper {
	v.keeping.Lock()
	defer v.keeping.Unlock()
	k := v.keepers[table]
	if k == nil {
		k = &keeper{registry: v.registry, table: table, turn: lock.NewRW(), live: map[string]*live{}}
		v.keepers[table] = k
	}
	return k
}

// catchUp waits until a materialized view includes all rows written before. If it may be
// incomplete, the first reading of its table need not end.
func (v *Views) catchUp(ctx context.Context, m *Materialized, incomplete bool) error {
	if err := v.keeper(m.from.Stored).catchUp(ctx, m.view.Full(), incomplete); err != nil {
		return m.failed(err)
	}
	return nil
}

// How the keepers work while nobody reads: this often, for this long at once, and only for
// a part of the time unless they fall behind by more than the bound.
const (
	keeperPause  = 250 * time.Millisecond
	keeperBudget = 50 * time.Millisecond
	keeperShare  = 10 // one tenth of the time
	keeperBound  = 30 * time.Second
)

// Keep keeps all materialized views until the context ends. It logs its
// failures.
func (v *Views) Keep(ctx context.Context, logger *slog.Logger) {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	v.logger.Store(logger)
	pause := keeperPause
	for tidied := false; ; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		if !tidied {
			tidied = true
			if err := v.tidy(ctx); err != nil && ctx.Err() == nil {
				logger.Warn("marks without a materialized view cannot be dropped", "err", err)
			}
		}
		pause = keeperPause
		tables := map[string]bool{}
		for _, m := range v.known.Load().materialized {
			tables[m.from.Stored] = true
		}
		began := time.Now()
		late := false
		for table := range tables {
			k := v.keeper(table)
			if _, err := k.takeTurn(ctx, keeperBudget, &goal{}); err != nil && ctx.Err() == nil {
				logger.Warn("materialized views fall behind", "table", table, "err", err)
				pause = max(pause, time.Second)
			}
			late = late || k.lag(v.db.Now()) > keeperBound
		}
		if !late {
			pause = max(pause, (keeperShare-1)*time.Since(began))
		}
	}
}

// Lags are how far the materialized views are behind their tables, by their full names, as
// far as the keepers of this process have seen.
func (v *Views) Lags() map[string]time.Duration {
	now, lags := v.db.Now(), map[string]time.Duration{}
	for name, m := range v.known.Load().materialized {
		lags[name] = v.keeper(m.from.Stored).lag(now)
	}
	return lags
}
