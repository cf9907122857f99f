// Package catalog is the schema in force: what reads and writes need of tables and
// families, what the schema permits, and the entries of the store's catalog, whose keys
// only this package knows.
package catalog

import (
	"cmp"
	"slices"
	"strings"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/schema"
)

// A Catalog is the schema in force, laid out for reads and writes. It is
// replaced as a whole, never changed.
type Catalog struct {
	Schema  *schema.Schema
	Tables  map[string]*Table
	Streams map[string]StreamEntry // by table
	Deleted []*Deleted             // those that can come back, the oldest deletion first

	Version  uint64 // in a store that several processes write
	Altering string // the mark of the process that is changing the schema, or ""
}

// A Table is what reads and writes need of a table.
type Table struct {
	Name     string
	Store    string // stands for the name in the names of its families in the store
	Declared *schema.Table
	Families []*Family // by name
	Ages     bool      // reads apply a limit that depends on the time
	Stream   *Stream   // nil without a change stream
	Marks    *Family   // the keys of changed rows; nil if nobody asks for them
}

// A Family is what reads and writes need of a family.
type Family struct {
	Name      string
	Store     string     // its name in the store
	Type      cells.Type // of the values that reads give
	Aggregate schema.Aggregate
	Limits    []schema.Limit // applied by reads
	Rule      []schema.Limit // all limits of the family's rule, which drop cells in the end
	Tuning    cf.Tuning
	Counts    bool // reads apply a limit that depends on the number of versions
}

// New is the catalog of a schema that is valid, with the change streams of its tables.
// The families of all tables have their own names in the store.
func New(s *schema.Schema, streams map[string]StreamEntry) *Catalog {
	return build(s, streams, nil, nil)
}

// With is the catalog with another schema and other change streams. New tables get names
// in the store that are free.
func (c *Catalog) With(s *schema.Schema, streams map[string]StreamEntry) *Catalog {
	return build(s, streams, c.stores(s, nil), c.Deleted)
}

// build makes a catalog. stores are the names of tables in the store, where they are
// other ones.
func build(s *schema.Schema, streams map[string]StreamEntry, stores map[string]string, deleted []*Deleted) *Catalog {
	c := &Catalog{Schema: s, Tables: map[string]*Table{}, Deleted: deleted}
	for i := range s.Tables {
		t := &s.Tables[i]
		c.Tables[t.Name] = newTable(t, stores[t.Name])
	}
	for name, t := range c.Tables {
		if marks := c.Tables[schema.MarksOf(name)]; marks != nil && len(marks.Families) == 1 {
			t.Marks = marks.Families[0]
		}
	}
	c.SetStreams(streams)
	return c
}

// Follow makes the catalog the one after old. It reuses the tables that the change of
// the schema did not touch: a transaction compares the pointers to see whether its tables
// have changed.
func (c *Catalog) Follow(old *Catalog, touched func(table string) bool) {
	c.Version, c.Altering = old.Version+1, old.Altering
	for name, t := range old.Tables {
		now := c.Tables[name]
		if now != nil && !touched(name) && (now.Marks == nil) == (t.Marks == nil) {
			c.Tables[name] = t
		}
	}
}

// newTable is a table by its declaration, without its change stream.
func newTable(t *schema.Table, store string) *Table {
	info := &Table{Name: t.Name, Store: cmp.Or(store, t.Name), Declared: t}
	for _, f := range t.Families {
		limits := t.Retention.Limits(f.GC)
		info.Families = append(info.Families, &Family{
			Name: f.Name, Store: StoreName(info.Store, f.Name), Type: f.Type, Limits: limits, Rule: f.GC.Limits(),
			Counts: counts(limits), Aggregate: f.Aggregate, Tuning: cf.Tuning(f.Tuning),
		})
		info.Ages = info.Ages || slices.ContainsFunc(limits, func(l schema.Limit) bool { return l.Age > 0 })
		if f.Aggregate != schema.NoAggregate {
			info.Families[len(info.Families)-1].Type = cells.TypeI64
		}
	}
	slices.SortFunc(info.Families, func(a, b *Family) int { return strings.Compare(a.Name, b.Name) })
	return info
}

// Table is the table of a name.
func (c *Catalog) Table(name string) (*Table, error) {
	if t, ok := c.Tables[name]; ok {
		return t, nil
	}
	return nil, fault.Errorf(fault.NotFound, "unknown table %q%s", name, schema.DidYouMean(name, c.TableNames()))
}

// TableNames are the names of the tables, in the order of the schema.
func (c *Catalog) TableNames() []string {
	names := make([]string, len(c.Schema.Tables))
	for i := range c.Schema.Tables {
		names[i] = c.Schema.Tables[i].Name
	}
	return names
}

// Family is the family of a name.
func (t *Table) Family(name string) (*Family, error) {
	if i, found := slices.BinarySearchFunc(t.Families, name, func(f *Family, name string) int { return strings.Compare(f.Name, name) }); found {
		return t.Families[i], nil
	}
	return nil, fault.Errorf(fault.NotFound, "unknown family %q in table %s%s", name, t.Name, schema.DidYouMean(name, t.familyNames()))
}

func (t *Table) familyNames() []string {
	names := make([]string, len(t.Families))
	for i, f := range t.Families {
		names[i] = f.Name
	}
	return names
}

// Tuning is a family's tuning, zero for an absent family.
func (c *Catalog) Tuning(table, family string) cf.Tuning {
	if c == nil || c.Tables[table] == nil {
		return cf.Tuning{}
	}
	f, err := c.Tables[table].Family(family)
	if err != nil {
		return cf.Tuning{}
	}
	return f.Tuning
}
