package query

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/smolwc/smolwc/cells"
)

// A Filter takes the cells of a row, in their order, and gives on some of them,
// perhaps changed. Filters are those of Bigtable's google.bigtable.v2.RowFilter
// with the same meaning, and [ValueCompareFilter]. They are values: immutable,
// safe for concurrent use, good for any number of reads.
//
// A wrong argument is found by the read that the filter is given to; its error
// is of kind [InvalidArgument] and names the filter.
//
// The raw bytes of a value, which [ValueFilter] and [ValueRangeFilter] look at,
// are the payload of its encoding: strings and bytes as they are; i32, i64, f32
// and f64 big-endian, in 4 or 8 bytes; bool and byte in one.
//
// Regular expressions have RE2's syntax and match bytes, each byte a character
// of Latin-1. They must match the whole: "a" does not match "ab". The dot
// matches every byte but the newline; \C matches every byte.
type Filter interface {
	// String is the filter as text: the names are Bigtable's.
	String() string
	// check judges the filter's own arguments.
	check() error
	// subs are the filters inside.
	subs() []Filter
	// size is the number of bytes of the filter as a RowFilter message.
	size() int
	// compile makes the step of an evaluation.
	compile(e *evaluator) step
}

// RowFilter gives each row's cells to a filter and returns what it lets
// through; a row of which it leaves nothing is not returned. nil is no filter.
//
// The other options come first: the filter sees the cells that columns, time
// range, versions and cells per row select, of the rows that satisfy the
// conditions. [Limit] and [Offset] count the rows that the filter leaves. With
// [KeysOnly] the filter decides which rows are returned.
func RowFilter(f Filter) ReadOption {
	return optionFunc(func(r *readSpec) { r.filter, r.eightBytes = f, false })
}

// BigtableFilter is [RowFilter], but the raw bytes of an i32 or a byte are those of
// the i64 of the same value: Bigtable has integers of 8 bytes alone.
func BigtableFilter(f Filter) ReadOption {
	return optionFunc(func(r *readSpec) { r.filter, r.eightBytes = f, true })
}

// leaf is what filters without filters inside have in common.
type leaf struct{}

func (leaf) subs() []Filter { return nil }

// ChainFilters gives the row to the first filter, what that leaves to the
// second, and so on. It takes at least two filters.
func ChainFilters(fs ...Filter) Filter { return chainFilter(slices.Clone(fs)) }

type chainFilter []Filter

func (f chainFilter) subs() []Filter { return f }
func (f chainFilter) String() string { return "chain" + listFilters(f) }

// InterleaveFilters gives the row to each of the filters and puts what they
// leave together, in the order of a row. A cell that several leave is there
// several times, the copies in the order of the filters. It takes at least two
// filters.
func InterleaveFilters(fs ...Filter) Filter { return interleaveFilter(slices.Clone(fs)) }

type interleaveFilter []Filter

func (f interleaveFilter) subs() []Filter { return f }
func (f interleaveFilter) String() string { return "interleave" + listFilters(f) }

// ConditionFilter gives the row to predicate. When that leaves a cell, the row
// goes through ifTrue, otherwise through ifFalse. Of these two nil leaves
// nothing. There must be a predicate. All of it sees one state of the row.
func ConditionFilter(predicate, ifTrue, ifFalse Filter) Filter {
	return &conditionFilter{predicate, ifTrue, ifFalse}
}

type conditionFilter struct{ predicate, ifTrue, ifFalse Filter }

func (f *conditionFilter) subs() []Filter {
	return slices.DeleteFunc([]Filter{f.predicate, f.ifTrue, f.ifFalse}, func(f Filter) bool { return f == nil })
}

func (f *conditionFilter) String() string {
	return "condition" + listFilters([]Filter{f.predicate, f.ifTrue, f.ifFalse})
}

func listFilters(fs []Filter) string {
	texts := make([]string, len(fs))
	for i, f := range fs {
		if texts[i] = "nil"; f != nil {
			texts[i] = f.String()
		}
	}
	return "(" + strings.Join(texts, ", ") + ")"
}

// PassAllFilter leaves every cell.
func PassAllFilter() Filter { return constantFilter{name: passAll} }

