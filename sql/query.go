// Package sql is a part of GoogleSQL: that of Bigtable's clients, and joins and
// queries within queries. docs/sql.md describes it.
//
// Programs run queries with package views, whose [Result] is of this package: range over
// [Result.All], and put the values of a [Row] into variables with [Row.Scan] or [As]. The rest
// is for package views and the server.
//
// [Parse] makes a [Query] from a text; the Query names its tables. With the tables'
// schemas and the query's [Params] it becomes a [Plan], which knows the columns of the
// result, the rows to read, and how to make the result of them. The caller finds the
// tables, and sends the values.
//
// Package parse reads the text, package bind looks its names up and makes the plan, and
// package run carries it out.
package sql

import (
	"maps"
	"slices"
	"time"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/sql/bind"
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/run"
)

// A Query is a parsed query. Goroutines may share it.
type Query struct{ bound bind.Query }

// An Error is a fault of a query, of its parameters, or of a value that it computes: its
// Message, with Line and Column in the text where they are known. All errors of the package
// are of this type.
type Error = parse.Error

// Bundles finds a schema bundle of the query's table by its id. ok is false if there is no
// such bundle.
type Bundles = bind.Bundles

// A Table reads the rows of the query's table; [query.Table] is one.
type Table = run.Table

// Tables are the tables of a query by their names in it.
type Tables = run.Tables

// A Source describes a table of a query, or a materialized view.
type Source = bind.Source

// A Column is the Name and the Type of a column of a result. The columns of expressions may
// have no name.
type Column = run.Column

// An Amount is how much a query reads of tables: see [Plan.Estimate].
type Amount = run.Amount

// A Budget bounds the reads of a query.
type Budget = run.Budget

// A BudgetError says that a query is beyond its budget.
type BudgetError = run.BudgetError

// A Meter counts the reads of a query, and ends it beyond its budget.
type Meter = run.Meter

// RowBytes is the size of a row in an [Amount].
func RowBytes(row *query.Row) int64 { return run.RowBytes(row) }

// Parse reads a query.
func Parse(text string) (*Query, error) {
	q, err := parse.Parse(text)
	if err != nil {
		return nil, err
	}
	return &Query{bind.Query{Parsed: q}}, nil
}

// ParseView reads the query of a logical view, which can have VIEW_PARAMETERS.
func ParseView(text string) (*Query, error) {
	q, err := parse.View(text)
	if err != nil {
		return nil, err
	}
	return &Query{bind.Query{Parsed: q}}, nil
}

// A Function is a function that queries can call.
type Function = bind.Function

// Functions are all functions, sorted by their names.
func Functions() []Function { return bind.Functions() }

// with is the query after a change.
func (q *Query) with(change func(*bind.Query)) *Query {
	if q == nil {
		return nil
	}
	other := *q
	change(&other.bound)
	return &other
}

// At is the query at a moment, which CURRENT_TIMESTAMP and CURRENT_DATE show. Without At
// they show the time of Plan.
func (q *Query) At(now time.Time) *Query {
	return q.with(func(b *bind.Query) { b.Now = now })
}

// Explains reports whether the query begins with EXPLAIN.
func (q *Query) Explains() bool { return q != nil && q.bound.Parsed.Explain }

// InMemory is the query without temporary files: rows that it sorts or groups must fit
// into memory.
func (q *Query) InMemory() *Query {
	return q.with(func(b *bind.Query) { b.InMemory = true })
}

// Of is the query with a description of the table or materialized view of a name, for each
// of its tables.
func (q *Query) Of(name string, s Source) *Query {
	return q.with(func(b *bind.Query) {
		sources := maps.Clone(b.Sources)
		if sources == nil {
			sources = map[string]Source{}
		}
		sources[name] = s
		b.Sources = sources
	})
}

// Tables are the names of the tables, and views, that the query reads, in the order of the
// text, each once.
func (q *Query) Tables() (names []string) {
	q.bound.Parsed.EachFrom(func(f *parse.From) {
		if f.Table != "" && !slices.Contains(names, f.Table) {
			names = append(names, f.Table)
		}
	})
	return names
}

// Incomplete reports whether the query may read a materialized view whose table was not yet
// read to its end, by the hint allow_incomplete_view.
func (q *Query) Incomplete() bool { return q.bound.Parsed.Incomplete }

// Nested reports whether the query has others in it, or joins.
func (q *Query) Nested() bool {
	sources := 0
	q.bound.Parsed.EachFrom(func(*parse.From) { sources++ })
	return sources > 1
}

// Table is the name of the query's table, or of the first of several; empty for a query without one.
func (q *Query) Table() string {
	if names := q.Tables(); len(names) > 0 {
		return names[0]
	}
	return ""
}

// TableNotFound is the error of a query with a table that does not exist. It names the one
// of known that was probably meant.
func (q *Query) TableNotFound(table string, known []string) error {
	pos := -1
	q.bound.Parsed.EachFrom(func(f *parse.From) {
		if pos < 0 && f.Table == table {
			pos = f.Pos
		}
	})
	return q.bound.Parsed.Errorf(max(pos, 0), "Table not found: %s%s", table, schema.DidYouMean(table, known))
}

// ForBigtable is an error if Bigtable would refuse the query for a part that only smolwc has,
// such as a join.
func (q *Query) ForBigtable() error {
	b := q.bound.Parsed.Beyond
	if b == nil {
		b = q.bound.Beyond()
	}
	if b != nil {
		return q.bound.Parsed.Errorf(b.Pos, "Bigtable does not have %s, and this server takes queries of Bigtable only", b.What)
	}
	return nil
}

// Expand puts the queries of logical views in the place of their names. view is the text
// of a view's query; ok is false if there is no such logical view.
func (q *Query) Expand(view func(name string) (text string, ok bool)) (*Query, error) {
	b, err := bind.Expand(q.bound.Parsed, view)
	if err != nil {
		return nil, err
	}
	return &Query{*b}, nil
}

// Through are the logical views between the query and its table.
func (q *Query) Through() []string { return q.bound.Through }
