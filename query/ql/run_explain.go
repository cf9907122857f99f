package ql

import (
	"context"
	"time"

	"github.com/smolwc/smolwc/query"
)

func (r *Runner) explain(_ context.Context, st Statement) (Result, error) {
	read, err := r.reading(st)
	if err != nil {
		return nil, err
	}
	plan, err := read.table.Explain(read.opts...)
	return &Explained{Statement: st, Plan: plan}, err
}

// analyze runs the statement and lets go of its rows.
func (r *Runner) analyze(ctx context.Context, st Statement) (Result, error) {
	res := &Explained{Statement: st, Cost: new(Cost)}
	read, err := r.reading(st)
	if err != nil {
		return nil, err
	}
	if res.Plan, err = read.table.Explain(read.opts...); err != nil {
		return nil, err
	}
	start := time.Now()
	opts := append(read.opts, query.ReportCost(&res.Cost.Cost))
	if read.draw != nil {
		var l *Listing
		if l, err = read.draw(ctx, opts); err == nil {
			res.Cost.Returned = Amount{Rows: int64(len(l.Lines))}
		}
	} else if read.count != nil {
		var n query.Count
		n, err = read.table.Count(ctx, opts...)
		res.Cost.Returned = Amount{Rows: n.Rows, Cells: n.Cells}
	} else {
		read.rows.Stats = true
		read.rows.rows = read.table.ReadRows(ctx, opts...)
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
