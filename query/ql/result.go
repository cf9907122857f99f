package ql

import (
	"iter"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
)

// A Result is what a statement gives: a pointer to one of the types below.
type Result interface{ result() }

// A RowStream is the rows of a get or scan, read as they are asked for.
type RowStream struct {
	// Statement is the *Get or *Scan.
	Statement Statement
	Read
	// Table is the schema of the table that is read.
	Table schema.Table

	rows  iter.Seq2[*query.Row, error]
	limit int // rows to give out when the statement set no limit; 0: all
	count int
	more  bool
	last  string
}

// Counted is how many rows, and cells, a count found.
type Counted struct {
	query.Count
	WithCells bool
}

// Modified is the cell that an incr or append wrote.
type Modified struct {
	Table schema.Table
	Row   *query.Row // of that cell alone
	Cell  cells.Cell
}

// Matched is whether the condition of a cas held.
type Matched struct{ Matched bool }

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
func (*Done) result()        {}
func (*TableList) result()   {}
func (*Description) result() {}
func (*HelpText) result()    {}
func (*Leave) result()       {}

// All reads the rows; it may be ranged over once. An error is the last thing
// it yields, with a nil row, and is an *[Error] that wraps the database's.
func (s *RowStream) All() iter.Seq2[*query.Row, error] {
	return func(yield func(*query.Row, error) bool) {
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
			s.last = row.Key()
			if !yield(row, nil) {
				return
			}
		}
	}
}

// Count is how many rows All has given so far.
func (s *RowStream) Count() int { return s.count }

// More reports, after All, that there are rows beyond the runner's own limit.
func (s *RowStream) More() bool { return s.more }

// Next is the statement that goes on behind the last row that All gave; nil
// when there was none or nothing can follow.
func (s *RowStream) Next() *Scan {
	scan, ok := s.Statement.(*Scan)
	if !ok || s.count == 0 {
		return nil
	}
	next := *scan
	next.After, next.Offset = s.last, 0
	return &next
}

// Versioned reports whether a column may come with several cells.
func (s *RowStream) Versioned() bool { return s.Versions != 1 }

// ExactColumns are the columns when the statement names each one, else nil.
func (s *RowStream) ExactColumns() []Column {
	for _, c := range s.Columns {
		if c.Kind != ColumnExact {
			return nil
		}
	}
	return s.Columns
}
