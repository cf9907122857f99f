// Package filter has the filters of reads as plain values. They are those of
// Bigtable's google.bigtable.v2.RowFilter with the same meaning, and [ValueCompare].
//
// A [Filter] takes the cells of a row, in their order, and gives on some of them,
// perhaps changed:
//
//	filter.Chain{filter.Family("loc|meta"), filter.Latest(1)}
//
// Filters are immutable once they are given to a read, and then safe for concurrent
// use and good for any number of reads. [Check] finds a wrong argument, and so does
// the read that the filter is given to.
//
// The raw bytes of a value, which [Value], [ValueRange] and [ValueBitmask] look at, are
// the payload of its encoding: strings and bytes as they are; i32, i64, f32 and f64
// big-endian, in 4 or 8 bytes; bool and byte in one.
//
// Regular expressions have RE2's syntax and match bytes, each byte a character of
// Latin-1. They must match the whole: "a" does not match "ab". The dot matches every
// byte but the newline; \C matches every byte.
package filter

import "github.com/smolwc/smolwc/cells"

// A Filter is one of the types of this package; nil is no filter.
type Filter interface {
	// String is the filter as text: the names are Bigtable's.
	String() string
	// check judges the filter's own arguments.
	check() error
	// size is the number of bytes of the filter as a RowFilter message.
	size() int
}

// A Chain gives the row to its first filter, what that leaves to the second, and so
// on. It has at least two filters.
type Chain []Filter

// An Interleave gives the row to each of its filters and puts what they leave
// together, in the order of a row. A cell that several leave is there several times,
// the copies in the order of the filters. It has at least two filters.
type Interleave []Filter

// A Condition gives the row to If. When that leaves a cell, the row goes through Then,
// otherwise through Else. Of these two nil leaves nothing. There must be an If. All of
// it sees one state of the row.
type Condition struct{ If, Then, Else Filter }

// PassAll leaves every cell.
type PassAll struct{}

// BlockAll leaves no cell.
type BlockAll struct{}

// Sink gives every cell, as it is there, to the result of the read, past all filters
// that would follow, and no cell to the filter that follows: copies for the filters
// around it want an interleave. It cannot be inside a condition. Sunk cells stand
// before other copies of the same cell.
type Sink struct{}

// StripValue leaves every cell and replaces its value with the empty one: of type
// bytes, and no byte long.
type StripValue struct{}

// A Label leaves every cell and labels it; a row tells the labels of its cells. A label
// is 1 to 15 lower-case letters, digits and hyphens. A cell can have one: of the
// filters of a chain only one may have labels inside.
type Label string

// RowKey leaves the rows whose keys match a regular expression.
type RowKey string

// Family leaves the cells in families whose names match a regular expression, which
// must not contain a colon.
type Family string

// Column leaves the cells whose qualifiers match a regular expression.
type Column string

// Value leaves the cells whose raw bytes match a regular expression.
type Value string

// RowSample leaves each row with this probability, which is more than 0 and less than
// 1. Each read chooses anew; read.SampleByKey is the choice that repeats.
type RowSample float64

// A ColumnRange leaves the cells of one family whose qualifiers are between two bounds.
// It leaves nothing when there is no such family.
type ColumnRange struct {
	Family   string
	From, To Bound
}

// A ValueRange leaves the cells whose raw bytes are between two bounds.
type ValueRange struct{ From, To Bound }

// A ValueBitmask leaves the cells whose raw bytes are as many as those of the mask and
// have every bit set that is set in the mask.
type ValueBitmask string

// A ValueCompare leaves the cells whose values compare so with Value: numbers by their
// exact value whatever their types, others within one type. Of values that cannot be
// compared it leaves those for [cells.OpNotEqual]. Bigtable does not have it.
type ValueCompare struct {
	Op    cells.Op
	Value cells.Value
}

// A TimestampRange leaves the cells with timestamps from Since, inclusive, to Until,
// exclusive; an Until of 0 is no bound.
type TimestampRange struct{ Since, Until cells.Timestamp }

// CellsPerRowOffset leaves all cells of the row but the first n; copies count.
type CellsPerRowOffset int

// CellsPerRowLimit leaves the first n cells of the row, n at least 1; copies count.
type CellsPerRowLimit int

// Latest leaves the newest n cells of each column, n at least 1; copies count.
// Bigtable's name is cells_per_column_limit.
type Latest int

// Within are the filters inside a filter, in their order, nil ones left out.
func Within(f Filter) []Filter {
	switch f := f.(type) {
	case Chain:
		return f
	case Interleave:
		return f
	case Condition:
		var subs []Filter
		for _, sub := range []Filter{f.If, f.Then, f.Else} {
			if sub != nil {
				subs = append(subs, sub)
			}
		}
		return subs
	}
	return nil
}

// Contains reports whether a filter, or one inside it, satisfies is.
func Contains(f Filter, is func(Filter) bool) bool {
	if is(f) {
		return true
	}
	for _, sub := range Within(f) {
		if Contains(sub, is) {
			return true
		}
	}
	return false
}
