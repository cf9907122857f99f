package write

import (
	"slices"

	"github.com/smolwc/smolwc/cells"
)

// A ReadModifyWrite is a list of changes to columns of one row that depend on the
// columns' newest values. It belongs to one goroutine while it is built. A nil
// ReadModifyWrite stays empty, and applying it is an error.
type ReadModifyWrite struct {
	rules []Rule
	at    cells.Timestamp
	hasAt bool
	unit  cells.Timestamp
}

// A Rule is one change of a [ReadModifyWrite]: an append, or else an increment.
type Rule struct {
	Family, Qualifier string
	Appends           bool
	Append            []byte
	Delta             int64
	// Absent is the type of an absent column's new value, in an untyped family.
	Absent cells.Type
	// BigEndian says that bytes are incremented as integers.
	BigEndian bool
}

// NewReadModifyWrite is a ReadModifyWrite without changes.
func NewReadModifyWrite() *ReadModifyWrite { return new(ReadModifyWrite) }

// Increment adds delta to an integer. Its type is the family's declared type, or
// the column's, or i64 for an absent column, which counts as 0. A result out of the
// type's range is an error; then nothing is written.
func (m *ReadModifyWrite) Increment(family, qualifier string, delta int64) {
	m.add(Rule{Family: family, Qualifier: qualifier, Delta: delta, Absent: cells.TypeI64})
}

// IncrementBytes is [ReadModifyWrite.Increment] as in Bigtable's ReadModifyWriteRow: in
// an untyped family it adds delta to a value of 8 bytes, a big-endian integer, or to an
// absent column, and wraps around at the ends of the range.
func (m *ReadModifyWrite) IncrementBytes(family, qualifier string, delta int64) {
	m.add(Rule{Family: family, Qualifier: qualifier, Delta: delta, Absent: cells.TypeBytes, BigEndian: true})
}

// AppendValue appends v to a string or bytes. The type is the family's declared type,
// or the column's, or bytes for an absent column, which counts as empty.
func (m *ReadModifyWrite) AppendValue(family, qualifier string, v []byte) {
	m.add(Rule{Family: family, Qualifier: qualifier, Append: slices.Clone(v), Appends: true, Absent: cells.TypeBytes})
}

// AppendString is [ReadModifyWrite.AppendValue] for text: an absent column counts as
// an empty string where the family declares no type.
func (m *ReadModifyWrite) AppendString(family, qualifier, s string) {
	m.add(Rule{Family: family, Qualifier: qualifier, Append: []byte(s), Appends: true, Absent: cells.TypeString})
}

// SetTimestamp replaces the database's clock: every column is written at ts, or at its
// newest cell's timestamp if that is later.
func (m *ReadModifyWrite) SetTimestamp(ts cells.Timestamp) {
	m.at, m.hasAt = ts, true
}

// Timestamp is the timestamp set by [ReadModifyWrite.SetTimestamp].
func (m *ReadModifyWrite) Timestamp() (ts cells.Timestamp, ok bool) {
	if m == nil {
		return 0, false
	}
	return m.at, m.hasAt
}

// RoundTimestamp rounds the time of the database's clock down to a multiple of unit, in
// microseconds.
func (m *ReadModifyWrite) RoundTimestamp(unit cells.Timestamp) {
	m.unit = unit
}

// Unit is the unit set by [ReadModifyWrite.RoundTimestamp].
func (m *ReadModifyWrite) Unit() cells.Timestamp {
	if m == nil {
		return 0
	}
	return m.unit
}

// Rules are the changes in their order. They belong to m: do not change them.
func (m *ReadModifyWrite) Rules() []Rule {
	if m == nil {
		return nil
	}
	return m.rules
}

func (m *ReadModifyWrite) add(r Rule) {
	m.rules = append(m.rules, r)
}
