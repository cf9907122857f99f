// Package querytest is what package query promises on every store, as tests: random
// histories that are compared with naive models. The tests of a store call them:
//
//	func TestHistories(t *testing.T) {
//		querytest.Histories(t, func() querytest.Place { return … })
//	}
package querytest

import (
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
)

// A Place is where the database of one history is.
type Place struct {
	// Open opens the database: a new one first, and later the same one, closed before,
	// with what was written.
	Open func(query.Options) (*query.DB, error)
	// Remove removes the database after it was closed.
	Remove func()
}

func must(t interface{ Fatal(...any) }, err error) {
	if err != nil {
		t.Fatal(err)
	}
}

// setN is a mutation that sets a cell to a number.
func setN(family, qualifier string, n int64) *write.Mutation {
	m := write.NewMutation()
	m.Set(family, qualifier, cells.I64(n))
	return m
}

func deleteRow() *write.Mutation {
	m := write.NewMutation()
	m.DeleteRow()
	return m
}
