// Package run carries out the plans of package bind: it reads rows, passes them as tuples
// through the steps of a plan, which filter, group and sort them, in memory and in files,
// and explains plans.
package run

import (
	"context"
	"errors"
	"iter"
	"math"
	"slices"

	"go.opentelemetry.io/otel/attribute"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/internal/spans"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/value"
)

// A Plan is a query whose names are looked up and whose types are checked. Package bind makes
// it, and nothing changes it then: runs share it. Without values of the query's parameters
// it only knows its columns.
type Plan struct {
	Table    string          // empty: a query without one
	From     Source          // nil: the rows are the table's, or there is one row
	Families []schema.Family // of the table
	Columns  []Output
	Where    *Condition // of the rows of the table; nil: every row
	Within   []cf.Range // the rows of a materialized view that the condition demands; nil: all
	Reverse  bool       // rows are read from the last
	Stream   bool       // the result is the wanted rows, one by one
	Limit    Eval       // of a stream; nil: none
	Offset   Eval
	Steps    []Step // of other results
	Plain    bool   // the columns are the values of the last tuples, as they are
	Options  []read.Option
	Reads    []read.ColumnSpec // the columns that expressions read
	Pushed   bool              // only these are read
	Cells    bool              // it needs more than row keys
	Windowed bool              // it sees only cells of a range of times
	InMemory bool              // it writes no files
	Explain  bool
	Analyze  bool // after EXPLAIN
	Size     Size
	Queries  []*Query // in expressions, by their numbers
}

// A Query is a query in an expression. It has one answer for all rows, or one for those that
// give it the same values: of a table that is made once, or by a run for these values. Answers
// of runs are kept within a bound.
type Query struct {
	At     int // its number among the queries of the plan
	Kind   QueryKind
	Float  bool              // its values, which are looked for, are compared as FLOAT64
	Placed func(error) error // gives an error its place; nil stays nil

	Plan  *Plan  // nil: only Held answers
	Outer []Eval // the values that Plan takes of the row around; none: it runs once
	Known bool   // they can be looked for
	ByKey bool   // Plan reads few rows, by their keys

	// Held has the rows for all rows around, or is nil: Columns values, and then those of Keys,
	// whose left sides are of the row around. Limit and Offset, which may be nil, are for each of
	// these. Alone says that there is a row where the others have none, as without GROUP BY, and
	// Having that a last value must be TRUE for a row to count.
	Held          *Plan
	Keys          []JoinKey
	Columns       int
	Limit, Offset Eval
	Alone, Having bool
}

// A QueryKind is the use of a query in an expression.
type QueryKind uint8

const (
	QueryValue  QueryKind = iota // of its only row
	QueryArray                   // of all rows
	QueryExists                  // whether there is a row
	QueryIn                      // what is looked for
)

// A Condition is one on the rows of a table.
type Condition struct {
	Eval Eval
	// Keys are the rows for which it may hold; nil: all.
	Keys func(*Tuple) []cf.Range
	// Stored are conditions that the store can judge, and that hold in every row for which
	// this one does; nil: the store judges nothing.
	Stored func(*Tuple) []read.Condition
}

// An Output is a column that is computed.
type Output struct {
	Column
	Eval Eval
}

// A Column is a column of a result. The columns of expressions may have no name.
type Column struct {
	Name string
	Type value.Type
}

// A Runner runs a plan, and remembers its constants. Goroutines may share it.
type Runner struct {
	plan   *Plan
	known  *Constants
	limits Limits
	outs   []Eval // of the columns

	analysis *analysis // nil: no figures are wanted
}

// New is a runner of a plan.
func New(p *Plan, limits Limits) *Runner {
	r := &Runner{plan: p, known: newConstants(p.Size), limits: limits}
	for _, c := range p.Columns {
		r.outs = append(r.outs, c.Eval)
	}
	return r
}

// Columns are the columns of the result.
func (r *Runner) Columns() (columns []Column) {
	if r.plan.Explain {
		return []Column{{"plan", value.Type{Kind: value.TypeString}}}
	}
	for _, c := range r.plan.Columns {
		if c.Type.Kind == value.TypeNull {
			c.Type.Kind = value.TypeInt64 // as in GoogleSQL, NULL needs a type
		}
		columns = append(columns, c.Column)
	}
	return columns
}

// alone is a tuple of no row.
func (r *Runner) alone(ctx context.Context) *Tuple {
	return &Tuple{call: &call{ctx: ctx, known: r.known}}
}

// ofRow is the tuple of a row.
func (r *Runner) ofRow(ctx context.Context, row *query.Row) *Tuple {
	made := struct {
		Tuple
		call call
	}{call: call{ctx: ctx, known: r.known}}
	made.Tuple = Tuple{Row: row, call: &made.call}
	return &made.Tuple
}

