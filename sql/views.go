package sql

import (
	"github.com/smolwc/smolwc/sql/run"
)

// DefaultFamily is the family of the columns of a materialized view whose names have no family.
const DefaultFamily = run.DefaultFamily

// RecordFamily is the family of a materialized view in which each row keeps a record of
// all its columns. Users do not see it.
const RecordFamily = run.RecordFamily

// MaxContributions bounds the contributions of one row to a materialized view.
const MaxContributions = run.MaxContributions

// A Materialized is the query of a materialized view on a table as it is declared.
// Goroutines may share it.
type Materialized = run.View

// A Group is the state of a group of a materialized view.
type Group = run.Group

// A Contribution is what a row of the table adds to a materialized view: to the row of a key.
type Contribution = run.Contribution

// A ViewRow is a row of a materialized view.
type ViewRow = run.ViewRow

// A ViewCell is a cell of a materialized view, at timestamp 0.
type ViewCell = run.ViewCell

// Materialized checks that a materialized view can have the query, and looks its names up.
func (q *Query) Materialized() (*Materialized, error) {
	p, err := q.bound.Materialized()
	if err != nil {
		return nil, err
	}
	return run.NewView(p), nil
}
