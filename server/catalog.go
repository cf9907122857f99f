package server

import (
	"context"
	"maps"
	"sync/atomic"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/internal/wire"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
)

// A catalog is the tables of a database as clients name them, and their notes.
type catalog struct {
	db    *query.DB
	own   wire.Instance // its tables have plain names
	notes atomic.Pointer[map[string]*tableNote]
}

// openCatalog reads what the database has of its tables.
func openCatalog(ctx context.Context, db *query.DB, own wire.Instance) (*catalog, error) {
	stored, err := db.TableNotes(ctx)
	if err != nil {
		return nil, err
	}
	notes := map[string]*tableNote{}
	for name, b := range stored {
		if notes[name], err = readNote(name, b); err != nil {
			return nil, err
		}
	}
	c := &catalog{db: db, own: own}
	c.notes.Store(&notes)
	return c, nil
}

// An openTable is a table that a request is about.
type openTable struct {
	*query.Table
	catalog  *catalog
	name     wire.Table
	declared schema.Table
}

// openNamed looks up a table by its full name.
func (c *catalog) openNamed(name string) (*openTable, error) {
	t, err := c.own.ParseTable(name)
	if err != nil {
		return nil, err
	}
	declared, ok := c.db.LookupTable(t.Stored)
	if !ok {
		return nil, t.NotFound()
	}
	return &openTable{c.db.Table(t.Stored), c, t, declared}, nil
}

// toStatus is the status of an error of the table, which may have gone meanwhile.
func (t *openTable) toStatus(ctx context.Context, err error) error {
	if query.KindOf(err) == query.NotFound {
		if _, ok := t.catalog.db.LookupTable(t.name.Stored); !ok {
			return t.name.NotFound()
		}
		return status.Errorf(codes.NotFound, "column family not found: %v", err)
	}
	return toStatus(ctx, err)
}

// checkRowKey judges a row key, in Bigtable's words.
func checkRowKey(key []byte) error {
	switch {
	case len(key) == 0:
		return wire.Invalid("Row keys must be non-empty")
	case len(key) > query.MaxRowKey:
		return wire.Invalid("the row key has %d bytes; it may have up to %d", len(key), query.MaxRowKey)
	}
	return nil
}

// setNote keeps the note of a table that exists. Changes of notes come one after the
// other.
func (c *catalog) setNote(ctx context.Context, stored string, n *tableNote) error {
	b, err := n.marshal()
	if err != nil {
		return err
	}
	if err := c.db.SetTableNote(ctx, stored, b); err != nil {
		return err
	}
	c.noted(stored, n)
	return nil
}

// noted takes in that the database has another note of a table, or with nil none.
// Changes of notes come one after the other.
func (c *catalog) noted(stored string, n *tableNote) {
	notes := maps.Clone(*c.notes.Load())
	if n == nil {
		delete(notes, stored)
	} else {
		notes[stored] = n
	}
	c.notes.Store(&notes)
}

// note is the note of a table, never nil.
func (c *catalog) note(stored string) *tableNote {
	if n := (*c.notes.Load())[stored]; n != nil {
		return n
	}
	return emptyNote
}

// granularity is that of a table's timestamps, unspecified of one that was not
// created through the API.
func (c *catalog) granularity(stored string) adminpb.Table_TimestampGranularity {
	return c.note(stored).table.GetGranularity()
}
