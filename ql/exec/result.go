package exec

import (
	"context"
	"iter"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
)

// A Result is the result of a statement: a pointer to one of the types below.
type Result any

// A RowStream is the rows of a get or scan. They are read while the caller ranges over
// them.
type RowStream struct {
	// Statement is the *Get, *Scan or *Sample.
	Statement ql.Statement
	ql.Read
	// Table is the schema of the table that is read.
	Table schema.Table

	cost     read.Cost // set when the rows have ended
	returned Amount
	rows     iter.Seq2[*query.Row, error]
	limit    int // rows to return when the statement set no limit; 0: all
	count    int
	more     bool
	last     string
	nextPage string
	token    string  // of the page that is read
	moment   *moment // of the first page
}

// Counted is the number of rows, and of cells, that a count found.
type Counted struct {
	query.Count
	WithCells bool
	About     bool // an estimate
	Stats     bool // say what it cost

	cost read.Cost
}

// Cost is the cost of the count, if the statement asks for stats.
func (c *Counted) Cost() *Cost {
	return &Cost{Cost: c.cost, Returned: Amount{Rows: c.Rows, Cells: c.Cells}}
}

// Modified is the cell that an incr or append wrote.
type Modified struct {
	Table schema.Table
	Row   *query.Row // with only that cell
	Cell  cells.Cell
}

// Matched says whether the condition of a cas held.
type Matched struct{ Matched bool }

// Explained says how a read is executed.
type Explained struct {
	Statement ql.Statement // the Get, Scan, Count or Histogram
	Plan      query.Plan
	Estimate  *Estimate // nil if there is no estimate
	Cost      *Cost     // of the execution; nil if it was not run
}

// A Cost is the work of a read, and how much it returned.
type Cost struct {
	read.Cost
	Returned Amount
	Elapsed  time.Duration
}

// An Amount is how much was returned. A count returns no bytes.
type Amount struct {
	Rows, Cells int64
	Bytes       int64 // of row keys, qualifiers and values; a row's key counts once
}

func (a *Amount) add(row *query.Row) {
	a.Rows++
	a.Bytes += int64(len(row.Key()))
	for c := range row.Cells() {
		a.Cells++
		a.Bytes += int64(len(c.Qualifier) + c.Value.EncodedLen())
	}
}

// Collected counts the cells that a gc removed, or would remove in a dry run.
type Collected struct{ query.GCReport }

// Done describes a finished statement in a few words.
type Done struct{ Message string }

// TableList is the existing tables, sorted by name, and the views.
type TableList struct {
	Tables []schema.Table
	Views  []View
}

// View is a query with a name.
type View struct {
	Name, Query  string
	Materialized bool
}

// Kind returns materialized or logical.
func (v View) Kind() string { return kindOfView(v.Materialized) }

func kindOfView(materialized bool) string {
	if materialized {
		return "materialized"
	}
	return "logical"
}

// Description is one table.
type Description struct{ Table schema.Table }

// HelpText is a page of help.
type HelpText struct{ Text string }

// Leave ends the session.
type Leave struct{}

// All reads the rows; the caller may range over it once. An error is the last element,
// with a nil row. It is an *[lex.Error] that wraps the database's error.
func (s *RowStream) All() iter.Seq2[*query.Row, error] {
	return func(yield func(*query.Row, error) bool) {
		if s == nil || s.rows == nil {
			return
		}
		for row, err := range s.rows {
			if err != nil {
				yield(nil, failure(s.Statement.Position(), err))
				return
			}
			if s.limit > 0 && s.count == s.limit {
				s.more = true
				return
			}
			s.count++
			if s.Stats {
				s.returned.add(row)
			}
			s.last = row.Key()
			if !yield(row, nil) {
				return
			}
		}
	}
}

// Cost returns, after All, the cost of the read, if the statement asks for stats. Elapsed
// is not set.
func (s *RowStream) Cost() *Cost {
	s = s.given()
	return &Cost{Cost: s.cost, Returned: s.returned}
}

// given returns s, or an empty stream if s is nil.
func (s *RowStream) given() *RowStream {
	if s == nil {
		return new(RowStream)
	}
	return s
}

func (s *RowStream) readPage(ctx context.Context, table Table, opts []read.Option) iter.Seq2[*query.Row, error] {
	return func(yield func(*query.Row, error) bool) {
		page, err := table.ReadPage(ctx, append(opts, read.PageSize(s.Limit), read.After(s.token))...)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, row := range page.Rows {
			if !yield(row, nil) {
				return
			}
		}
		s.nextPage = s.moment.token(page.Next)
	}
}

// NextPage returns, after All, the token of the next page if the statement asks for
// pages; "" after the last page.
func (s *RowStream) NextPage() string { return s.given().nextPage }

// Count returns the number of rows that All returned so far.
func (s *RowStream) Count() int { return s.given().count }

// More reports, after All, whether rows exist beyond the runner's own limit.
func (s *RowStream) More() bool { return s.given().more }

// Next returns a statement that continues after the last row that All returned. It is
// nil if All returned no row or if no row can follow.
func (s *RowStream) Next() *ql.Scan {
	s = s.given()
	scan, ok := s.Statement.(*ql.Scan)
	if !ok || scan == nil || s.count == 0 {
		return nil
	}
	next := *scan
	if s.Page != nil {
		if s.nextPage == "" {
			return nil
		}
		next.Page = &s.nextPage
		return &next
	}
	next.After, next.Offset = s.last, 0
	next.Tuples = next.Tuples || s.Table.KeyFormat == schema.TupleKeys
	return &next
}

// Versioned reports whether a column may have several cells.
func (s *RowStream) Versioned() bool { return s.given().Versions != 1 }

// ExactColumns returns the columns if the statement names each one exactly, else nil.
func (s *RowStream) ExactColumns() []ql.Column {
	s = s.given()
	for _, c := range s.Columns {
		if c.Kind != ql.ColumnExact {
			return nil
		}
	}
	return s.Columns
}

// A Listing is a small table of facts as a statement's result. Each line consists of
// one field for each of Columns: a string, a Word, a cells.Value of text or bytes, an
// int64, a float64, a cells.Timestamp, or nil for an empty field.
type Listing struct {
	Columns []string // names in csv and json
	Lines   [][]any
	// Format is the format that the statement asks for; "" if it names no format.
	Format string
	// Bars is the column that terminals show as bars; "": no bars.
	Bars string
	// Line is the numbers of a line drawing, NaN for a gap; nil: no drawing.
	Line []float64
	// Upright shows people each field that is not empty on its own line, whole.
	Upright bool
	// Notes are shown to people below the table.
	Notes []string
}

// A Word is a name that people see as a word of the language. Machines see it unchanged.
type Word string

// Statistics are the engine's statistics.
type Statistics struct {
	// Families lists one line for each family.
	Families *Listing
	// Engine lists the figures of the whole database; it is empty if the statement is
	// about a table.
	Engine []Figure
	Format string // the format that the statement asks for; "" if it names no format
}

// A Figure is one statistic of a database.
type Figure struct {
	Name  string // the name in json: cache_hit_rate
	Value any    // an int64, a float64 or a string
	Unit  string // bytes, us, or "" for a plain number or text
}
