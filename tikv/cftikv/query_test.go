package cftikv_test

import (
	"context"
	"errors"
	"flag"
	"sync"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/querytest"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// places gives clusters for databases of one history each.
func places(t *testing.T) func() querytest.Place {
	return func() querytest.Place {
		c := newCluster(t)
		return querytest.Place{
			Open:   func(o query.Options) (*query.DB, error) { return query.OpenStore(context.Background(), c.open(nil), o) },
			Remove: func() {},
		}
	}
}

func TestHistories(t *testing.T)     { querytest.Histories(t, places(t)) }
func TestDeletedTables(t *testing.T) { querytest.DeletedTables(t, places(t)) }
func TestRetention(t *testing.T)     { querytest.Retention(t, places(t)) }
func TestWaysToRead(t *testing.T)    { querytest.WaysToRead(t, places(t)) }
func TestAggregates(t *testing.T)    { querytest.Aggregates(t, places(t)) }
func TestMarks(t *testing.T)         { querytest.Marks(t, places(t)) }

// A copy beside writes, interrupted and continued, becomes equal to its source.
func TestCopies(t *testing.T) { querytest.Copies(t, places(t), places(t), true) }

// Two processes are one database, although their clocks differ by an hour and a third one
// changes the schema all the time.
func TestLinearizability(t *testing.T) {
	c := newCluster(t)
	late := func() time.Time { return time.Now().Add(-time.Hour) }
	var dbs []*query.DB
	for _, o := range []query.Options{{Schema: querytest.LinearSchema()}, {Clock: late}, {}} {
		db, err := query.OpenStore(context.Background(), c.open(nil), o)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		dbs = append(dbs, db)
	}
	stop, stopped := make(chan struct{}), make(chan error)
	go func() { stopped <- alter(dbs[2], stop) }()
	querytest.Linearizability(t, dbs[:2]...)
	close(stop)
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// alter adds and drops a family until it is stopped. On a slow machine it pauses for longer,
// so that the calls beside it get on.
func alter(db *query.DB, stop <-chan struct{}) error {
	pause := 50 * time.Millisecond
	for {
		select {
		case <-stop:
			return nil
		case <-time.After(pause):
		}
		began := time.Now()
		if err := db.AddFamily(context.Background(), "t", schema.Family{Name: "g"}); err != nil {
			return err
		}
		if err := db.DropFamily(context.Background(), "t", "g"); err != nil {
			return err
		}
		pause = max(pause, 4*time.Since(began))
	}
}

// One of the processes that have a database open collects what retention has dropped.
// When it is closed, another one does.
func TestOneProcessCollects(t *testing.T) {
	c := newCluster(t)
	open := func() *query.DB {
		db, err := query.OpenStore(t.Context(), c.open(nil), query.Options{GCInterval: time.Millisecond})
		must(t, err)
		return db
	}
	first, store := open(), c.open(nil)
	busy := func() bool {
		_, resign, err := store.Lead(t.Context(), "collect")
		if err == nil {
			resign()
		}
		return errors.Is(err, cf.ErrBusy)
	}
	eventually(busy)
	second := open()
	must(t, first.Close())
	eventually(busy)
	must(t, second.Close())
	if busy() {
		t.Error("a closed database collects")
	}
}

// Cells that have expired leave TiKV in a compaction, also after another process has
// changed the schema; a rule that this relaxes protects what it shows.
func TestExpiredCellsLeaveTheStore(t *testing.T) {
	c := newCluster(t)
	declared := &schema.Schema{Tables: []schema.Table{{Name: "t", Families: []schema.Family{{Name: "f", GC: schema.MaxAge(time.Hour)}}}}}
	open := func() *query.DB {
		db, err := query.OpenStore(t.Context(), c.open(nil), query.Options{Schema: declared, GCInterval: -1})
		must(t, err)
		return db
	}
	db, other := open(), open()
	write := func(row string, age time.Duration) {
		m := write.NewMutation()
		m.SetAt("f", "q", cells.Timestamp(time.Now().Add(-age).UnixMicro()), cells.I64(1))
		must(t, db.Table("t").Apply(t.Context(), row, m))
	}
	gone := func() int {
		before := c.stored()
		must(t, db.Table("t").Compact(t.Context()))
		return before - c.stored()
	}
	write("old", 2*time.Hour)
	write("new", 0)
	if n := gone(); n != 1 {
		t.Errorf("%d cells have gone, want the old one", n)
	}
	must(t, other.SetFamily(t.Context(), "t", schema.Family{Name: "f", GC: schema.MaxAge(3 * time.Hour)}))
	write("younger", 2*time.Hour)
	write("older", 4*time.Hour)
	if n := gone(); n != 1 {
		t.Errorf("under the relaxed rule %d cells have gone, want one", n)
	}
	must(t, db.Close())
	must(t, other.Close())
}

// eventually waits for a condition.
func eventually(condition func() bool) {
	for !condition() {
		time.Sleep(time.Millisecond)
	}
}

// database opens a database of its own.
func database(t *testing.T, s *schema.Schema) *query.DB {
	t.Helper()
	db, err := query.OpenStore(context.Background(), newCluster(t).open(nil), query.Options{Schema: s})
	must(t, err)
	t.Cleanup(func() { db.Close() })
	return db
}

func TestTransactions(t *testing.T) {
	for name, test := range map[string]func(*testing.T, querytest.Opener){
		"ATransactionIsAllOrNothingOverTables": querytest.ATransactionIsAllOrNothingOverTables,
		"ATransactionSeesItsOwnWrites":         querytest.ATransactionSeesItsOwnWrites,
		"NoLostUpdate":                         querytest.NoLostUpdate,
		"NoWriteSkew":                          querytest.NoWriteSkew,
		"NoPhantom":                            querytest.NoPhantom,
		"RangeDeletesAndDropsConflict":         querytest.RangeDeletesAndDropsConflict,
		"TransfersConserveTheSum":              querytest.TransfersConserveTheSum,
	} {
		t.Run(name, func(t *testing.T) { test(t, database) })
	}
}

// fewer is a test with fewer histories: the mock resolves a lock by reading all keys.
func fewer(test func(*testing.T, querytest.Opener)) func(*testing.T, querytest.Opener) {
	return func(t *testing.T, open querytest.Opener) {
		checks := flag.Lookup("rapid.checks").Value
		was := checks.String()
		must(t, checks.Set("4"))
		defer checks.Set(was)
		test(t, open)
	}
}

func TestChangeStreams(t *testing.T) {
	for name, test := range map[string]func(*testing.T, querytest.Opener){
		"ChangesAreWhatWasWritten":          querytest.ChangesAreWhatWasWritten,
		"ChangesOfADroppedFamilyAreLeftOut": querytest.ChangesOfADroppedFamilyAreLeftOut,
		"ChangesMakeTheSameTable":           fewer(querytest.ChangesMakeTheSameTable),
	} {
		t.Run(name, func(t *testing.T) { test(t, database) })
	}
}

// A reader in one process follows the writers in two: it sees each change once, with times
// that ascend.
func TestAChangeStreamHasTheChangesOfAllProcesses(t *testing.T) {
	const each = 30
	c := newCluster(t)
	var dbs []*query.DB
	for range 2 {
		db, err := query.OpenStore(t.Context(), c.open(nil), query.Options{Schema: querytest.ChangesSchema()})
		must(t, err)
		defer db.Close()
		dbs = append(dbs, db)
	}
	began := dbs[0].Now()
	var writing sync.WaitGroup
	defer writing.Wait()
	for _, db := range dbs {
		writing.Go(func() {
			for range each {
				if _, err := db.Table("t").Increment(t.Context(), "r", "meta", "n", 1); err != nil {
					t.Error(err)
				}
			}
		})
	}
	want, last, watermark := int64(1), began, began
	for change, err := range dbs[1].Table("t").Changes(t.Context(), query.ChangesSince(began.Time())) {
		must(t, err)
		if n, _ := change.Changes[0].Value.AsI64(); n != want {
			t.Fatalf("change %d sets %d", want, n)
		}
		if change.Time < last || change.Time < watermark {
			t.Errorf("a change of %d behind one of %d and the watermark %d", change.Time, last, watermark)
		}
		last, watermark = change.Time, change.Watermark
		if want++; want > 2*each {
			break
		}
	}
}

// A load with a name happens once, whichever process loads it, and all processes see it.
func TestALoadWithANameHappensOnce(t *testing.T) {
	c := newCluster(t)
	declared := &schema.Schema{Tables: []schema.Table{{Name: "t", Families: []schema.Family{{Name: "f"}}}}}
	load := func(db *query.DB, name string, rows ...string) error {
		l, err := db.Table("t").BulkLoad(t.Context(), query.BulkOptions{Name: name, Overlap: true})
		if err != nil {
			return err
		}
		for _, row := range rows {
			m := write.NewMutation()
			m.Set("f", "q", cells.String(name))
			must(t, l.Apply(row, m))
		}
		_, err = l.Commit(t.Context())
		return err
	}
	var dbs []*query.DB
	for range 2 {
		db, err := query.OpenStore(t.Context(), c.open(nil), query.Options{Schema: declared})
		must(t, err)
		defer db.Close()
		dbs = append(dbs, db)
	}
	must(t, load(dbs[0], "first", "a", "b"))
	must(t, load(dbs[1], "second", "b", "c"))
	for _, db := range dbs {
		if err := load(db, "first", "a", "d"); !errors.Is(err, query.ErrLoaded) {
			t.Errorf("the load a second time: %v", err)
		}
		for row, want := range map[string]string{"a": "first", "b": "second", "c": "second"} {
			found, err := db.Table("t").ReadRow(t.Context(), row)
			must(t, err)
			if cell, _ := found.Cell("f", "q"); cell.Value.String() != want {
				t.Errorf("row %s has %v, want %s", row, cell.Value, want)
			}
		}
		n, err := db.Table("t").Count(t.Context())
		must(t, err)
		if n.Rows != 3 {
			t.Errorf("there are %d rows", n.Rows)
		}
	}
}
