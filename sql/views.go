package sql

import "github.com/smolwc/smolwc/sql/run"

// Materialized checks that a materialized view can have the query, and looks its names up.
// Package views keeps the rows of the result.
func (q *Query) Materialized() (*run.View, error) {
	p, err := q.bound.Materialized()
	if err != nil {
		return nil, err
	}
	return run.NewView(p), nil
}
