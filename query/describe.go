package query

import (
	"iter"
	"slices"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
)

// What a caller asks for is opaque, but for those who carry it out elsewhere: a
// client of a server says it in the words of the server's API.

// A ReadRequest is what the options of a read ask for.
type ReadRequest struct {
	Ranges      []RowRange       // sorted and disjoint
	Columns     []ColumnInterval // sorted and disjoint within a family; none is all
	Filter      Filter           // nil: none
	Where       []Condition
	Since       cells.Timestamp
	Until       cells.Timestamp // exclusive; 0 is no bound
	Versions    int             // of these 0 is all
	CellsPerRow int
	Limit       int
	Offset      int
	Reverse     bool
	KeysOnly    bool
}

// A RowRange is the rows from Start, inclusive, to End, exclusive. An empty End
// is no bound.
type RowRange = cf.Range

// A ColumnInterval is the qualifiers of a family from Start, inclusive, to End,
// exclusive.
type ColumnInterval struct {
	Family     string
	Start, End string // an empty End is no bound
}

// A Condition is one of [Where], [Exists] or [Absent].
type Condition struct{ c condition }

// Column is the column that is judged.
func (c Condition) Column() (family, qualifier string) { return c.c.family, c.c.qualifier }

// Comparison is what the column is compared with; ok is false for Exists and
// Absent.
func (c Condition) Comparison() (op Op, v cells.Value, ok bool) {
	return c.c.op, c.c.value, c.c.presence == mustCompare
}

// Absent reports whether the column must not be there.
func (c Condition) Absent() bool { return c.c.presence == mustBeAbsent }

// With is the condition with another value.
func (c Condition) With(v cells.Value) Condition {
	c.c.value = v
	return c
}

// Holds judges a row that has the column's newest cell in it, or none.
func (c Condition) Holds(r *Row) bool { return c.c.holds(r) }

// DescribeRead is what options ask for. Their errors are those of a read.
func DescribeRead(opts ...ReadOption) (*ReadRequest, error) {
	const op = "read rows"
	s, err := newReadSpec(opts)
	if err != nil {
		return nil, fail(op, "", "", err)
	}
	r := &ReadRequest{
		Ranges: slices.Clone(s.rows), Filter: s.filter, Since: s.since, Until: s.until,
		Versions: s.versions, CellsPerRow: s.cellsPerRow, Limit: s.limit, Offset: s.offset, Reverse: s.reverse, KeysOnly: s.keysOnly,
	}
	for _, c := range s.where {
		r.Where = append(r.Where, Condition{c})
	}
	r.Columns = columnRanges(s.columns)
	return r, nil
}

// columnRanges are the ranges of the specs, family by family.
func columnRanges(specs []ColumnSpec) []ColumnInterval {
	byFamily := map[string][]cf.Range{}
	var families []string
	for _, c := range specs {
		if byFamily[c.Family] == nil {
			families = append(families, c.Family)
		}
		q, _ := c.qualifiers()
		byFamily[c.Family] = append(byFamily[c.Family], q)
	}
	slices.Sort(families)
	var ranges []ColumnInterval
	for _, f := range families {
		for _, q := range cf.MergeRanges(byFamily[f]) {
			ranges = append(ranges, ColumnInterval{f, q.Start, q.End})
		}
	}
	return ranges
}

// DescribeFilter is the name that Bigtable's RowFilter has for a filter, and its
// argument: a string, a float64 or an int. Of a chain and an interleave, subs are
// the filters inside. The name is "" for those that are not told here.
func DescribeFilter(f Filter) (name string, arg any, subs []Filter) {
	switch f := f.(type) {
	case chainFilter:
		return "chain", nil, f
	case interleaveFilter:
		return "interleave", nil, f
	case constantFilter:
		return f.name, nil, nil
	case *regexFilter:
		return string(f.of), f.expr, nil
	case sampleFilter:
		return "row_sample", f.p, nil
	case countFilter:
		return string(f.of), f.n, nil
	}
	return "", nil, nil
}

// A Change is one step of a [Mutation].
type Change struct {
	Kind              ChangeKind
	ServerTime        bool // a set at the database's clock
	Family, Qualifier string
	// Since, inclusive, and Until, exclusive, bound the versions that are
	// deleted; an Until of 0 is no bound. A set or an add is at Since.
	Since, Until cells.Timestamp
	Value        cells.Value
}

// A ChangeKind says what a [Change] does.
type ChangeKind uint8

// The kinds of changes.
const (
	SetChange            = ChangeKind(changeSet)
	DeleteVersionsChange = ChangeKind(changeDeleteVersions)
	DeleteFamilyChange   = ChangeKind(changeDeleteFamily)
	DeleteRowChange      = ChangeKind(changeDeleteRow)
	AddChange            = ChangeKind(changeAdd)
	// MergeChange merges a sketch of distinct values, which is bytes, into a
	// cell: what [Table.Changes] has for an add to an hll, and
	// [Mutation.MergeAt] makes again.
	MergeChange = ChangeKind(changeMerge)
)

// Changes are the mutation's, in their order.
func (m *Mutation) Changes() iter.Seq[Change] {
	return func(yield func(Change) bool) {
		for _, c := range m.all() {
			if !yield(Change{ChangeKind(c.kind), c.serverTime, c.family, c.qualifier, c.since, c.until, c.value}) {
				return
			}
		}
	}
}

// A ModifyRule is one change of a [ReadModifyWrite]: an append of bytes when
// Append is not nil, else an increment.
type ModifyRule struct {
	Family, Qualifier string
	Append            []byte
	Text              bool // what is appended is text, for a column that is not there
	Delta             int64
}

// Rules are the changes, in their order.
func (m *ReadModifyWrite) Rules() iter.Seq[ModifyRule] {
	return func(yield func(ModifyRule) bool) {
		if m == nil {
			return
		}
		for _, r := range m.rules {
			rule := ModifyRule{Family: r.family, Qualifier: r.qualifier, Delta: r.delta}
			if rule.Text = r.isAppend && r.absent == cells.TypeString; r.isAppend {
				rule.Append = append([]byte{}, r.append...)
			}
			if !yield(rule) {
				return
			}
		}
	}
}

// NewRow is a row of cells that are in the order of a row: by family, qualifier
// and newest first.
func NewRow(key string, cs []cells.Cell) *Row { return rowOf(key, cs) }
