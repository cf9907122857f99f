package run

import (
	"context"
	"fmt"
	"iter"
	"math"
	"sync/atomic"

	"github.com/smolwc/smolwc/internal/humanize"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
)

// An Amount is how much is read of tables. A row that is read twice counts twice.
type Amount struct {
	Rows, Bytes int64 // bytes of keys, qualifiers and values
	Exact       bool  // it is not an estimate
}

// A Budget is the most that a query may read. Rows that a condition leaves out are read too.
type Budget struct{ Rows, Bytes int64 }

// Over reports whether an amount is beyond the budget.
func (b Budget) Over(a Amount) bool { return a.Rows > b.Rows || a.Bytes > b.Bytes }

// Refuse is the error of a query that would read an amount beyond the budget, which is nil
// within it.
func (b Budget) Refuse(a Amount) error {
	if !b.Over(a) {
		return nil
	}
	about := "about "
	if a.Exact {
		about = ""
	}
	return over("the query would read %s%v, and the budget is %v; give a range or a prefix of _key in WHERE, or a LIMIT without WHERE", about, a, b)
}

func (b Budget) String() string { return Amount{Rows: b.Rows, Bytes: b.Bytes}.String() }

func (a Amount) String() string {
	return humanize.Plural(a.Rows, "row") + " and " + humanize.Size(a.Bytes)
}

// A BudgetError says that a query is beyond its budget. It is the cause of a [query.Error] of the
// kind KindResourceExhausted.
type BudgetError struct{ text string }

func (e *BudgetError) Error() string { return e.text }

func over(format string, args ...any) error {
	return &query.Error{Op: "query", Kind: query.KindResourceExhausted, Err: &BudgetError{fmt.Sprintf(format, args...)}}
}

// A Sizer estimates a read of a table, rather too much than too little, as if its conditions held
// for all rows.
type Sizer func(ctx context.Context, table string, opts []read.Option) (Amount, error)

// Estimate is how much the query reads, rather too much than too little. Only size reads.
func (r *Runner) Estimate(ctx context.Context, size Sizer) (Amount, error) {
	e := &estimate{ctx: ctx, r: r, size: size, total: Amount{Exact: true}}
	rows, err := e.plan(r.plan, false, 1)
	for _, q := range r.plan.Queries {
		if err != nil {
			break
		}
		err = e.query(q, math.Max(rows, float64(e.total.Rows)))
	}
	return e.total, err
}

type estimate struct {
	ctx   context.Context
	r     *Runner
	size  Sizer
	total Amount
}

// query adds a query in an expression of as many rows.
func (e *estimate) query(q *Query, around float64) error {
	runs := 1.0
	if len(q.Outer) > 0 {
		runs = math.Max(around, 1)
	}
	if q.Held != nil {
		if _, err := e.plan(q.Held, false, 1); err != nil || q.Plan == nil || !q.ByKey {
			return err
		}
		runs = math.Min(runs, float64(e.r.limits.ByKey))
	}
	if q.Plan == nil {
		return nil
	}
	_, err := e.plan(q.Plan, q.ByKey, runs)
	return err
}

// plan adds as many runs of a plan, of one row each if byKey is set, and is about the number of
// rows that a run passes on at most.
func (e *estimate) plan(p *Plan, byKey bool, runs float64) (rows float64, err error) {
	switch from := p.From.(type) {
	case *Join:
		left, err := e.plan(from.Left, byKey, runs)
		if err != nil {
			return 0, err
		}
		before := e.total
		right, err := e.plan(from.Right, byKey, runs)
		if err != nil {
			return 0, err
		}
		added := Amount{Rows: e.total.Rows - before.Rows, Bytes: e.total.Bytes - before.Bytes}
		if from.RowKey >= 0 && !from.keeps(true) && left <= float64(e.r.limits.Small) && left < float64(added.Rows) {
			// The rows of the left side are held, and only those that they name are read.
			share := left / float64(added.Rows)
			e.total = before
			e.add(Amount{Rows: int64(left), Bytes: int64(float64(added.Bytes) * share)}, runs)
			right = left
		}
		if len(from.Keys) == 0 {
			return left * right, nil
		}
		return math.Max(left, right), nil
	case *Union:
		for _, part := range from.Of {
			of, err := e.plan(part, byKey, runs)
			if err != nil {
				return 0, err
			}
			rows += of
		}
		return rows, nil
	}
	if p.Table == "" {
		return 1, nil
	}
	r := e.r.of(p)
	t := r.alone(e.ctx)
	end := uint64(math.MaxInt64)
	if r.limitsRead() {
		if _, end, err = bounds(p.Limit, p.Offset, t); err != nil || end == 0 {
			return 0, err
		}
	}
	opts, some := r.reads(t, "", min(end, math.MaxInt64))
	if !some {
		return 0, nil
	}
	if byKey {
		opts = append(opts, read.Limit(1))
	}
	a, err := e.size(e.ctx, p.Table, ofAll(opts))
	if err != nil {
		return 0, err
	}
	e.add(a, runs)
	return float64(a.Rows), nil
}

