package query

import (
	"context"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/internal/catalog"
	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
)

// A Table is a handle on a table of a database. It is safe for concurrent use.
type Table struct {
	db   *DB
	name string

	// For tests: unpushed keeps filters whole; maxBytes bounds the bytes of a row.
	unpushed bool
	maxBytes int
}

// Table is the handle of the table of this name. It is never nil: when there
// is no such table, its methods fail with [KindNotFound].
func (db *DB) Table(name string) *Table { return &Table{db: db, name: name} }

// Name is the table's name.
func (t *Table) Name() string {
	if t == nil {
		return ""
	}
	return t.name
}

// Flush writes the table's data in memory to files.
func (t *Table) Flush(ctx context.Context) error {
	return t.eachFamily(ctx, "flush", func(f *catalog.Family) error { return t.db.state.Store.Flush(ctx, f.Store) })
}

// Compact rewrites the table's files, which gives back the space of cells that
// were deleted or replaced, or have expired.
func (t *Table) Compact(ctx context.Context) error { return t.CompactRows(ctx, read.Range("", "")) }

// CompactRows is [Table.Compact] for the rows of a range.
func (t *Table) CompactRows(ctx context.Context, rows read.RowSet) error {
	if rows.Err != nil {
		return fail("compact", t.Name(), "", fault.Of(fault.InvalidArgument, rows.Err))
	}
	if err := t.database().ready(ctx); err != nil {
		return fail("compact", t.Name(), "", err)
	}
	if err := t.db.state.AllowExpiry(ctx, t.db.state.Clock.Now()); err != nil {
		return fail("compact", t.name, "", err)
	}
	return t.eachFamily(ctx, "compact", func(f *catalog.Family) error {
		for _, r := range cf.MergeRanges(rows.Ranges) {
			if err := t.db.state.Store.Compact(ctx, f.Store, r); err != nil {
				return err
			}
		}
		return nil
	})
}

func (t *Table) eachFamily(ctx context.Context, op string, f func(*catalog.Family) error) error {
	if err := t.database().ready(ctx); err != nil {
		return fail(op, t.Name(), "", err)
	}
	info, err := t.db.state.Catalog.Load().Table(t.name)
	if err != nil {
		return fail(op, t.name, "", err)
	}
	for _, fam := range info.Families {
		if err := f(fam); err != nil {
			return fail(op, t.name, "", err)
		}
	}
	return nil
}

// LookupTable is the declaration in force of a table; ok is false for no such
// table. It costs nothing, and shares its memory with the database: do not change
// it.
func (db *DB) LookupTable(name string) (t schema.Table, ok bool) {
	info, ok := db.inForce().Tables[name]
	if !ok {
		return schema.Table{}, false
	}
	return *info.Declared, true
}
