package cf

import "sort"

// A Scan selects the cells of one family that a cursor yields.
type Scan struct {
	Family string
	// Rows are the ranges of row keys to read, sorted and disjoint. No ranges mean no
	// rows; Range{} is every row.
	Rows []Range
	// Reverse yields the rows in descending order. Within a row, qualifiers still
	// ascend and the newest version comes first.
	Reverse bool
	Filter  Filter
	// Sample yields only rows whose [RowHash] is less than Sample; 0 yields all. It is
	// judged before Limit.
	Sample uint64
	// Limit ends the scan after this many rows; 0 is no limit.
	Limit int
	// CountTombstones counts tombstones in [Cost]. It may make the scan a little
	// slower.
	CountTombstones bool
	// Hint is the expected number of rows, 0 when unknown: a small read gets a small
	// first block.
	Hint int
	// Lend says that the caller releases blocks; see [Block.Release]. Stores may ignore it.
	Lend bool
	// Catalog, unless it is 0, is the version of the catalog that [Reader.Read] of a
	// [Shared] store demands: if the catalog is at another one, the error is
	// [ErrCatalogChanged].
	Catalog uint64
}

// RowHash is the hash of a row key for [Scan.Sample]: FNV-1a of 64 bits, mixed by the
// finalizer of MurmurHash3. It never changes.
func RowHash(row string) uint64 {
	h := uint64(0xcbf29ce484222325)
	for i := range len(row) {
		h = (h ^ uint64(row[i])) * 0x100000001b3
	}
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// A Part is the rows from the End of the part before it to its own End, exclusive. An
// empty End is no bound.
type Part struct {
	End   string
	Bytes int64 // about the size of the rows in the store
}

// A Filter is the part of a read that the engine evaluates. The zero Filter
// passes every cell. The conditions are applied in this order: retention,
// qualifiers, time range, versions, values, columns per row, cells per row.
type Filter struct {
	// Retention hides cells that retention rules have dropped; see [Retention].
	Retention []Retention
	// Qualifiers are the ranges of qualifiers to read, sorted and disjoint; no ranges
	// mean all.
	Qualifiers []Range
	// Since and Until bound the timestamps: Since inclusive, Until
	// exclusive; an Until of 0 is no bound.
	Since, Until int64
	// Versions is the number of cells of each column that pass: the newest ones in the
	// time range; 0 is no limit.
	Versions int
	// ColumnsPerRow is the number of columns of each row that pass; columns without a
	// passing cell do not count; 0 is no limit.
	ColumnsPerRow int
	// CellsPerRow is the number of cells of each row that pass; 0 is no limit.
	CellsPerRow int
	// StripValues yields cells without their values.
	StripValues bool
	// KeysOnly yields the rows that have a passing cell, without their cells.
	KeysOnly bool
	// Values are the ranges that a cell's value must be in, sorted and disjoint; no ranges
	// mean any value. They are judged after Versions. A row whose cells fail by their
	// values alone is returned without cells, so that readers know how far a scan is.
	// Values cannot be given with ColumnsPerRow, CellsPerRow, StripValues, KeysOnly, Where
	// or CountOnly.
	Values []Range
	// Where passes only rows that satisfy every condition; they are sorted by
	// qualifier. It cannot be given with ColumnsPerRow or CellsPerRow.
	Where []RowCondition
	// EveryRow also yields the rows that have a passing cell only in columns outside of
	// Qualifiers. Such a row comes without cells, and with a count of 0.
	EveryRow bool
	// CountOnly also yields rows without cells. The Len of a row in a block is the number
	// of its cells that pass. A row that continues in the next block is counted further
	// there. KeysOnly overrides CountOnly.
	CountOnly bool
}

// A Retention hides a cell whose rank in its column is greater than Versions and whose
// timestamp is at most UpTo. The rank of a column's newest cell is 1. An UpTo of
// math.MaxInt64 matches any timestamp, a negative UpTo matches no timestamp. A filter hides
// each cell that one of its Retentions hides.
type Retention struct {
	Versions int
	UpTo     int64
}

// A RowCondition is a condition on one column of a row. It is judged by the newest cell
// of the column that passes the rest of the filter.
type RowCondition struct {
	Qualifier string
	// The cell's value must be in one of these ranges, which are sorted and disjoint.
	// No ranges mean that the row must not have the cell.
	Values []Range
}

// Holds judges the newest cell of the column; ok says that there is one.
func (c *RowCondition) Holds(value []byte, ok bool) bool {
	if len(c.Values) == 0 || !ok {
		return len(c.Values) == 0 && !ok
	}
	return ValueIn(c.Values, value)
}

// ValueIn reports whether a value is in one of the ranges, which are sorted and disjoint.
func ValueIn(ranges []Range, value []byte) bool {
	behind := sort.Search(len(ranges), func(i int) bool { return ranges[i].Start > string(value) })
	return behind > 0 && (ranges[behind-1].End == "" || string(value) < ranges[behind-1].End)
}
