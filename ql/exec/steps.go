package exec

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/smolwc/smolwc/internal/humanize"
	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/tuple"
)

// An Estimate is the approximate amount of data that a read must examine, from the
// engine's figures of its files. A small estimate is only a hint.
type Estimate struct {
	Cells int64
	Bytes int64   // in files, compressed
	Share float64 // of the table, by the bytes of its rows
}

// A Step is one line of a plan.
type Step struct{ Name, Text string }

// Steps returns the steps of the plan in the order of execution.
func (e *Explained) Steps() []Step {
	if e == nil || ql.IsNil(e.Statement) {
		return nil
	}
	var steps []Step
	step := func(name, format string, args ...any) {
		steps = append(steps, Step{name, fmt.Sprintf(format, args...)})
	}
	plan := e.Plan
	plan.Where = nil // comes below, as in the statement
	for line := range strings.Lines(plan.String()) {
		name, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		step(name, "%s", text)
	}
	_, want := readOf(e.Statement)
	if len(want.Where) > 0 {
		text := want.Conditions()
		if len(e.Plan.Judged) == 0 {
			text += " (in the engine)"
		}
		step("where", "%s", text)
	}
	if want.Reverse {
		step("order", "from the last row to the first")
	}
	if want.Offset > 0 {
		step("offset", "%s passed over, which are read", humanize.Count(want.Offset, "row"))
	}
	switch {
	case want.Page != nil:
		step("page", "of %s", humanize.Count(cmp.Or(want.Limit, read.DefaultPageSize), "row"))
	case want.Limit > 0:
		step("limit", "%s, then the read stops", humanize.Count(want.Limit, "row"))
	}
	if _, isCount := e.Statement.(*ql.Count); isCount && len(want.Where) == 0 && e.Plan.Residual == "" {
		step("count", "in the engine: no row is put together")
	}
	if est := e.Estimate; est != nil {
		text := fmt.Sprintf("about %s, %.0f%% of the rows", humanize.Count(est.Cells, "cell"), 100*est.Share)
		if est.Bytes > 0 {
			text += ", " + humanize.Count(est.Bytes, "byte") + " in files"
		}
		if want.Limit > 0 {
			text += "; less where the limit stops the read"
		}
		step("estimate", "%s", text)
	}
	return steps
}

// readOf returns the rows that a statement reads, and the parts that it reads of them.
func readOf(st ql.Statement) (ql.Rows, ql.Read) {
	switch st := st.(type) {
	case *ql.Get:
		return ql.Rows{Keys: st.Keys}, st.Read
	case *ql.Scan:
		return st.Rows, st.Read
	case *ql.Count:
		return st.Rows, st.Read
	case *ql.Histogram:
		return st.Rows, st.Read
	case *ql.Aggregate:
		return st.Rows, st.Read
	}
	return ql.Rows{}, ql.Read{}
}

// estimate returns the approximate amount of data in the plan's rows and families; nil
// if rows are looked up one by one.
func (r *Runner) estimate(ctx context.Context, table string, rows ql.Rows, plan query.Plan) (*Estimate, error) {
	if len(rows.Keys) > 0 || len(plan.Rows) == 0 {
		return nil, nil
	}
	samples, err := r.DB.Table(table).SampleRowKeys(ctx)
	if err != nil {
		return nil, err
	}
	stats, err := r.DB.Stats(ctx)
	if err != nil {
		return nil, err
	}
	est := &Estimate{Share: shareOf(samples, rows)}
	for _, f := range stats.Table(table) {
		if slices.ContainsFunc(plan.Scans, func(s query.ScanPlan) bool { return s.Family == f.Family }) {
			est.Cells += int64(est.Share * float64(f.Cells()))
			est.Bytes += int64(est.Share * float64(f.Bytes()))
		}
	}
	return est, nil
}

// shareOf returns the share of a table, by bytes, that lies within the bounds of a
// read. An interval between two samples that a bound divides counts half.
func shareOf(samples []query.RowKeySample, rows ql.Rows) float64 {
	start, end := rows.Start, rows.End
	if rows.Prefix != "" {
		start, end = rows.Prefix, successor(rows.Prefix)
	}
	if rows.After != "" {
		start = max(start, rows.After)
	}
	var within, total, before float64
	from := ""
	for _, s := range samples {
		size := float64(s.OffsetBytes) - before
		before, total = float64(s.OffsetBytes), total+size
		behind := s.Key != "" && s.Key <= start || end != "" && from >= end
		whole := from >= start && (end == "" || s.Key != "" && s.Key <= end)
		switch {
		case behind:
		case whole:
			within += size
		default:
			within += size / 2
		}
		from = s.Key
	}
	if total == 0 {
		return 0
	}
	return within / total
}

// successor returns the first key after all keys that begin with the prefix; "" if
// there is no such key.
func successor(prefix string) string {
	next, _ := tuple.Strinc([]byte(prefix)) // nil with an error
	return string(next)
}

func (r *Runner) explain(ctx context.Context, st *ql.Explain) (Result, error) {
	_, res, err := r.planned(ctx, st.Statement)
	return res, err
}

func (r *Runner) planned(ctx context.Context, st ql.Statement) (*reading, *Explained, error) {
	res := &Explained{Statement: st}
	reading, err := r.reading(st)
	if err != nil {
		return nil, nil, err
	}
	if res.Plan, err = r.DB.Table(reading.schema.Name).Explain(reading.opts...); err != nil {
		return nil, nil, err
	}
	rows, _ := readOf(st)
	res.Estimate, err = r.estimate(ctx, reading.schema.Name, rows, res.Plan)
	if text := rows.AsTuples(); text != "" && len(res.Plan.Rows) > 0 && (rows.TuplePrefix || reading.schema.KeyFormat == schema.TupleKeys) {
		res.Plan.Rows = []string{text}
	}
	return reading, res, err
}

// analyze runs the statement and discards its rows.
func (r *Runner) analyze(ctx context.Context, st *ql.Analyze) (Result, error) {
	reading, res, err := r.planned(ctx, st.Statement)
	if err != nil {
		return nil, err
	}
	res.Cost = new(Cost)
	start := time.Now()
	opts := append(reading.opts, read.ReportCost(&res.Cost.Cost))
	switch {
	case reading.draw != nil:
		var l *Listing
		if l, err = reading.draw(ctx, opts); err == nil {
			res.Cost.Returned = Amount{Rows: int64(len(l.Lines))}
		}
	case reading.count != nil:
		var n query.Count
		n, err = reading.table.Count(ctx, opts...)
		res.Cost.Returned = Amount{Rows: n.Rows, Cells: n.Cells}
	default:
		reading.rows.Stats = true
		for _, err = range r.open(ctx, reading, &res.Cost.Cost).All() {
			if err != nil {
				break
			}
		}
		res.Cost.Returned = reading.rows.returned
	}
	res.Cost.Elapsed = time.Since(start)
	return res, err
}