// BlockAllFilter leaves no cell.
func BlockAllFilter() Filter { return constantFilter{name: blockAll} }

// SinkFilter gives every cell, as it is there, to the result of the read, past
// all filters that would follow, and none to the filter that follows: copies
// for the filters around it want an interleave. It cannot be inside a
// condition. Sunk cells stand before other copies of the same cell.
func SinkFilter() Filter { return constantFilter{name: sink} }

// StripValueFilter leaves every cell, its value replaced by the empty one: of
// type bytes, and no byte long.
func StripValueFilter() Filter { return constantFilter{name: stripValue} }

type constantFilter struct {
	leaf
	name string
}

const (
	passAll    = "pass_all"
	blockAll   = "block_all"
	sink       = "sink"
	stripValue = "strip_value"
)

func (f constantFilter) String() string { return f.name }

// LabelFilter leaves every cell and labels it; [Row.Label] tells. A label is 1
// to 15 lower-case letters, digits and hyphens. A cell can have one: of the
// filters of a chain only one may have labels inside.
func LabelFilter(label string) Filter { return labelFilter{label: label} }

type labelFilter struct {
	leaf
	label string
}

func (f labelFilter) String() string { return "label(" + strconv.Quote(f.label) + ")" }

// RowKeyFilter leaves the rows whose keys match a regular expression.
func RowKeyFilter(expr string) Filter { return newRegexFilter(ofRowKey, expr) }

// FamilyFilter leaves the cells in families whose names match a regular
// expression, which must not contain a colon.
func FamilyFilter(expr string) Filter { return newRegexFilter(ofFamily, expr) }

// ColumnFilter leaves the cells whose qualifiers match a regular expression.
func ColumnFilter(expr string) Filter { return newRegexFilter(ofQualifier, expr) }

// ValueFilter leaves the cells the raw bytes of whose values match a regular
// expression.
func ValueFilter(expr string) Filter { return newRegexFilter(ofValue, expr) }

// A regexFilter holds its expression compiled, so that it is compiled once for
// all reads.
type regexFilter struct {
	leaf
	of   subject
	expr string
	re   *byteRegexp
	err  error // why there is no re
}

// A subject is what an expression is matched against.
type subject string

const (
	ofRowKey    subject = "row_key_regex"
	ofFamily    subject = "family_name_regex"
	ofQualifier subject = "column_qualifier_regex"
	ofValue     subject = "value_regex"
)

func newRegexFilter(of subject, expr string) *regexFilter {
	re, err := compileRegexp(expr)
	return &regexFilter{of: of, expr: expr, re: re, err: err}
}

func (f *regexFilter) String() string { return string(f.of) + "(" + strconv.Quote(f.expr) + ")" }

// RowSampleFilter leaves each row with probability p, which is more than 0 and
// less than 1.
func RowSampleFilter(p float64) Filter { return sampleFilter{p: p} }

type sampleFilter struct {
	leaf
	p float64
}

func (f sampleFilter) String() string {
	return "row_sample(" + strconv.FormatFloat(f.p, 'g', -1, 64) + ")"
}

// A Bound is one end of a range of bytes. The zero Bound is no bound.
type Bound struct {
	at        string
	set, open bool
}

// Including is the bound of a range that has the value at itself in it.
func Including(at string) Bound { return Bound{at: at, set: true} }

// Excluding is the bound of a range that does not have the value at itself in it.
func Excluding(at string) Bound { return Bound{at: at, set: true, open: true} }

// until is the end of a range that goes to end, exclusive; "" is no bound.
func until(end string) Bound {
	if end == "" {
		return Bound{}
	}
	return Excluding(end)
}

// A span is the bytes between two bounds.
type span struct{ from, to Bound }

func (s span) contains(b string) bool {
	if s.from.set && (b < s.from.at || s.from.open && b == s.from.at) {
		return false
	}
	return !s.to.set || b < s.to.at || !s.to.open && b == s.to.at
}

func (s span) String() string {
	left, right := "[", "]"
	if s.from.open {
		left = "("
	}
	if s.to.open || !s.to.set {
		right = ")"
	}
	end := "∞"
	if s.to.set {
		end = strconv.Quote(s.to.at)
	}
	return left + strconv.Quote(s.from.at) + ", " + end + right
}

