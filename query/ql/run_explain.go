package ql

import (
	"context"
	"time"

	"github.com/smolwc/smolwc/query"
)

func (r *Runner) explain(ctx context.Context, st Statement) (Result, error) {
	_, res, err := r.planned(ctx, st)
	return res, err
}

// planned makes a read ready and says how it would be carried out.
func (r *Runner) planned(ctx context.Context, st Statement) (*reading, *Explained, error) {
	res := &Explained{Statement: st}
	read, err := r.reading(st)
	if err != nil {
		return nil, nil, err
	}
	if res.Plan, err = r.DB.Table(read.schema.Name).Explain(read.opts...); err != nil {
		return nil, nil, err
	}
	res.Estimate, err = r.estimate(ctx, read.schema.Name, rowsOf(st), res.Plan)
	tupleRows(read.schema, rowsOf(st), &res.Plan)
	return read, res, err
}

// analyze runs the statement and lets go of its rows.
func (r *Runner) analyze(ctx context.Context, st Statement) (Result, error) {
	read, res, err := r.planned(ctx, st)
	if err != nil {
		return nil, err
	}
	res.Cost = new(Cost)
	start := time.Now()
	opts := append(read.opts, query.ReportCost(&res.Cost.Cost))
	switch {
	case read.draw != nil:
		var l *Listing
		if l, err = read.draw(ctx, opts); err == nil {
			res.Cost.Returned = Amount{Rows: int64(len(l.Lines))}
		}
	case read.count != nil:
		var n query.Count
		n, err = read.table.Count(ctx, opts...)
		res.Cost.Returned = Amount{Rows: n.Rows, Cells: n.Cells}
	default:
		read.rows.Stats = true
		read.rows.rows = read.table.ReadRows(ctx, opts...)
		if read.rows.Page != nil {
			read.rows.rows = read.rows.readPage(ctx, r.DB.Table(read.schema.Name), opts)
		}
		for _, err = range read.rows.All() {
			if err != nil {
				break
			}
		}
		res.Cost.Returned = read.rows.returned
	}
	res.Cost.Elapsed = time.Since(start)
	return res, err
}
