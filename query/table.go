package query

import (
	"context"
	"slices"
	"strings"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
)

// A Table is a handle on a table of a database. It is safe for concurrent use.
type Table struct {
	db   *DB
	name string

	// For tests: filters stay whole, and a row may take at most these bytes.
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

// A catalog is the schema in force, laid out for reads and writes. It is
// replaced as a whole, never changed.
type catalog struct {
	schema  *schema.Schema
	tables  map[string]*tableInfo
	streams map[string]streamEntry // by table
}

// A tableInfo is what reads and writes need of a table.
type tableInfo struct {
	name     string
	declared *schema.Table
	families []*familyInfo // by name
	stream   *changeStream // nil without a change stream
}

// A familyInfo is what reads and writes need of a family.
type familyInfo struct {
	name      string
	store     string     // its name in the store
	typ       cells.Type // that reads give
	aggregate schema.Aggregate
	limits    []schema.Limit // that reads apply
	rule      []schema.Limit // that drop cells in the end: all there are
	tuning    cf.Tuning
	counts    bool // reads apply a limit that depends on the number of versions
}

// storeName is the name of a table's family in the store.
func storeName(table, family string) string { return table + "/" + family }

func newCatalog(s *schema.Schema, streams map[string]streamEntry) *catalog {
	c := &catalog{schema: s, tables: map[string]*tableInfo{}}
	for i := range s.Tables {
		t := &s.Tables[i]
		c.tables[t.Name] = newTableInfo(t)
	}
	c.setStreams(streams)
	return c
}

// keep reuses the tables that a change of the schema did not touch: a transaction
// compares the pointers to see whether its tables have changed.
func (c *catalog) keep(old *catalog, touched func(table string) bool) {
	for name, t := range old.tables {
		if _, there := c.tables[name]; there && !touched(name) {
			c.tables[name] = t
		}
	}
}

func newTableInfo(t *schema.Table) *tableInfo {
	info := &tableInfo{name: t.Name, declared: t}
	for _, f := range t.Families {
		limits := t.Retention.Limits(f.GC)
		info.families = append(info.families, &familyInfo{
			name: f.Name, store: storeName(t.Name, f.Name), typ: f.Type, limits: limits, rule: f.GC.Limits(),
			counts: counts(limits), aggregate: f.Aggregate, tuning: cf.Tuning(f.Tuning),
		})
		if f.Aggregate != schema.NoAggregate {
			info.families[len(info.families)-1].typ = cells.TypeI64
		}
	}
	slices.SortFunc(info.families, func(a, b *familyInfo) int { return strings.Compare(a.name, b.name) })
	return info
}

func (c *catalog) table(name string) (*tableInfo, error) {
	if t, ok := c.tables[name]; ok {
		return t, nil
	}
	return nil, fault.Errorf(fault.NotFound, "unknown table %q%s", name, schema.DidYouMean(name, c.tableNames()))
}

func (c *catalog) tableNames() []string {
	names := make([]string, len(c.schema.Tables))
	for i := range c.schema.Tables {
		names[i] = c.schema.Tables[i].Name
	}
	return names
}

func (t *tableInfo) family(name string) (*familyInfo, error) {
	for _, f := range t.families { // a handful
		if f.name == name {
			return f, nil
		}
	}
	return nil, fault.Errorf(fault.NotFound, "unknown family %q in table %s%s", name, t.name, schema.DidYouMean(name, t.familyNames()))
}

func (t *tableInfo) familyNames() []string {
	names := make([]string, len(t.families))
	for i, f := range t.families {
		names[i] = f.name
	}
	return names
}

// retention is the part of the family that reads hide at a moment, in the form
// that the store applies.
func (f *familyInfo) retention(now cells.Timestamp) []cf.Retention { return retentionAt(f.limits, now) }

// Flush writes the table's data in memory to files.
func (t *Table) Flush(ctx context.Context) error {
	return t.eachFamily(ctx, "flush", func(f *familyInfo) error { return t.db.store.Flush(ctx, f.store) })
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
	if err := t.db.allowExpiry(ctx, t.db.clock.now()); err != nil {
		return fail("compact", t.name, "", err)
	}
	return t.eachFamily(ctx, "compact", func(f *familyInfo) error {
		for _, r := range cf.MergeRanges(rows.Ranges) {
			if err := t.db.store.Compact(ctx, f.store, r); err != nil {
				return err
			}
		}
		return nil
	})
}

func (t *Table) eachFamily(ctx context.Context, op string, f func(*familyInfo) error) error {
	if err := t.database().ready(ctx); err != nil {
		return fail(op, t.Name(), "", err)
	}
	info, err := t.db.catalog.Load().table(t.name)
	if err != nil {
		return fail(op, t.name, "", err)
	}
	for _, fam := range info.families {
		if err := f(fam); err != nil {
			return fail(op, t.name, "", err)
		}
	}
	return nil
}
