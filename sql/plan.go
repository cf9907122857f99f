package sql

import (
	"context"
	"iter"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/sql/run"
)

// A Plan is a query on a table as it is declared. Without values of its
// parameters it only knows its columns. Goroutines may share it.
type Plan struct{ runner *run.Runner }

// limits bound every query; tests change them.
var limits = run.DefaultLimits()

// Plan looks up the query's names and checks its types.
func (q *Query) Plan(params Params) (*Plan, error) {
	p, err := q.bound.Plan(params)
	if err != nil {
		return nil, err
	}
	return &Plan{run.New(p, limits)}, nil
}

// Columns are the columns of the result.
func (p *Plan) Columns() []Column { return p.runner.Columns() }

// Result runs the plan on tables, which should all be as of one moment.
func (p *Plan) Result(ctx context.Context, tables Tables) *Result {
	return &Result{p.Columns(), p.runner.All(ctx, tables)}
}

// A Sizer estimates a read of a table, rather too much than too little, as if its conditions
// held for all rows.
type Sizer = run.Sizer

// Estimate is how much the query reads, rather too much than too little. Only size reads.
func (p *Plan) Estimate(ctx context.Context, size Sizer) (Amount, error) {
	return p.runner.Estimate(ctx, size)
}

// Explanation are the lines of EXPLAIN.
func (p *Plan) Explanation(ctx context.Context) (lines []string, err error) {
	return p.runner.Explanation(ctx)
}

// Run is Result for a plan that does not stream: it passes the rows on, whose values are as
// in a [Result]. It ends at the first error, also of a row or of emit.
func (p *Plan) Run(ctx context.Context, tables Tables, emit func([]any) error) error {
	return p.runner.Run(ctx, tables, emit)
}

// Streams reports whether the result is the wanted rows in the order of the read, so that it
// can continue after any of them. Reads, Wants, Values and Bounds are for such plans.
func (p *Plan) Streams() bool { return p.runner.Streams() }

// Bounds are the values of LIMIT and OFFSET: the wanted rows from first (inclusive) to end
// (exclusive), counted from 0.
func (p *Plan) Bounds() (first, end uint64, err error) { return p.runner.Bounds() }

// Reads are the options of a read of the rows that may be wanted, in the order of the result:
// those after the row with the key after, or all when after is empty. When every row read is
// wanted, the read ends after the number needed. When some is false, there is nothing to read.
func (p *Plan) Reads(after string, wanted uint64) (opts []read.Option, some bool) {
	return p.runner.Reads(after, wanted)
}

// Wants reports whether the condition holds for a row that was read.
func (p *Plan) Wants(ctx context.Context, row *query.Row) (bool, error) {
	return p.runner.Wants(ctx, row)
}

// Values are the values of the columns in a wanted row, as in a [Result]; the row is nil for a
// query without a table. The sequence ends at an error.
func (p *Plan) Values(ctx context.Context, row *query.Row) iter.Seq2[any, error] {
	return p.runner.Values(ctx, row)
}
