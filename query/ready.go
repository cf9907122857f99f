package query

import (
	"context"
	"errors"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/internal/catalog"
	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/query/internal/scan"
	"github.com/smolwc/smolwc/schema"
)

var (
	errNoDB      = fault.Errorf(fault.InvalidArgument, "there is no database; Open gives one, and its method Table gives a table")
	errNoContext = fault.Errorf(fault.InvalidArgument, "the context is nil; context.Background gives one")
)

// ready is an error if an operation cannot begin. Every operation begins with it,
// most of them through one of the methods below.
func (db *DB) ready(ctx context.Context) error {
	switch {
	case db == nil || db.state == nil:
		return errNoDB
	case ctx == nil:
		return errNoContext
	case db.closed.Load():
		return cf.ErrClosed
	}
	return nil
}

// database is the database of a table; nil if the table is nil.
func (t *Table) database() *DB {
	if t == nil {
		return nil
	}
	return t.db
}

// source begins a read of the table. It takes the schema in force and the time. The
// caller calls done at the end, unless there is an error.
func (t *Table) source(ctx context.Context) (src scan.Source, done func(), err error) {
	if err := t.database().ready(ctx); err != nil {
		return src, nil, err
	}
	if at, ok := ctx.Value(momentKey{}).(*moment); ok && at.db == t.db {
		table, err := at.in.Table(t.name)
		if err != nil {
			return src, nil, err
		}
		src = t.sourceAt(table, at.now)
		src.Store = at.from
		return src, func() {}, nil
	}
	from, c, done, err := t.db.state.Reading(ctx)
	if err != nil {
		return src, nil, err
	}
	table, err := c.Table(t.name)
	if err != nil {
		done()
		return src, nil, err
	}
	src = t.sourceOf(table)
	src.Store = from
	return src, done, nil
}

// momentKey is the key of a context under which a moment is kept.
type momentKey struct{}

// A moment is a snapshot of a database, and the schema and the time in it.
type moment struct {
	db   *DB
	from cf.Reader
	in   *catalog.Catalog
	now  cells.Timestamp
}

// AtOneMoment returns a context for reads of several tables of the database, all of one
// snapshot: those of [Table.ReadRows], [Table.ReadRowList], [Table.ReadRowsParallel] and
// [Table.ReadPartsParallel]. The caller calls done when all of them have ended. Goroutines may
// share the context.
func (db *DB) AtOneMoment(ctx context.Context) (at context.Context, done func(), err error) {
	const op = "take a snapshot"
	if err := db.ready(ctx); err != nil {
		return nil, nil, fail(op, "", "", err)
	}
	from, c, done, err := db.state.AtOneMoment(ctx)
	if err != nil {
		return nil, nil, fail(op, "", "", err)
	}
	return context.WithValue(ctx, momentKey{}, &moment{db, from, c, db.state.Clock.Now()}), done, nil
}

func (t *Table) sourceOf(table *catalog.Table) scan.Source {
	return t.sourceAt(table, t.db.state.Clock.Now())
}

func (t *Table) sourceAt(table *catalog.Table, now cells.Timestamp) scan.Source {
	return scan.Source{Store: t.db.state.Store, Table: table, Now: now, Unpushed: t.unpushed, MaxBytes: t.maxBytes}
}

// writing runs fn, a write, while the schema stays as it is. fn may run more than once:
// see [state.DB.Writing].
func (db *DB) writing(ctx context.Context, fn func(*catalog.Catalog) error) error {
	if err := db.ready(ctx); err != nil {
		return err
	}
	return db.state.Writing(ctx, fn)
}

// The schema that another process changes becomes known within schemaPoll, or with the
// next read or write. A call without a context waits for the store up to schemaWait.
const (
	schemaPoll = time.Second
	schemaWait = 5 * time.Second
)

// freshen makes the newest schema that in force, and reports whether it did.
func (db *DB) freshen() bool {
	if db.ready(context.Background()) != nil || db.state.Shared == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), schemaWait)
	defer cancel()
	return db.state.Freshen(ctx) == nil
}

// watchSchema keeps the schema in force up to date, while other processes may change it.
func (db *DB) watchSchema(ctx context.Context) {
	tick := time.NewTicker(schemaPoll)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			db.report(ctx, "cannot ask for the newest schema", errors.Join(db.state.FollowClock(ctx), db.state.Freshen(ctx)))
		}
	}
}

// inForce is the catalog in force. For a nil database it is empty.
func (db *DB) inForce() *catalog.Catalog {
	if db != nil && db.state != nil {
		if c := db.state.Catalog.Load(); c != nil {
			return c
		}
	}
	return catalog.New(new(schema.Schema), nil)
}