// ColumnRangeFilter leaves the cells of one family whose qualifiers are from
// start, inclusive, to end, exclusive; an empty end is no bound. It leaves
// nothing when there is no such family.
func ColumnRangeFilter(family, start, end string) Filter {
	return ColumnBoundsFilter(family, Including(start), until(end))
}

// ColumnBoundsFilter is [ColumnRangeFilter] with bounds of either sort.
func ColumnBoundsFilter(family string, from, to Bound) Filter {
	return &columnRangeFilter{family: family, span: span{from, to}}
}

type columnRangeFilter struct {
	leaf
	family string
	span   span
}

func (f *columnRangeFilter) String() string {
	return "column_range(" + strconv.Quote(f.family) + ", " + f.span.String() + ")"
}

// ValueRangeFilter leaves the cells the raw bytes of whose values are from
// start, inclusive, to end, exclusive; an empty end is no bound.
func ValueRangeFilter(start, end []byte) Filter {
	return ValueBoundsFilter(Including(string(start)), until(string(end)))
}

// ValueBoundsFilter is [ValueRangeFilter] with bounds of either sort.
func ValueBoundsFilter(from, to Bound) Filter { return &valueRangeFilter{span: span{from, to}} }

type valueRangeFilter struct {
	leaf
	span span
}

func (f *valueRangeFilter) String() string { return "value_range(" + f.span.String() + ")" }

// ValueBitmaskFilter leaves the cells the raw bytes of whose values are as many
// as those of mask and have every bit set that is set in mask.
func ValueBitmaskFilter(mask []byte) Filter { return &valueBitmaskFilter{mask: string(mask)} }

type valueBitmaskFilter struct {
	leaf
	mask string
}

func (f *valueBitmaskFilter) String() string { return "value_bitmask(" + strconv.Quote(f.mask) + ")" }

func (f *valueBitmaskFilter) matches(b []byte) bool {
	if len(b) != len(f.mask) {
		return false
	}
	for i := range b {
		if b[i]&f.mask[i] != f.mask[i] {
			return false
		}
	}
	return true
}

// ValueCompareFilter leaves the cells whose values compare so with v, as in
// [Where]: numbers by their exact value whatever their types, others within one
// type; of values that cannot be compared it leaves those for NE. Bigtable does
// not have it.
func ValueCompareFilter(op Op, v cells.Value) Filter { return &valueCompareFilter{op: op, value: v} }

type valueCompareFilter struct {
	leaf
	op    Op
	value cells.Value
}

func (f *valueCompareFilter) String() string {
	text := f.value.String()
	if f.value.Type() == cells.TypeString {
		text = strconv.Quote(text)
	}
	return fmt.Sprintf("value %s %s %s", f.op, f.value.Type(), text)
}

// TimestampRangeFilter leaves the cells with timestamps from since, inclusive,
// to until, exclusive; an until of 0 is no bound.
func TimestampRangeFilter(since, until cells.Timestamp) Filter {
	return &timestampRangeFilter{since: since, until: until}
}

type timestampRangeFilter struct {
	leaf
	since, until cells.Timestamp
}

func (f *timestampRangeFilter) String() string {
	return fmt.Sprintf("timestamp_range(%d, %d)", f.since, f.until)
}

// CellsPerRowOffsetFilter leaves all cells of the row but the first n; copies
// count.
func CellsPerRowOffsetFilter(n int) Filter { return countFilter{of: rowOffset, n: n} }

// CellsPerRowLimitFilter leaves the first n cells of the row, n at least 1;
// copies count.
func CellsPerRowLimitFilter(n int) Filter { return countFilter{of: rowLimit, n: n} }

// LatestNFilter leaves the newest n cells of each column, n at least 1; copies
// count. Bigtable's name is cells_per_column_limit.
func LatestNFilter(n int) Filter { return countFilter{of: columnLimit, n: n} }

type countFilter struct {
	leaf
	of counted
	n  int
}

// A counted is what a number limits.
type counted string

const (
	rowOffset   counted = "cells_per_row_offset"
	rowLimit    counted = "cells_per_row_limit"
	columnLimit counted = "cells_per_column_limit"
)

func (f countFilter) String() string { return string(f.of) + "(" + strconv.Itoa(f.n) + ")" }
