// Package write defines changes of rows as plain values: a [Mutation] of one row, a
// [Batch] of mutations, a [ReadModifyWrite] of columns. A local database (package query)
// and a server's (package client) apply the same values:
//
//	m := write.NewMutation()
//	m.Set("loc", "dest", cells.String("SEA"))
//	err := table.Apply(ctx, "plane#N0042", m)
//
// Nothing here writes anything. A value is checked as a whole when it is applied,
// before anything is written.
package write

import (
	"slices"

	"github.com/smolwc/smolwc/cells"
)

// A Mutation is a list of changes to one row. They take effect together and in their
// order: each change sees the changes before it. A Mutation may be applied any number
// of times, to any rows; it belongs to one goroutine while it is built. A nil Mutation
// stays empty, and applying it is an error.
type Mutation struct {
	changes []Change
	newest  cells.Timestamp // the newest timestamp that a change names
}

// A Change is one step of a [Mutation].
type Change struct {
	Kind              ChangeKind
	ServerTime        bool // a set takes its timestamp from the database's clock
	Family, Qualifier string
	// Since, inclusive, and Until, exclusive, bound the versions that are deleted; an
	// Until of 0 is no bound. A set, an add or a merge is at Since.
	Since, Until cells.Timestamp
	Value        cells.Value
	// Unit, if it is not 0, rounds a timestamp of the database's clock down to a multiple.
	Unit cells.Timestamp
}

// A ChangeKind is the kind of a [Change].
type ChangeKind uint8

// The kinds of changes.
const (
	SetChange ChangeKind = iota
	DeleteVersionsChange
	DeleteFamilyChange
	DeleteRowChange
	AddChange
	// MergeChange merges a sketch of distinct values, which is bytes, into a cell.
	// [Mutation.MergeAt] makes it, and change streams show it in place of an add to an
	// hll.
	MergeChange
)

// NewMutation is an empty mutation.
func NewMutation() *Mutation {
	m := new(struct {
		Mutation
		room [fewChanges]Change
	})
	m.changes = m.room[:0]
	return &m.Mutation
}

// fewChanges is the capacity of a new mutation, in changes. Most rows have no more cells,
// and growing copies the list.
const fewChanges = 6

// MutationOf is a mutation of these changes. It takes over the slice: do not use it
// afterwards.
func MutationOf(changes []Change) *Mutation {
	m := &Mutation{changes: changes}
	for i := range changes {
		m.note(&changes[i])
	}
	return m
}

// Reset empties the mutation and keeps its memory, for the next row. Do not call it
// while the mutation is being applied, or is in a [Batch] that is yet to be
// applied.
func (m *Mutation) Reset() {
	clear(m.changes)
	m.changes, m.newest = m.changes[:0], 0
}

// Clone is a copy, which does not change with m.
func (m *Mutation) Clone() *Mutation {
	return &Mutation{slices.Clone(m.changes), m.newest}
}

// Set writes a cell at the time of the database's clock in microseconds, which is later
// than every time that the clock gave before. All Sets of one Apply share one
// timestamp.
func (m *Mutation) Set(family, qualifier string, v cells.Value) {
	m.add(Change{Kind: SetChange, ServerTime: true, Family: family, Qualifier: qualifier, Value: v})
}

// SetRounded is Set with the timestamp rounded down to a multiple of unit, in
// microseconds. A later write within the same unit replaces the cell.
func (m *Mutation) SetRounded(family, qualifier string, unit cells.Timestamp, v cells.Value) {
	m.add(Change{Kind: SetChange, ServerTime: true, Unit: unit, Family: family, Qualifier: qualifier, Value: v})
}

// SetAt writes a cell at a timestamp of the caller's, which may be older than those
// in the column. It replaces a cell at the same timestamp.
func (m *Mutation) SetAt(family, qualifier string, ts cells.Timestamp, v cells.Value) {
	m.add(Change{Kind: SetChange, Family: family, Qualifier: qualifier, Since: ts, Value: v})
}

// DeleteCell removes one version of a column.
func (m *Mutation) DeleteCell(family, qualifier string, ts cells.Timestamp) {
	m.DeleteTimestampRange(family, qualifier, ts, ts.Until())
}

// DeleteTimestampRange removes the versions of a column from since, inclusive, to
// until, exclusive; an until of 0 is no bound. It also removes the cells that
// retention hides in the column, so that they do not become visible.
func (m *Mutation) DeleteTimestampRange(family, qualifier string, since, until cells.Timestamp) {
	m.add(Change{Kind: DeleteVersionsChange, Family: family, Qualifier: qualifier, Since: since, Until: until})
}

// DeleteCellsInColumn removes all versions of a column.
func (m *Mutation) DeleteCellsInColumn(family, qualifier string) {
	m.DeleteTimestampRange(family, qualifier, 0, 0)
}

// DeleteCellsInFamily removes all cells of the row in a family.
func (m *Mutation) DeleteCellsInFamily(family string) {
	m.add(Change{Kind: DeleteFamilyChange, Family: family})
}

// DeleteRow removes all cells of the row.
func (m *Mutation) DeleteRow() { m.add(Change{Kind: DeleteRowChange}) }

// Add adds v to the cell at timestamp 0 of a column of an aggregating family: a sum
// grows by v; a min or max becomes v when v is less or greater; a count of distinct
// values grows by one unless v was added before. The first add creates the cell.
// Families with sum, min and max take i64. An hll takes every value, and equal numbers
// are one value whatever their types.
//
// An add does not read: it is as cheap as a Set, and it never conflicts with another
// add. A sum is not idempotent: an add that is repeated because no answer came counts
// twice.
//
// In a family with max_age a cell at timestamp 0 would expire at once: use AddAt.
func (m *Mutation) Add(family, qualifier string, v cells.Value) { m.AddAt(family, qualifier, 0, v) }

// AddAt is Add to the cell at a timestamp: each cell is an aggregate of its own. With the
// start of an hour as the timestamp, the column keeps one version per hour.
func (m *Mutation) AddAt(family, qualifier string, ts cells.Timestamp, v cells.Value) {
	m.add(Change{Kind: AddChange, Family: family, Qualifier: qualifier, Since: ts, Value: v})
}

// MergeAt merges a sketch, which stands for a set of values, into the cell at a
// timestamp of a column of a family with the aggregate hll: the cell then counts the
// union. Sketches are the bytes of [MergeChange]; docs/format.md shows them. Other
// bytes are an error when the mutation is applied. Merging a sketch again changes
// nothing.
func (m *Mutation) MergeAt(family, qualifier string, ts cells.Timestamp, sketch []byte) {
	m.add(Change{Kind: MergeChange, Family: family, Qualifier: qualifier, Since: ts, Value: cells.Bytes(sketch)})
}

// Len is the number of changes.
func (m *Mutation) Len() int { return len(m.Changes()) }

// Changes are the changes in their order. They belong to the mutation: do not change
// them.
func (m *Mutation) Changes() []Change {
	if m == nil {
		return nil
	}
	return m.changes
}

// Newest is the newest timestamp that a change names, 0 without such a change.
func (m *Mutation) Newest() cells.Timestamp {
	if m == nil {
		return 0
	}
	return m.newest
}

func (m *Mutation) add(c Change) {
	m.changes = append(m.changes, c)
	m.note(&c)
}

func (m *Mutation) note(c *Change) { m.newest = max(m.newest, c.Since, c.Until-1) }
