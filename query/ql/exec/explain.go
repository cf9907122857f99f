package exec

import (
	"context"
	"time"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/ql"
	"github.com/smolwc/smolwc/query/read"
)

func (r *Runner) explain(ctx context.Context, st *ql.Explain) (Result, error) {
	_, res, err := r.planned(ctx, st.Statement)
	return res, err
}

// planned prepares a read and returns its plan.
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
	tupleRows(reading.schema, rows, &res.Plan)
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