// Streams reports whether the result is the wanted rows in the order of the read, so
// that it can continue after any of them. Otherwise [Runner.Run] computes it as a whole.
func (r *Runner) Streams() bool { return r.plan.Stream && !r.plan.Explain }

// Bounds are the values of LIMIT and OFFSET of a result that streams: the wanted rows
// from first (inclusive) to end (exclusive), counted from 0.
func (r *Runner) Bounds() (first, end uint64, err error) {
	return bounds(r.plan.Limit, r.plan.Offset, r.alone(context.Background()))
}

func bounds(limit, offset Eval, t *Tuple) (first, end uint64, err error) {
	most, err := rowCount(limit, math.MaxInt64, "LIMIT", t)
	if err != nil {
		return 0, 0, err
	}
	if first, err = rowCount(offset, 0, "OFFSET", t); err != nil {
		return 0, 0, err
	}
	return first, most + min(first, math.MaxInt64-most), nil
}

// rowCount is the value of LIMIT or OFFSET.
func rowCount(eval Eval, otherwise uint64, what string, t *Tuple) (uint64, error) {
	if eval == nil {
		return otherwise, nil
	}
	n, err := eval(t.Alone())
	if err != nil {
		return 0, err
	}
	if rows, ok := n.(int64); ok && rows >= 0 {
		return uint64(rows), nil
	}
	return 0, &parse.Error{Message: what + " must not be negative or NULL"}
}

// Reads are the options of a read of the rows that may be wanted, in the order of
// the result: those after the row with the key after, or all when after is
// empty. When every row read is wanted, the read ends after the number needed.
// When some is false, there is nothing to read.
func (r *Runner) Reads(after string, wanted uint64) (opts []read.Option, some bool) {
	return r.reads(r.alone(context.Background()), after, wanted)
}

func (r *Runner) reads(t *Tuple, after string, wanted uint64) (opts []read.Option, some bool) {
	return r.readsIn(t, nil, after, wanted)
}

// readsIn are the options of a read of rows in ranges, if within is not nil.
func (r *Runner) readsIn(t *Tuple, within []cf.Range, after string, wanted uint64) (opts []read.Option, some bool) {
	keys := r.keys(t)
	if within != nil {
		keys = cf.IntersectRanges(keys, within)
	}
	switch {
	case after == "":
	case r.plan.Reverse:
		keys = cf.IntersectRanges(keys, []cf.Range{{End: after}})
	default:
		keys = cf.IntersectRanges(keys, []cf.Range{{Start: after + "\x00"}})
	}
	if len(keys) == 0 {
		return nil, false
	}
	if len(keys) > 1 || keys[0] != (cf.Range{}) {
		opts = append(opts, read.RowSet{Ranges: keys})
	}
	opts = append(opts, r.plan.Options...)
	if r.plan.Reverse {
		opts = append(opts, read.Reverse())
	}
	if !r.plan.Cells {
		opts = append(opts, read.KeysOnly())
	}
	for _, c := range r.conditions(t) {
		opts = append(opts, c)
	}
	if r.limitsRead() {
		opts = append(opts, read.Limit(int(wanted)))
	}
	return opts, true
}

// keys are the rows to read.
func (r *Runner) keys(t *Tuple) []cf.Range {
	switch where := r.plan.Where; {
	case r.plan.Within != nil:
		return r.plan.Within
	case where != nil && where.Keys != nil:
		return where.Keys(t)
	}
	return []cf.Range{{}}
}

// limitsRead reports whether every row that is read is wanted.
func (r *Runner) limitsRead() bool { return r.plan.Where == nil && r.plan.Stream }

// conditions returns the conditions on rows that the store judges. It judges the newest
// cells, whatever the time that the query looks at.
func (r *Runner) conditions(t *Tuple) []read.Condition {
	where := r.plan.Where
	if where == nil || where.Stored == nil || r.plan.Windowed {
		return nil
	}
	return where.Stored(t)
}

// Wants reports whether the condition holds for a row that was read.
func (r *Runner) Wants(ctx context.Context, row *query.Row) (bool, error) {
	if r.plan.Where == nil {
		return true, nil
	}
	return r.wants(r.ofRow(ctx, row))
}

func (r *Runner) wants(t *Tuple) (bool, error) {
	if r.plan.Where == nil {
		return true, nil
	}
	v, err := r.plan.Where.Eval(t)
	return v == true, err
}

// Values are the values of the columns in a wanted row of a result that streams. They have the
// types of package value, and the caller may keep them; the row is nil for a query without a
// table. The sequence ends at an error.
func (r *Runner) Values(ctx context.Context, row *query.Row) iter.Seq2[any, error] {
	t := r.ofRow(ctx, row)
	return func(yield func(any, error) bool) {
		for _, eval := range r.outs {
			v, err := eval(t)
			if !yield(v, err) || err != nil {
				return
			}
		}
	}
}

