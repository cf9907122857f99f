package query_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
)

func planOf(kind schema.ChangeKind, table string) schema.Plan {
	return schema.Plan{Changes: []schema.Change{{Kind: kind, Table: table}}}
}

// withRows makes a table of some files' size.
func withRows(t *testing.T, db *query.DB, name string, rows int) {
	t.Helper()
	must(t, db.CreateTable(ctx, schema.Table{Name: name, ChangeStream: 24 * time.Hour, Families: []schema.Family{{Name: "any"}}}))
	for i := range rows {
		must(t, db.Table(name).Apply(ctx, fmt.Sprint("r", i), mutate(set("any", "q", cells.I64(int64(i))))))
	}
	must(t, db.Table(name).Flush(ctx))
}

func openMem(t *testing.T, o query.Options) *query.DB {
	t.Helper()
	db, err := query.OpenInMemory(o)
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	return db
}

func wantStrings(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func deletedTables(t *testing.T, db *query.DB) []string {
	t.Helper()
	s, err := db.Stats(ctx)
	must(t, err)
	var names []string
	for _, d := range s.Deleted {
		names = append(names, d.Table)
	}
	return names
}

func ExampleDB_ApplyPlan_undelete() {
	db, err := query.OpenInMemory(query.Options{})
	if err != nil {
		panic(err)
	}
	defer db.Close()
	change := func(kind schema.ChangeKind) {
		if err := db.ApplyPlan(ctx, schema.Plan{Changes: []schema.Change{{Kind: kind, Table: "fleet"}}}); err != nil {
			panic(err)
		}
	}
	if err := db.CreateTable(ctx, schema.Table{Name: "fleet", Families: []schema.Family{{Name: "meta"}}}); err != nil {
		panic(err)
	}
	if err := db.Table("fleet").Apply(ctx, "plane#TF-FIR", mutate(set("meta", "model", cells.String("757")))); err != nil {
		panic(err)
	}
	change(schema.DeleteTable)
	s, err := db.Stats(ctx)
	if err != nil {
		panic(err)
	}
	for _, d := range s.Deleted {
		fmt.Println(d.Table, d.Families, "is kept for", d.Until.Time().Sub(d.Deleted.Time()))
	}
	change(schema.UndeleteTable)
	row, err := db.Table("fleet").ReadRow(ctx, "plane#TF-FIR")
	if err != nil {
		panic(err)
	}
	fmt.Println(row.Text("meta", "model"))
	// Output:
	// fleet [meta] is kept for 168h0m0s
	// 757
}

// A table comes back with its change stream, which has the changes from then on.
func TestAChangeStreamBeginsAnewWithItsTable(t *testing.T) {
	db := openMem(t, query.Options{})
	withRows(t, db, "t", 2)
	must(t, db.ApplyPlan(ctx, planOf(schema.DeleteTable, "t")))
	must(t, db.ApplyPlan(ctx, planOf(schema.UndeleteTable, "t")))
	back := db.Now().Time()
	must(t, db.Table("t").Apply(ctx, "new", mutate(set("any", "q", cells.I64(1)))))
	for c, err := range db.Table("t").Changes(ctx, query.ChangesSince(back)) {
		must(t, err)
		if c.Heartbeat() {
			continue
		}
		if c.Key != "new" {
			t.Errorf("a change of row %q", c.Key)
		}
		break
	}
}

func TestDeletedTablesAreBounded(t *testing.T) {
	db := openMem(t, query.Options{DeletedBytes: 1})
	for _, name := range []string{"a", "b"} {
		withRows(t, db, name, 1)
		must(t, db.ApplyPlan(ctx, planOf(schema.DeleteTable, name)))
		wantStrings(t, deletedTables(t, db), name) // the last one stays, whatever its size
	}
	db = openMem(t, query.Options{})
	plan := schema.Plan{}
	for _, name := range []string{"a", "b", "c", "d"} { // with 12 families together
		plan.Changes = append(plan.Changes, schema.Change{Kind: schema.CreateTable, Table: name, Families: []schema.Family{{Name: "f"}, {Name: "g"}, {Name: "h"}}})
	}
	must(t, db.ApplyPlan(ctx, plan))
	for i := range plan.Changes {
		plan.Changes[i].Kind = schema.DeleteTable
	}
	must(t, db.ApplyPlan(ctx, plan))
	wantStrings(t, deletedTables(t, db), "c", "d")
}

func TestADatabaseThatKeepsNoDeletedTables(t *testing.T) {
	db := openMem(t, query.Options{KeepDeleted: -1})
	withRows(t, db, "t", 1)
	must(t, db.ApplyPlan(ctx, planOf(schema.DeleteTable, "t")))
	wantStrings(t, deletedTables(t, db))
	wantFormat(t, db, 1)
	wantError(t, db.ApplyPlan(ctx, planOf(schema.UndeleteTable, "t")), query.KindNotFound, `no deleted table "t"`)
}

// A copy of one table does not have the deleted ones, whose files it would keep.
func TestACopyOfATableHasNoDeletedOnes(t *testing.T) {
	dir := t.TempDir()
	db := mustOpen(t, filepath.Join(dir, "db"), query.Options{GCInterval: -1})
	defer db.Close()
	for _, name := range []string{"gone", "t"} {
		withRows(t, db, name, 3)
	}
	must(t, db.ApplyPlan(ctx, planOf(schema.DeleteTable, "gone")))
	must(t, db.CheckpointTable(ctx, "t", filepath.Join(dir, "one")))
	must(t, db.Checkpoint(ctx, filepath.Join(dir, "all")))
	for name, want := range map[string][]string{"one": nil, "all": {"gone"}} {
		c := mustOpen(t, filepath.Join(dir, name), query.Options{GCInterval: -1})
		wantStrings(t, deletedTables(t, c), want...)
		if n, err := c.Table("t").Count(ctx, read.KeysOnly()); n.Rows != 3 || err != nil {
			t.Errorf("%s: %v, %v", name, n, err)
		}
		must(t, c.Close())
	}
}
