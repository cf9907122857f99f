// Package read defines requests for reads as plain values: a [Request], and the options
// that make one. A local database (package query) and a server's (package client) take the
// same options:
//
//	for row, err := range table.ReadRows(ctx, read.Prefix("plane#"), read.Family("loc"), read.Limit(10)) {
//
// Nothing here reads anything. Values are safe for concurrent use once they are made.
package read

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/filter"
)

// An Option says what a read returns. Options may be given in any order. If an option
// with a single value is given several times, the last one counts. A [RowSet], a
// [ColumnSpec], a [Condition] and a *[Request] are options too.
type Option interface{ apply(*Request) }

// A Request is the whole of a read's options. The zero Request asks for every cell of
// every row.
type Request struct {
	// Rows are the rows to read, in any order; they may overlap. nil is all rows.
	Rows []cf.Range
	// After is the key after which the read begins, exclusive, in the order of the
	// read; "" is the first row.
	After string
	// Sampled says that each row is read with the probability Sample; see
	// [SampleByKey].
	Sampled bool
	Sample  float64
	Limit   int // rows; 0 is no limit
	Offset  int // rows that are skipped first
	Reverse bool
	// Where are the conditions that a row satisfies, all of them.
	Where []Condition

	// Columns are the columns to read; an empty list means all columns.
	Columns     []ColumnSpec
	Since       cells.Timestamp // inclusive
	Until       cells.Timestamp // exclusive; 0 is no bound
	Versions    int             // of each column, the newest; 0 is all
	CellsPerRow int             // the first; 0 is all
	KeysOnly    bool
	EveryRow    bool // see [EveryRow]
	Lend        bool // see [Lend]

	// Filter sees the cells that all the other options select; nil is no filter.
	Filter filter.Filter
	// WideIntegers makes the filter see every integer as an i64.
	WideIntegers bool

	PageSize  int    // of a page; 0 is the default
	PageToken string // of the previous page; "" is the first page

	// Rejected gets the key of each row that the read does not return; see
	// [Rejected].
	Rejected func(key string) error
	// Cost is where the read writes its cost; see [ReportCost].
	Cost *Cost

	err    error         // of the first option that was wrong
	column [1]ColumnSpec // the memory of Columns for one column
}

// New is the request that options make, checked.
func New(opts ...Option) (*Request, error) {
	r := new(Request)
	return r, r.Set(opts...)
}

// Set adds options to the request and checks the whole.
func (r *Request) Set(opts ...Option) error {
	if r == nil {
		return errNil
	}
	for i, o := range opts {
		if isNil(o) {
			return fmt.Errorf("read option %d is nil", i+1)
		}
		o.apply(r)
	}
	return r.Check()
}

var errNil = errors.New("the request is nil")

func isNil(o Option) bool {
	switch o := o.(type) {
	case nil:
		return true
	case *Request:
		return o == nil
	case *RowSet:
		return o == nil
	case *ColumnSpec:
		return o == nil
	case *Condition:
		return o == nil
	}
	return false
}

// apply replaces the request with a copy of r, which later options change.
func (r *Request) apply(to *Request) {
	*to = *r
	// r may be shared: lists that grow are copied.
	to.Rows, to.Columns, to.Where = slices.Clip(r.Rows), slices.Clip(r.Columns), slices.Clip(r.Where)
}

// Check finds faults that make every read fail. Names of families and types of values
// are checked against the table.
func (r *Request) Check() error {
	if r == nil {
		return errNil
	}
	if r.err != nil {
		return r.err
	}
	for _, n := range []struct {
		name  string
		value int
	}{{"versions", r.Versions}, {"cells per row", r.CellsPerRow}, {"limit", r.Limit}, {"offset", r.Offset}, {"page size", r.PageSize}} {
		if n.value < 0 {
			return fmt.Errorf("%s is %d; it must not be negative", n.name, n.value)
		}
	}
	if err := r.Since.Check(); err != nil {
		return fmt.Errorf("since: %w", err)
	}
	if err := r.Until.Check(); err != nil {
		return fmt.Errorf("until: %w", err)
	}
	if r.Until != 0 && r.Since > r.Until {
		return fmt.Errorf("time range starts at %d, after its end %d", r.Since, r.Until)
	}
	if r.Sampled && !(r.Sample >= 0 && r.Sample <= 1) { // a NaN is neither
		return fmt.Errorf("sample of %v; it must be from 0 to 1", r.Sample)
	}
	if r.EveryRow && r.Filter != nil {
		return errors.New("EveryRow and a filter cannot be given together")
	}
	return filter.Check(r.Filter)
}

// RowRanges are the rows to read: sorted, disjoint, and not empty. They may share
// memory with the request. A nil request reads all rows.
func (r *Request) RowRanges() []cf.Range {
	if r == nil {
		return []cf.Range{{}}
	}
	if r.Sampled && r.Sample == 0 {
		return nil
	}
	rows := []cf.Range{{}}
	if r.Rows != nil {
		rows = cf.MergeRanges(r.Rows)
	}
	switch {
	case r.After == "":
		return rows
	case r.Reverse:
		return cf.ClipRanges(rows, cf.Range{End: r.After})
	}
	return cf.ClipRanges(rows, cf.Range{Start: r.After + "\x00"})
}

// HashBound is a bound, exclusive, for the [cf.RowHash] of sampled rows; 0 is no bound.
func (r *Request) HashBound() uint64 {
	if r == nil || !r.Sampled || r.Sample >= 1 || r.Sample == 0 {
		return 0
	}
	return max(1, uint64(math.Ldexp(r.Sample, 64)))
}
