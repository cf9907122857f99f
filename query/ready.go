package query

import (
	"context"

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

// source begins a read of the table. It takes the schema in force and the time.
func (t *Table) source(ctx context.Context) (src scan.Source, err error) {
	if err := t.database().ready(ctx); err != nil {
		return src, err
	}
	table, err := t.db.state.Catalog.Load().Table(t.name)
	return t.sourceOf(table), err
}

func (t *Table) sourceOf(table *catalog.Table) scan.Source {
	return scan.Source{Store: t.db.state.Store, Table: table, Now: t.db.state.Clock.Now(), Unpushed: t.unpushed, MaxBytes: t.maxBytes}
}

// holdSchema begins a write and keeps the schema unchanged until its end. The caller
// ends with SchemaLock.RUnlock.
func (db *DB) holdSchema(ctx context.Context) error {
	if err := db.ready(ctx); err != nil {
		return err
	}
	return db.state.SchemaLock.RLock(ctx)
}

// inForce is the catalog in force. A nil database has an empty one.
func (db *DB) inForce() *catalog.Catalog {
	if db != nil && db.state != nil {
		if c := db.state.Catalog.Load(); c != nil {
			return c
		}
	}
	return catalog.New(new(schema.Schema), nil)
}
