package exec

import (
	"context"
	"iter"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/ql"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
)

// A Result is what a statement gives: a pointer to one of the types below.
type Result interface{ result() }

// A RowStream is the rows of a get or scan, read as they are asked for.
type RowStream struct {
	// Statement is the *Get or *Scan.
	Statement ql.Statement
	ql.Read
	// Table is the schema of the table that is read.
	Table schema.Table

	cost     read.Cost // when the rows have ended
	returned Amount
	rows     iter.Seq2[*query.Row, error]
	limit    int // rows to give out when the statement set no limit; 0: all
	count    int
	more     bool
	last     string
	nextPage string
}

// Counted is how many rows, and cells, a count found.
type Counted struct {
	query.Count
	WithCells bool
	About     bool // an estimate
	Stats     bool // say what it cost

	cost read.Cost
}

// Cost is what the count cost, when the statement asks for stats.
func (c *Counted) Cost() *Cost {
	if c == nil {
		return new(Cost)
	}
	return &Cost{Cost: c.cost, Returned: Amount{Rows: c.Rows, Cells: c.Cells}}
}

// Modified is the cell that an incr or append wrote.
type Modified struct {
	Table schema.Table
	Row   *query.Row // of that cell alone
	Cell  cells.Cell
}

// Matched is whether the condition of a cas held.
type Matched struct{ Matched bool }

// Explained is how a read is carried out.
type Explained struct {
	Statement ql.Statement // the Get, Scan, Count or Histogram
	Plan      query.Plan
	Estimate  *Estimate // nil if it is not known
	Cost      *Cost     // of having run it; nil when it was not
}

// A Cost is what a read cost and what came of it.
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

// Collected is what a gc removed, or would remove.
type Collected struct{ query.GCReport }

// Done says in a few words what a statement did.
type Done struct{ Message string }

// TableList is the tables there are, sorted by name.
type TableList struct{ Tables []schema.Table }

// Description is one table.
type Description struct{ Table schema.Table }

// HelpText is a page of help.
type HelpText struct{ Text string }

// Leave asks to end the session.
type Leave struct{}

func (*RowStream) result()   {}
func (*Counted) result()     {}
func (*Modified) result()    {}
func (*Matched) result()     {}
func (*Explained) result()   {}
func (*Collected) result()   {}
func (*Done) result()        {}
func (*TableList) result()   {}
func (*Description) result() {}
func (*HelpText) result()    {}
func (*Leave) result()       {}

// All reads the rows; it may be ranged over once. An error is the last thing
// it yields, with a nil row, and is an *[lex.Error] that wraps the database's.
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

// Cost is, after All, what the read cost, when the statement asks for stats.
// The time is not measured.
func (s *RowStream) Cost() *Cost {
	s = s.given()
	return &Cost{Cost: s.cost, Returned: s.returned}
}

// given is s, or a stream without rows if s is nil.
func (s *RowStream) given() *RowStream {
	if s == nil {
		return new(RowStream)
	}
	return s
}

// readPage reads the page that the statement asks for.
func (s *RowStream) readPage(ctx context.Context, table *query.Table, opts []read.Option) iter.Seq2[*query.Row, error] {
	return func(yield func(*query.Row, error) bool) {
		page, err := table.ReadPage(ctx, append(opts, read.PageSize(s.Limit), read.After(*s.Page))...)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, row := range page.Rows {
			if !yield(row, nil) {
				return
			}
		}
		s.nextPage = page.Next
	}
}

// NextPage is, after All, the token of the page that follows, of a statement
// that asks for pages; "" when this was the last.
func (s *RowStream) NextPage() string { return s.given().nextPage }

// Count is how many rows All has given so far.
func (s *RowStream) Count() int { return s.given().count }

// More reports, after All, that there are rows beyond the runner's own limit.
func (s *RowStream) More() bool { return s.given().more }

// Next is the statement that continues after the last row that All gave; nil if All gave
// no row or nothing can follow.
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

// Versioned reports whether a column may come with several cells.
func (s *RowStream) Versioned() bool { return s.given().Versions != 1 }

// ExactColumns are the columns when the statement names each one, else nil.
func (s *RowStream) ExactColumns() []ql.Column {
	s = s.given()
	for _, c := range s.Columns {
		if c.Kind != ql.ColumnExact {
			return nil
		}
	}
	return s.Columns
}
