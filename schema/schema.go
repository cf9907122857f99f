// Package schema holds the declared shape of a database as plain values: tables,
// their column families, the type of a family's values and its retention rule. It
// reads them from YAML ([Parse]), checks them ([Schema.Validate]), writes one table
// as a catalog entry ([Table.MarshalCatalog]), and lists the changes from one schema
// to another ([Diff]).
//
// Nothing here touches a database. [Schema.Clone] and all functions that return a
// schema copy deeply. The values may be read by many goroutines as long as nobody
// writes to them.
package schema

import (
	"cmp"
	"slices"
	"time"

	"github.com/smolwc/smolwc/cells"
)

// A Schema is a set of tables. The zero Schema is empty and valid. The order of tables
// carries no meaning; [Parse] and [Plan.Apply] return it sorted by name.
type Schema struct {
	Tables []Table
}

// MaxFamilies is how many families a table may get. A table that an earlier version gave
// more keeps them: only a change that adds to them is refused.
const MaxFamilies = 1000

// A Table is a name and the column families that its rows may have cells in.
// The order of families is the declared one; it is kept for display and
// carries no other meaning.
type Table struct {
	// Name satisfies [CheckTableName] and is unique in its schema.
	Name     string
	Families []Family
	// Retention says how strictly reads apply the families' rules.
	Retention Enforcement
	// KeyFormat says how row keys are shown.
	KeyFormat KeyFormat
	// ChangeStream is the least time for which the table's changes can be read, 24
	// hours to 7 days; 0 keeps no changes.
	ChangeStream time.Duration
}

// A Family is one declared column family.
type Family struct {
	// Name satisfies [CheckFamilyName] and is unique in its table.
	Name string
	// Type is the type of every value in the family; with [cells.TypeAny], the zero Type,
	// each cell carries its own.
	Type cells.Type
	// Aggregate, if it is set, makes writes add to cells instead of setting them. The
	// cells are read as i64, and Type is [cells.TypeI64] or zero.
	Aggregate Aggregate
	// GC says which cells are dropped; nil keeps everything.
	GC *Rule
	// Tuning is how the engine keeps the family.
	Tuning Tuning
}

// Table returns the table of this name. It is part of s, not a copy.
func (s *Schema) Table(name string) (*Table, bool) {
	if s == nil {
		return nil, false
	}
	for i := range s.Tables {
		if s.Tables[i].Name == name {
			return &s.Tables[i], true
		}
	}
	return nil, false
}

// Family returns the family of this name. It is part of t, not a copy.
func (t *Table) Family(name string) (*Family, bool) {
	if t == nil {
		return nil, false
	}
	for i := range t.Families {
		if t.Families[i].Name == name {
			return &t.Families[i], true
		}
	}
	return nil, false
}

// Clone is a deep copy; nil stays nil.
func (s *Schema) Clone() *Schema {
	if s == nil {
		return nil
	}
	c := &Schema{Tables: slices.Clone(s.Tables)}
	for i := range c.Tables {
		c.Tables[i] = c.Tables[i].clone()
	}
	return c
}

// Equal reports whether s and o declare the same tables, families, types, aggregates,
// rules and tuning. The order of tables and families does not count. Rules are compared
// as they are written, not by their effect. A nil Schema is an empty one.
func (s *Schema) Equal(o *Schema) bool { return Diff(s, o).Empty() }

func (s *Schema) sort() {
	slices.SortFunc(s.Tables, func(a, b Table) int { return cmp.Compare(a.Name, b.Name) })
}

func (t Table) clone() Table {
	t.Families = cloneFamilies(t.Families)
	return t
}

func cloneFamilies(fs []Family) []Family {
	c := slices.Clone(fs)
	for i := range c {
		c[i] = c[i].clone()
	}
	return c
}

func (f Family) clone() Family {
	f.GC = f.GC.Clone()
	return f
}

// String is the family as a plan shows it: the name, and type, aggregate, rule
// and tuning if they are declared.
func (f Family) String() string {
	s := f.Name
	if f.Type != cells.TypeAny {
		s += " type=" + f.Type.String()
	}
	if f.Aggregate != NoAggregate {
		s += " aggregate=" + f.Aggregate.String()
	}
	if f.GC != nil {
		s += " " + f.GC.String()
	}
	if f.Tuning != (Tuning{}) {
		s += " " + f.Tuning.String()
	}
	return s
}
