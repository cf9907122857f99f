package cf

// A Scan says which cells of one family a cursor yields.
type Scan struct {
	Family string
	// Rows are the ranges of row keys to read, sorted and disjoint. None
	// means no row; Range{} is every row.
	Rows []Range
	// Reverse yields the rows in descending order. Within a row the order
	// stays: qualifiers ascending, newest version first.
	Reverse bool
	Filter  Filter
	// Sample yields only rows whose [RowHash] is less; 0 yields all. It
	// comes before Limit.
	Sample uint64
	// Limit ends the scan after this many rows; 0 is no limit.
	Limit int
	// CountTombstones has [Cost] count tombstones too, which may make the
	// scan a little slower.
	CountTombstones bool
	// Hint is the number of rows expected, 0 when unknown: a small read gets
	// a small first block.
	Hint int
}

// RowHash is the hash of a row key that samples go by: FNV-1a of 64 bits,
// mixed by the finalizer of MurmurHash3. It never changes.
func RowHash(row string) uint64 {
	h := uint64(0xcbf29ce484222325)
	for i := range len(row) {
		h = (h ^ uint64(row[i])) * 0x100000001b3
	}
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// A Part is a run of rows: from the end of the part before it to End, exclusive,
// as in a [Range].
type Part struct {
	End   string
	Bytes int64 // about what the rows take in the store
}

// A Filter is the part of a read that the engine evaluates. The zero Filter
// passes every cell. The conditions are applied in this order: retention,
// qualifiers, time range, versions, values, columns per row, cells per row.
type Filter struct {
	// Retention hides what retention rules have dropped; see [Retention].
	Retention []Retention
	// Qualifiers are the ranges of qualifiers wanted, sorted and disjoint;
	// none means all.
	Qualifiers []Range
	// Since and Until bound the timestamps: Since inclusive, Until
	// exclusive; an Until of 0 is no bound.
	Since, Until int64
	// Versions is how many of the newest cells of each column pass, of
	// those in the time range; 0 is no limit.
	Versions int
	// ColumnsPerRow is how many columns of each row pass, of those that have
	// a cell that does; 0 is no limit.
	ColumnsPerRow int
	// CellsPerRow is how many cells of each row pass; 0 is no limit.
	CellsPerRow int
	// StripValues yields cells without their values.
	StripValues bool
	// KeysOnly yields rows without cells: each row that has one that passes.
	KeysOnly bool
	// Values are the ranges of which a cell's value must be in one, sorted and
	// disjoint; none means any value. They come behind Versions. Of a row whose
	// cells pass but for their values there is the row without cells, so that
	// readers know how far a scan has come. They cannot be given with
	// ColumnsPerRow, CellsPerRow, StripValues, KeysOnly, Where or CountOnly.
	Values []Range
	// Where passes only rows that satisfy every condition; they are sorted by
	// qualifier. It cannot be given with ColumnsPerRow or CellsPerRow.
	Where []RowCondition
	// CountOnly yields rows without cells too, and the Len of each row of a
	// block is the number of its cells that pass; a row that goes on in a
	// further block has the rest there. It has no effect with KeysOnly.
	CountOnly bool
}

// A Retention hides a cell when its rank in its column, counted from 1 at the
// newest, is greater than Versions and its timestamp is not greater than UpTo:
// with math.MaxInt64 any timestamp will do, with a negative one no timestamp does. A cell hidden by any
// of a filter's Retentions is hidden.
type Retention struct {
	Versions int
	UpTo     int64
}

// A RowCondition is what a row must have in one column. It is judged by the
// newest cell of the column that passes the rest of the filter.
type RowCondition struct {
	Qualifier string
	// Values are the ranges of which the cell's value must be in one, sorted
	// and disjoint. None means that the row may have no such cell.
	Values []Range
}

// Holds judges the newest cell of the column; ok says that there is one.
func (c *RowCondition) Holds(value []byte, ok bool) bool {
	if len(c.Values) == 0 || !ok {
		return len(c.Values) == 0 && !ok
	}
	return ValueIn(c.Values, value)
}

// ValueIn reports whether a value is in one of the ranges.
func ValueIn(ranges []Range, value []byte) bool {
	for i := range ranges {
		if r := &ranges[i]; string(value) >= r.Start && (r.End == "" || string(value) < r.End) {
			return true
		}
	}
	return false
}
