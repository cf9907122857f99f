package query

import "github.com/smolwc/smolwc/cells"

// A Mutation is a list of changes to one row. They take effect together and in
// their order: a change sees what those before it did. A Mutation may be
// applied any number of times, to any rows; it belongs to one goroutine while
// it is built. A nil Mutation stays empty, and to apply it is an error.
type Mutation struct {
	changes []change
	newest  cells.Timestamp // that a change names
}

type changeKind uint8

const (
	changeSet changeKind = iota
	changeDeleteVersions
	changeDeleteFamily
	changeDeleteRow
	changeAdd
	changeMerge
)

// A change is one step of a mutation.
type change struct {
	kind              changeKind
	serverTime        bool // a set at the database's clock
	family, qualifier string
	since, until      cells.Timestamp // of versions; a set or an add is at since
	value             cells.Value
}

// NewMutation is an empty mutation.
func NewMutation() *Mutation {
	m := new(struct {
		Mutation
		room [fewChanges]change
	})
	m.changes = m.room[:0]
	return &m.Mutation
}

// fewChanges is for how many changes a mutation has room: a row's cells are
// mostly that few, and room that grows is copied.
const fewChanges = 6

// Reset empties the mutation and keeps its memory, for the next row. It must
// not be under way, nor in a [Batch] that is yet to be applied.
func (m *Mutation) Reset() {
	if m != nil {
		clear(m.changes)
		m.changes, m.newest = m.changes[:0], 0
	}
}

// Set writes a cell at the database's clock: microseconds, larger than that of
// every write before it. All Sets of one Apply share one timestamp.
func (m *Mutation) Set(family, qualifier string, v cells.Value) {
	m.add(change{kind: changeSet, serverTime: true, family: family, qualifier: qualifier, value: v})
}

// SetAt writes a cell at a timestamp of the caller's, which may be older than
// those that are there. A cell at the same timestamp is replaced.
func (m *Mutation) SetAt(family, qualifier string, ts cells.Timestamp, v cells.Value) {
	m.add(change{kind: changeSet, family: family, qualifier: qualifier, since: ts, value: v})
}

// DeleteCell removes one version of a column.
func (m *Mutation) DeleteCell(family, qualifier string, ts cells.Timestamp) {
	m.DeleteTimestampRange(family, qualifier, ts, ts.Until())
}

// DeleteTimestampRange removes the versions of a column from since, inclusive,
// to until, exclusive; an until of 0 is no bound. What retention had hidden in
// the column does not come back: it goes too.
func (m *Mutation) DeleteTimestampRange(family, qualifier string, since, until cells.Timestamp) {
	m.add(change{kind: changeDeleteVersions, family: family, qualifier: qualifier, since: since, until: until})
}

// DeleteCellsInColumn removes all versions of a column.
func (m *Mutation) DeleteCellsInColumn(family, qualifier string) {
	m.DeleteTimestampRange(family, qualifier, 0, 0)
}

// DeleteCellsInFamily removes all cells of the row in a family.
func (m *Mutation) DeleteCellsInFamily(family string) {
	m.add(change{kind: changeDeleteFamily, family: family})
}

// DeleteRow removes all cells of the row.
func (m *Mutation) DeleteRow() { m.add(change{kind: changeDeleteRow}) }

// Len is the number of changes.
func (m *Mutation) Len() int { return len(m.all()) }

func (m *Mutation) add(c change) {
	if m != nil {
		m.changes = append(m.changes, c)
		m.newest = max(m.newest, c.since, c.until-1)
	}
}

// all are the changes; a nil mutation has no change.
func (m *Mutation) all() []change {
	if m == nil {
		return nil
	}
	return m.changes
}

// A Batch is a list of mutations of rows, of any tables, that take effect
// together or not at all. It belongs to one goroutine while it is built. A nil Batch
// stays empty, and to apply it is an error.
type Batch struct{ entries []batchEntry }

type batchEntry struct {
	table, key string
	m          *Mutation
}

// NewBatch is an empty batch.
func NewBatch() *Batch { return new(Batch) }

// Add appends a mutation of a row and returns the batch. The mutation must not
// change until the batch has been applied.
func (b *Batch) Add(table, key string, m *Mutation) *Batch {
	if b == nil {
		return nil
	}
	if b.entries == nil {
		b.entries = make([]batchEntry, 0, fewRows)
	}
	b.entries = append(b.entries, batchEntry{table, key, m})
	return b
}

// fewRows is for how many mutations a batch has room from the start.
const fewRows = 16

// Len is the number of mutations.
func (b *Batch) Len() int {
	if b == nil {
		return 0
	}
	return len(b.entries)
}