// All are the rows of a result. An error is the last element.
func (r *Runner) All(ctx context.Context, tables Tables) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		err := r.emitAll(ctx, tables, func(values []any) error {
			if !yield(values, nil) {
				return errStopped
			}
			return nil
		})
		if err = orStopped(err); err != nil {
			yield(nil, err)
		}
	}
}

// errStopped says that the caller wants no more rows.
var errStopped = errors.New("the caller has stopped")

// orStopped is nil for errStopped.
func orStopped(err error) error {
	if errors.Is(err, errStopped) {
		return nil
	}
	return err
}

func (r *Runner) emitAll(ctx context.Context, tables Tables, emit func([]any) error) error {
	if r.Streams() {
		return r.emitWanted(ctx, tables(r.plan.Table), emit)
	}
	return r.Run(ctx, tables, emit)
}

// emitWanted emits the rows of a result that streams.
func (r *Runner) emitWanted(ctx context.Context, t Table, emit func([]any) error) error {
	first, end, err := r.Bounds()
	if err != nil || end == 0 {
		return err
	}
	seen := uint64(0)
	send := func(t *Tuple) error {
		if seen++; seen <= first {
			return nil
		}
		values, err := All(r.outs, t)
		if err != nil {
			return err
		}
		return emit(values)
	}
	alone := r.alone(ctx)
	opts, some := r.reads(alone, "", end)
	switch {
	case !some:
		return nil
	case r.plan.Table == "":
		return send(alone)
	}
	for row, err := range t.ReadRows(ctx, opts...) {
		if err != nil {
			return err
		}
		wanted := true
		if r.plan.Where != nil {
			wanted, err = r.wants(&Tuple{Row: row, call: alone.call})
		}
		if err == nil && wanted {
			err = send(&Tuple{Row: row, call: alone.call})
		}
		if err != nil || seen == end {
			return err
		}
	}
	return ctx.Err()
}

// Run computes a result that does not stream from the rows of the tables, and passes on its
// rows, whose values are as in Values. It ends at the first error, also of a row or of
// emit. The tables should all be as of one moment.
func (r *Runner) Run(ctx context.Context, tables Tables, emit func([]any) error) (err error) {
	ctx, span := spans.Begin(ctx, "query", attribute.String("db.collection.name", r.plan.Table))
	defer func() { spans.End(span, orStopped(err)) }()
	if r.plan.Explain && r.plan.Analyze {
		return r.analyzed(ctx, tables, emit)
	}
	if r.plan.Explain {
		return r.explained(ctx, emit)
	}
	if len(r.plan.Queries) > 0 { // their values are those of this run
		own := *r
		own.known = newConstants(r.plan.Size)
		r = &own
	}
	x := r.execution(ctx)
	defer x.close()
	x.queries = r.running(x, tables)
	if r.analysis != nil {
		r.analysis.queries = x.queries
	}
	return r.rows(x, tables, nil, emit, false)
}

// running are the queries in expressions of a run of the plan; nil: it has none.
func (r *Runner) running(x *execution, tables Tables) *running {
	if len(r.plan.Queries) == 0 {
		return nil
	}
	own := func(at int, held bool, x *execution) *Runner {
		p := r.plan.Queries[at].Plan
		if held {
			p = r.plan.Queries[at].Held
		}
		part := r.of(p)
		part.known = x.known
		return part
	}
	return &running{x: x, of: make([]queried, len(r.plan.Queries)), rows: func(at int, held bool, x *execution, emit func([]any) error) error {
		return own(at, held, x).rows(x, tables, nil, emit, true)
	}, nothing: func(at int, x *execution, emit func([]any) error) error {
		return own(at, true, x).ofNothing(x, emit)
	}}
}

// ofNothing passes on the rows of a plan whose last groups are of no row, with keys that are NULL.
func (r *Runner) ofNothing(x *execution, emit func([]any) error) error {
	for i, s := range slices.Backward(r.plan.Steps) {
		if s.groups == nil {
			continue
		}
		row, err := s.groups.newGroup(x, make([]any, len(s.groups.Keys))).row(x)
		if err != nil {
			return err
		}
		next := r.sinks(x, r.plan.Steps[i+1:], emit, true)
		return finished(next.push(row), next)
	}
	return nil
}

// Tables are the tables of a query by their names in it, as [Table] values.
type Tables func(name string) Table

// A Source gives a plan tuples that are not the rows of a table.
type Source interface {
	feed(r *Runner, x *execution, tables Tables, next sink) error
	explained(r *Runner, t *Tuple) []string
}

// of is the runner of a part of the plan.
func (r *Runner) of(p *Plan) *Runner {
	part := &Runner{plan: p, known: r.known, limits: r.limits, analysis: r.analysis}
	for _, c := range p.Columns {
		part.outs = append(part.outs, c.Eval)
	}
	return part
}

