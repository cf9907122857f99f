package exec

import (
	"context"
	"time"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/ql"
	"github.com/smolwc/smolwc/query/read"
)

func (r *Runner) explain(ctx context.Context, st ql.Statement) (Result, error) {
	_, res, err := r.planned(ctx, st)
	return res, err
}

// planned makes a read ready and says how it would be carried out.
func (r *Runner) planned(ctx context.Context, st ql.Statement) (*reading, *Explained, error) {
	res := &Explained{Statement: st}
	reading, err := r.reading(st)
	if err != nil {
		return nil, nil, err
	}
	if res.Plan, err = r.DB.Table(reading.schema.Name).Explain(reading.opts...); err != nil {
		return nil, nil, err
	}
	res.Estimate, err = r.estimate(ctx, reading.schema.Name, rowsOf(st), res.Plan)
	tupleRows(reading.schema, rowsOf(st), &res.Plan)
	return reading, res, err
}

// analyze runs the statement and lets go of its rows.
func (r *Runner) analyze(ctx context.Context, st ql.Statement) (Result, error) {
	reading, res, err := r.planned(ctx, st)
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
		reading.rows.rows = reading.table.ReadRows(ctx, opts...)
		if reading.rows.Page != nil {
			reading.rows.rows = reading.rows.readPage(ctx, r.DB.Table(reading.schema.Name), opts)
		}
		for _, err = range reading.rows.All() {
			if err != nil {
				break
			}
		}
		res.Cost.Returned = reading.rows.returned
	}
	res.Cost.Elapsed = time.Since(start)
	return res, err
}
