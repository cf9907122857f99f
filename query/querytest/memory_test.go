package querytest_test

import (
	"context"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cf/cftest"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/querytest"
	"github.com/smolwc/smolwc/schema"
)

// kept is a store in memory that stays open when a database closes it.
type kept struct{ *cftest.Memory }

func (kept) EndWaits()    {}
func (kept) Close() error { return nil }

func place() querytest.Place {
	store := kept{cftest.NewMemory()}
	return querytest.Place{
		Open:   func(o query.Options) (*query.DB, error) { return query.OpenStore(context.Background(), store, o) },
		Remove: func() {},
	}
}

func open(t *testing.T, s *schema.Schema) *query.DB {
	db, err := query.OpenStore(t.Context(), cftest.NewMemory(), query.Options{Schema: s})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// The store in memory is held to what every store is held to.
func TestOnTheStoreInMemory(t *testing.T) {
	t.Run("Histories", func(t *testing.T) { querytest.Histories(t, place) })
	t.Run("DeletedTables", func(t *testing.T) { querytest.DeletedTables(t, place) })
	t.Run("Retention", func(t *testing.T) { querytest.Retention(t, place) })
	t.Run("WaysToRead", func(t *testing.T) { querytest.WaysToRead(t, place) })
	t.Run("Aggregates", func(t *testing.T) { querytest.Aggregates(t, place) })
	t.Run("Marks", func(t *testing.T) { querytest.Marks(t, place) })
	t.Run("Copies", func(t *testing.T) { querytest.Copies(t, place, place, true) })
	for name, test := range map[string]func(*testing.T, querytest.Opener){
		"ATransactionIsAllOrNothingOverTables": querytest.ATransactionIsAllOrNothingOverTables,
		"ATransactionSeesItsOwnWrites":         querytest.ATransactionSeesItsOwnWrites,
		"NoLostUpdate":                         querytest.NoLostUpdate,
		"NoWriteSkew":                          querytest.NoWriteSkew,
		"NoPhantom":                            querytest.NoPhantom,
		"RangeDeletesAndDropsConflict":         querytest.RangeDeletesAndDropsConflict,
		"TransfersConserveTheSum":              querytest.TransfersConserveTheSum,
		"ChangesAreWhatWasWritten":             querytest.ChangesAreWhatWasWritten,
		"ChangesOfADroppedFamilyAreLeftOut":    querytest.ChangesOfADroppedFamilyAreLeftOut,
		"ChangesMakeTheSameTable":              querytest.ChangesMakeTheSameTable,
	} {
		t.Run(name, func(t *testing.T) { test(t, open) })
	}
	t.Run("Linearizability", func(t *testing.T) {
		both := place()
		var dbs []*query.DB
		for _, o := range []query.Options{{Schema: querytest.LinearSchema()}, {Clock: func() time.Time { return time.Now().Add(-time.Hour) }}} {
			db, err := both.Open(o)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			dbs = append(dbs, db)
		}
		querytest.Linearizability(t, dbs...)
	})
}
