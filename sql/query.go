// Package sql is the part of GoogleSQL that Bigtable's clients may query with: a
// SELECT of at most one table, or pipes, without joins. docs/serve.md describes it.
//
// [Parse] makes a [Query] from a text; the Query names its table. With the table's
// schema and the query's [Params] it becomes a [Plan], which knows the columns of the
// result, the rows to read, and how to make the result of them. The caller finds the
// table, reads the rows and sends the values.
package sql

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/sql/message"
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/rowkey"
	"github.com/smolwc/smolwc/sql/value"
)

// A Query is a parsed query. Goroutines may share it.
type Query struct {
	parsed  *parse.Query
	rowKeys *rowkey.Schema
	bundles Bundles
	through []string      // the logical views that were expanded
	view    *Materialized // nil: the rows are those of a table
	now     time.Time     // zero: the time of Plan
	noFiles bool          // it writes no temporary files
}

// At is the query at a moment, which CURRENT_TIMESTAMP and CURRENT_DATE show. Without At
// they show the time of Plan.
func (q *Query) At(now time.Time) *Query {
	if q == nil {
		return nil
	}
	at := *q
	at.now = now
	return &at
}

// InMemory is the query without temporary files: rows that it sorts or groups must fit
// into memory.
func (q *Query) InMemory() *Query {
	if q == nil {
		return nil
	}
	in := *q
	in.noFiles = true
	return &in
}

// An Error is a fault of a query, of its parameters, or of a value that it computes.
// All errors of the package are of this type.
type Error = parse.Error

// Parse reads a query.
func Parse(text string) (*Query, error) {
	q, err := parse.Parse(text)
	if err != nil {
		return nil, err
	}
	return &Query{parsed: q}, nil
}

// Table is the name of the query's table, empty for a query without one.
func (q *Query) Table() string { return q.parsed.From.Table }

// WithRowKeys is the query on a table whose row keys have the fields of a schema, nil for
// none. The fields are columns, and conditions on them choose the rows to read.
func (q *Query) WithRowKeys(s *rowkey.Schema) *Query {
	on := *q
	on.rowKeys = s
	return &on
}

// Bundles finds a schema bundle of the query's table by its id. ok is false if there is no
// such bundle.
type Bundles func(id string) (b *message.Bundle, ok bool, err error)

// WithBundles is the query on a table that has schema bundles, to whose messages and enums
// columns can be cast.
func (q *Query) WithBundles(b Bundles) *Query {
	on := *q
	on.bundles = b
	return &on
}

// TableNotFound is the error of a query whose table does not exist. It names the one of
// known that was probably meant.
func (q *Query) TableNotFound(known []string) error {
	name := q.parsed.From.Table
	return q.parsed.Errorf(q.parsed.From.Pos, "Table not found: %s%s", name, schema.DidYouMean(name, known))
}

// A Column is a column of a result. Columns without a name are those of expressions.
type Column struct {
	Name string
	Type value.Type
}

// A Result is the columns and the rows of a query that runs while the caller ranges over
// Rows, which may be done once. The values of a row are those of package value, in the
// order of the columns, and the caller may keep them. An error is the last element.
type Result struct {
	Columns []Column
	Rows    iter.Seq2[[]any, error]
}

// Columns are the columns of the result.
func (p *Plan) Columns() (columns []Column) {
	for _, c := range p.resultColumns() {
		t := c.expr.typ
		if t.Kind == value.TypeNull {
			t.Kind = value.TypeInt64 // as in GoogleSQL, NULL needs a type
		}
		columns = append(columns, Column{c.name, t})
	}
	return columns
}

// Result runs the plan on a table, nil for a query without a table.
func (p *Plan) Result(ctx context.Context, t Table) *Result {
	return &Result{p.Columns(), func(yield func([]any, error) bool) {
		err := p.emitAll(ctx, t, func(values []any) error {
			if !yield(values, nil) {
				return errStopped
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStopped) {
			yield(nil, err)
		}
	}}
}

// errStopped says that the caller wants no more rows.
var errStopped = errors.New("the caller has stopped")

func (p *Plan) emitAll(ctx context.Context, t Table, emit func([]any) error) error {
	if p.Streams() {
		return p.emitWanted(ctx, t, emit)
	}
	return p.Run(ctx, t, emit)
}

// emitWanted emits the rows of a result that streams.
func (p *Plan) emitWanted(ctx context.Context, t Table, emit func([]any) error) error {
	first, end, err := p.Bounds()
	if err != nil || end == 0 {
		return err
	}
	seen := uint64(0)
	send := func(t *tuple) error {
		if seen++; seen <= first {
			return nil
		}
		values, err := outputValues(p.columns, t)
		if err != nil {
			return err
		}
		return emit(values)
	}
	opts, some := p.Reads("", end)
	switch {
	case !some:
		return nil
	case p.table.Name == "":
		return send(&tuple{ctx: ctx})
	}
	for row, err := range t.ReadRows(ctx, opts...) {
		if err != nil {
			return err
		}
		wanted, err := p.Wants(ctx, row)
		if err == nil && wanted {
			err = send(&tuple{row: row, ctx: ctx})
		}
		if err != nil || seen == end {
			return err
		}
	}
	return ctx.Err()
}