// part passes on the rows of a part of the plan, of those in ranges if within is not nil; copies
// says that emit copies what it keeps of them, as a [sink]. What it holds is given back at its
// end. enough reports whether emit wants no more rows.
func (r *Runner) part(p *Plan, x *execution, tables Tables, within []cf.Range, emit func([]any) error, copies bool) (enough bool, err error) {
	own := x.child()
	defer func() { own.release(own.held) }()
	if r.analysis != nil {
		var done func()
		emit, done = r.analysis.apart(r.plan, emit)
		defer done()
	}
	err = r.of(p).rows(own, tables, within, func(values []any) error {
		err := emit(values)
		enough = enough || errors.Is(err, errEnough)
		return err
	}, copies)
	return enough, err
}

// rows passes the rows of the plan on, of those in ranges if within is not nil; copies says that
// emit copies what it keeps of them.
func (r *Runner) rows(x *execution, tables Tables, within []cf.Range, emit func([]any) error, copies bool) error {
	if r.plan.From != nil {
		next := r.sinks(x, r.plan.Steps, emit, copies)
		first := next.by(func(t *Tuple) error {
			x.unnested = 0
			return next.push(t)
		})
		if r.analysis != nil {
			var done func()
			_, first, done = r.analysis.source(r.plan, nil, first)
			defer done()
		}
		return finished(r.plan.From.feed(r, x, tables, first), next)
	}
	var t Table
	if r.plan.Table != "" {
		t = tables(r.plan.Table)
	}
	if at := r.plan.partial(); at >= 0 && t != nil && within == nil {
		own := x.child()
		err := r.inParts(t, at, own, r.sinks(own, r.plan.Steps[at+1:], emit, copies))
		if !own.over || own.emitted {
			return ended(err)
		}
		own.release(own.held) // a single read returns each group once
	}
	next := r.sinks(x, r.plan.Steps, emit, copies)
	return finished(r.feed(x, r.rowsOf(x, t, within, next.copies), next), next)
}

// finished ends a sink after its last tuple, unless there is an error.
func finished(err error, next sink) error {
	if err == nil || errors.Is(err, errEnough) {
		err = next.end()
	}
	return ended(err)
}

func (r *Runner) execution(ctx context.Context) *execution {
	return &execution{call: &call{ctx: ctx, known: r.known}, limits: r.limits, files: !r.plan.InMemory}
}

// sinks are the sinks of steps. The last sink emits rows; copies says that emit copies what it
// keeps of them.
func (r *Runner) sinks(x *execution, steps []Step, emit func([]any) error, copies bool) sink {
	next := sink{end: func() error { return nil }, copies: copies}
	lent := next.lender()
	next.push = func(t *Tuple) (err error) {
		values := t.slots
		if !r.plan.Plain {
			if values, err = appendTo(lent.values(len(r.outs)), r.outs, t); err != nil {
				return err
			}
		}
		x.emitted = true
		return emit(values)
	}
	for i := len(steps) - 1; i >= 0; i-- {
		next = r.stage(x, len(r.plan.Steps)-len(steps)+i, next)
	}
	return next
}

// stage is the sink of a step.
func (r *Runner) stage(x *execution, i int, next sink) sink {
	if r.analysis == nil {
		return r.plan.Steps[i].run(x, next)
	}
	return r.analysis.stage(r.plan, i+1, r.plan.Steps[i].run, x, next)
}

// rowsOf reads the rows that may be wanted, which may be only lent; it is nil for a query without
// a table.
func (r *Runner) rowsOf(x *execution, t Table, within []cf.Range, lent bool) iter.Seq2[*query.Row, error] {
	if r.plan.Table == "" {
		return nil
	}
	opts, some := r.readsIn(x.tuple(nil), within, "", math.MaxInt64)
	if !some {
		return func(func(*query.Row, error) bool) {}
	}
	if lent {
		opts = append(opts, read.Lend())
	}
	return t.ReadRows(x.ctx, opts...)
}

// feed pushes the wanted rows.
func (r *Runner) feed(x *execution, rows iter.Seq2[*query.Row, error], next sink) error {
	if r.analysis != nil {
		var done func()
		rows, next, done = r.analysis.source(r.plan, rows, next)
		defer done()
	}
	if rows == nil {
		return next.push(x.tuple(nil))
	}
	lent := next.lender()
	for row, err := range rows {
		if err != nil {
			return err
		}
		if err := x.ctx.Err(); err != nil {
			return err
		}
		x.unnested = 0
		t := lent.tuple(Tuple{Row: row, call: x.call})
		wanted, err := r.wants(t)
		if err == nil && wanted {
			err = next.push(t)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