func (e *estimate) add(a Amount, runs float64) {
	e.total.Rows = plus(e.total.Rows, float64(a.Rows)*runs)
	e.total.Bytes = plus(e.total.Bytes, float64(a.Bytes)*runs)
	e.total.Exact = e.total.Exact && a.Exact && runs == 1
}

// plus adds without overflow.
func plus(n int64, more float64) int64 {
	if sum := float64(n) + more; sum < math.MaxInt64 {
		return n + int64(more)
	}
	return math.MaxInt64
}

// ofAll are options of a read without conditions, and of all rows: the engine does not count
// the rows that it leaves out before a read ends. The query leaves them out itself.
func ofAll(opts []read.Option) []read.Option {
	kept := make([]read.Option, 0, len(opts)+2)
	for _, o := range opts {
		if _, judged := o.(read.Condition); !judged {
			kept = append(kept, o)
		}
	}
	if r, err := read.New(kept...); err == nil && r.Filter == nil {
		kept = append(kept, read.EveryRow())
	}
	return kept
}

// A Meter counts the reads of a query, and ends it beyond its budget. It is of one run.
type Meter struct {
	Budget      Budget
	rows, bytes atomic.Int64
}

// Tables are tables whose reads count.
func (m *Meter) Tables(of Tables) Tables {
	return func(name string) Table {
		if t := of(name); t != nil {
			return m.Table(t)
		}
		return nil
	}
}

// Table is a table whose reads count.
func (m *Meter) Table(t Table) Table { return &metered{t, m} }

// Spent is the amount that was read so far.
func (m *Meter) Spent() Amount {
	return Amount{Rows: m.rows.Load(), Bytes: m.bytes.Load(), Exact: true}
}

func (m *Meter) add(bytes int64) error {
	if a := (Amount{Rows: m.rows.Add(1), Bytes: m.bytes.Add(bytes)}); m.Budget.Over(a) {
		return over("the query has read more than its budget of %v, though the estimate was within it; give a range or a prefix of _key in WHERE", m.Budget)
	}
	return nil
}

type metered struct {
	Table
	m *Meter
}

func (t *metered) options(opts []read.Option) []read.Option {
	return append(ofAll(opts), read.Rejected(func(key string) error { return t.m.add(int64(len(key))) }))
}

func (t *metered) ReadRows(ctx context.Context, opts ...read.Option) iter.Seq2[*query.Row, error] {
	return t.counted(t.Table.ReadRows(ctx, t.options(opts)...))
}

func (t *metered) ReadPartsParallel(ctx context.Context, n int, fn func(ctx context.Context, part int, rows iter.Seq2[*query.Row, error]) error, opts ...read.Option) error {
	return t.Table.ReadPartsParallel(ctx, n, func(ctx context.Context, part int, rows iter.Seq2[*query.Row, error]) error {
		return fn(ctx, part, t.counted(rows))
	}, t.options(opts)...)
}

func (t *metered) counted(rows iter.Seq2[*query.Row, error]) iter.Seq2[*query.Row, error] {
	return func(yield func(*query.Row, error) bool) {
		for row, err := range rows {
			if err == nil {
				if err = t.m.add(RowBytes(row)); err != nil {
					row = nil
				}
			}
			if !yield(row, err) || err != nil {
				return
			}
		}
	}
}

// RowBytes is the size of a row in an [Amount].
func RowBytes(row *query.Row) int64 {
	n := int64(len(row.Key()))
	for c := range row.Cells() {
		n += int64(len(c.Qualifier) + c.Value.EncodedLen())
	}
	return n
}

// Explanation are the lines of EXPLAIN.
func (r *Runner) Explanation(ctx context.Context) (lines []string, err error) {
	err = r.explained(ctx, func(values []any) error {
		lines = append(lines, values[0].(string))
		return nil
	})
	return lines, err
}
