// Package catalog finds the tables of a database by the names that clients have for
// them, keeps notes of them beside the schema, and turns a database's errors into
// statuses.
package catalog

import (
	"context"
	"errors"
	"maps"
	"sync"
	"sync/atomic"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/plumbing"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/server/internal/heat"
	"github.com/smolwc/smolwc/views"
)

// A Catalog is the tables of a database as clients name them, and their notes.
type Catalog struct {
	DB     *query.DB
	Own    wire.Instance // its tables have plain names in the database
	Heat   *heat.Heat    // which rows are read and written; nil: nobody counts them
	notes  atomic.Pointer[map[string]*Note]
	noting sync.Mutex    // held while the notes are replaced
	read   atomic.Uint64 // the version of the schema when they were read last

	Counts Counts
}

// Open reads the notes of a database. The tables of own have plain names in it.
func Open(ctx context.Context, db *query.DB, own wire.Instance) (*Catalog, error) {
	c := &Catalog{DB: db, Own: own}
	return c, c.Reload(ctx)
}

// Reload reads the notes again: another process may have changed them.
func (c *Catalog) Reload(ctx context.Context) error {
	c.noting.Lock()
	defer c.noting.Unlock()
	version := c.DB.Plumbing().SchemaVersion()
	stored, err := c.DB.Plumbing().TableNotes(ctx)
	if err != nil {
		return err
	}
	notes := map[string]*Note{}
	for name, b := range stored {
		if notes[name], err = ReadNote(name, b); err != nil {
			return err
		}
	}
	c.notes.Store(&notes)
	c.read.Store(version)
	return nil
}

// Under runs fn, which looks up tables and changes them. If the schema or the note of a
// table changes before the change commits, fn runs again with the new one, also if
// it refused the change because of an older state. It must have no effect until it
// succeeds, and gets the context for the change.
func (c *Catalog) Under(ctx context.Context, fn func(ctx context.Context) error) error {
	for {
		if c.ReadAt() != c.DB.Plumbing().SchemaVersion() {
			if err := c.Reload(ctx); err != nil {
				return Status(ctx, err)
			}
		}
		err := fn(c.DB.Plumbing().UnderSchema(ctx, c.ReadAt()))
		changed := errors.Is(err, plumbing.ErrSchemaChanged)
		switch {
		case !changed && (!refusals[status.Code(err)] || !c.Overtaken(ctx)):
			return err
		case ctx.Err() != nil:
			return Status(ctx, ctx.Err())
		}
	}
}

// Overtaken reports whether another process changed the schema, or a table's note, since
// the notes were read.
func (c *Catalog) Overtaken(ctx context.Context) bool {
	if !c.DB.Plumbing().Shared() {
		return false
	}
	c.DB.Plumbing().NewestTable(ctx, "")
	return c.DB.Plumbing().SchemaVersion() != c.ReadAt()
}

// refusals are the codes of changes that are refused by the schema or a note.
var refusals = map[codes.Code]bool{codes.InvalidArgument: true, codes.NotFound: true, codes.FailedPrecondition: true, codes.PermissionDenied: true}

// ReadAt is the version of the schema that was in force when the notes were read last.
func (c *Catalog) ReadAt() uint64 { return c.read.Load() }

// A Table is the table of a request.
type Table struct {
	*query.Table
	catalog  *Catalog
	Name     wire.Table
	Declared schema.Table // as it was when the request came
	View     *View        // the part of it that the request names; nil is all
	heat     *heat.Table  // nil for a table that only the server knows
}

// LookUp finds a table by its full name.
func (c *Catalog) LookUp(name string) (*Table, error) {
	t, err := c.Own.ParseTable(name)
	if err != nil {
		return nil, err
	}
	declared, ok := c.DB.LookupTable(t.Stored)
	if !ok || schema.IsDerived(t.Stored) {
		return nil, t.NotFound()
	}
	return &Table{c.DB.Table(t.Stored), c, t, declared, nil, c.Heat.Table(t.Stored)}, nil
}

// LookUpDerived is the table with the rows of a materialized view.
func (c *Catalog) LookUpDerived(rows views.Table) *Table {
	in, _, _ := wire.CutInstance(rows.Instance)
	t := wire.Table{In: in, ID: rows.ID, Stored: rows.Stored}
	declared, _ := c.DB.LookupTable(t.Stored)
	return &Table{c.DB.Table(t.Stored), c, t, declared, nil, nil}
}

// Status is the status of an error of the table, which may have been dropped
// meanwhile. Through a view it names no family: the nearest one may be hidden.
func (t *Table) Status(ctx context.Context, err error) error {
	if query.KindOf(err) == query.KindNotFound {
		if _, ok := t.catalog.DB.LookupTable(t.Name.Stored); !ok {
			return t.Name.NotFound()
		}
		if t.View != nil {
			return status.Error(codes.NotFound, "column family not found")
		}
		return status.Errorf(codes.NotFound, "column family not found: %v", err)
	}
	return Status(ctx, err)
}

// CheckRowKey checks a row key. Its errors have Bigtable's wording.
func CheckRowKey(key []byte) error {
	switch {
	case len(key) == 0:
		return wire.Invalid("Row keys must be non-empty")
	case len(key) > cells.MaxRowKey:
		return wire.Invalid("the row key has %d bytes; it may have up to %d", len(key), cells.MaxRowKey)
	}
	return nil
}

// SetNote keeps the note of a table that exists. The caller prevents other changes
// of notes meanwhile.
func (c *Catalog) SetNote(ctx context.Context, stored string, n *Note) error {
	b, err := n.Marshal()
	if err != nil {
		return err
	}
	if err := c.DB.Plumbing().SetTableNote(ctx, stored, b); err != nil {
		return err
	}
	c.Noted(stored, n)
	return nil
}

// Noted takes over the table's new note from the database; nil means that the table is
// gone, with its note and its heat. The caller prevents other changes of notes meanwhile.
func (c *Catalog) Noted(stored string, n *Note) {
	c.noting.Lock()
	defer c.noting.Unlock()
	notes := maps.Clone(*c.notes.Load())
	if n == nil {
		delete(notes, stored)
		c.Heat.Forget(stored)
	} else {
		notes[stored] = n
	}
	c.notes.Store(&notes)
}

// Note is the note of a table, never nil.
func (c *Catalog) Note(stored string) *Note {
	if n := (*c.notes.Load())[stored]; n != nil {
		return n
	}
	return emptyNote
}

// Notes are the notes of all tables, by the tables' names in the database. The caller does
// not change them.
func (c *Catalog) Notes() map[string]*Note { return *c.notes.Load() }

// Granularity returns the granularity of a table's timestamps, unspecified for a table
// not created through the API.
func (c *Catalog) Granularity(stored string) adminpb.Table_TimestampGranularity {
	return c.Note(stored).Table.GetGranularity()
}
