// Package sql is the part of GoogleSQL that Bigtable's clients may query with: a
// SELECT of at most one table, without joins and groups. docs/serve.md describes
// it.
//
// [Parse] makes a [Query] from a text; the Query names its table. With the table's
// schema and the query's [Params] it becomes a [Plan], which knows the columns of the
// result, the rows to read, which of these rows are wanted, and their values. The
// caller finds the table, reads the rows and sends the values.
package sql

import "slices"

// A Query is a parsed query:
//
//	SELECT * | COUNT(*) | expression [AS name], …  [FROM table[(option => value, …)] [AS alias]]
//	[WHERE condition] [ORDER BY _key [ASC | DESC]] [LIMIT n [OFFSET m]]
//
// Goroutines may share it.
type Query struct {
	source
	columns  []column
	table    string // empty: one row without columns
	tablePos int
	alias    string // the table's name in expressions
	options  []option
	where    *node // nil: every row
	reverse  bool
	limit    *node // nil: all
	offset   *node // nil: no rows are passed over
}

// A column is a column of the result; without an expression it is *, or COUNT(*).
type column struct {
	name  string
	expr  *node
	count bool
	pos   int
}

type option struct {
	name  string
	pos   int
	value *node
}

// Parse reads a query.
func Parse(text string) (*Query, error) {
	src := source{text}
	if len(text) > maxBytes {
		return nil, src.errorf(0, "the query has %d bytes; it may have up to %d", len(text), maxBytes)
	}
	tokens, err := tokenize(src)
	if err != nil {
		return nil, err
	}
	p := parser{source: src, tokens: tokens}
	return p.query()
}

// Table is the name of the query's table, empty for a query without one.
func (q *Query) Table() string { return q.table }

// TableNotFound is the error of a query whose table does not exist.
func (q *Query) TableNotFound() error {
	return q.errorf(q.tablePos, "Table not found: %s", q.table)
}

// isKey reports whether a name in ORDER BY is that of the row key.
func (q *Query) isKey(name string) bool {
	return name == rowKey || slices.ContainsFunc(q.columns, func(c column) bool {
		return c.name == name && c.expr != nil && nameOf(c.expr) == rowKey
	})
}
