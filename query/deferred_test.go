package query_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// later is a deferred batch that sets a cell of a row.
func later(table, key, value string) *write.Batch {
	m := write.NewMutation()
	m.SetAt("f", "q", 1, cells.String(value))
	return write.NewBatch().Add(table, key, m).Defer()
}

var twoTables = &schema.Schema{Tables: []schema.Table{
	{Name: "t", Families: []schema.Family{{Name: "f"}}}, {Name: "u", Families: []schema.Family{{Name: "f"}}},
}}

// has reports whether a row is there.
func has(t *testing.T, db *query.DB, table, key string) bool {
	t.Helper()
	row, err := db.Table(table).ReadRow(ctx, key)
	must(t, err)
	return row.Len() > 0
}

func syncs(t *testing.T, db *query.DB) int64 {
	t.Helper()
	stats, err := db.Stats(ctx)
	must(t, err)
	return stats.Log.Syncs
}

// A deferred batch costs no sync, goes with the next write, and at the latest with Close.
func TestDeferredBatchesGoWithOtherWrites(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	db, err := query.Open(dir, query.Options{Schema: twoTables})
	must(t, err)
	must(t, db.Table("t").Apply(ctx, "first", mutate(set("f", "q", cells.I64(1)))))
	before := syncs(t, db)
	must(t, db.Apply(ctx, later("u", "a", "x")))
	must(t, db.Apply(ctx, later("u", "b", "x")))
	if has(t, db, "u", "a") || syncs(t, db) != before {
		t.Error("a deferred batch does not wait")
	}
	must(t, db.Table("t").Apply(ctx, "second", mutate(set("f", "q", cells.I64(1)))))
	if !has(t, db, "u", "a") || !has(t, db, "u", "b") || syncs(t, db) != before+1 {
		t.Errorf("a: %v, b: %v, %d syncs", has(t, db, "u", "a"), has(t, db, "u", "b"), syncs(t, db)-before)
	}
	must(t, db.Apply(ctx, later("u", "c", "x")))
	must(t, db.Close())
	db, err = query.Open(dir, query.Options{})
	must(t, err)
	defer db.Close()
	if !has(t, db, "u", "c") {
		t.Error("Close has lost a deferred batch")
	}
}

// What waits is bounded, without another write, too.
func TestDeferredBatchesAreBounded(t *testing.T) {
	db := openMemory(t, twoTables)
	for i := range 40 {
		must(t, db.Apply(ctx, later("u", fmt.Sprint(i), strings.Repeat("x", 30_000))))
	}
	if !has(t, db, "u", "0") {
		t.Error("more than a MiB waits")
	}
}

// The write that a deferred batch goes with is newer: its values and deletes stay.
func TestADeferredBatchIsOlderThanTheWriteItGoesWith(t *testing.T) {
	db := openMemory(t, twoTables)
	for _, key := range []string{"a", "b", "bulk"} {
		must(t, db.Apply(ctx, later("t", key, "old")))
	}
	value := write.NewMutation()
	value.SetAt("f", "q", 1, cells.String("new"))
	deletion := write.NewMutation()
	deletion.DeleteRow()
	must(t, db.Apply(ctx, write.NewBatch().Add("t", "a", value).Add("t", "b", deletion)))
	must(t, db.Apply(ctx, later("t", "bulk", "old")))
	_, err := db.Table("t").ApplyBulk(ctx, []string{"bulk"}, []*write.Mutation{value})
	must(t, err)
	for key, want := range map[string]string{"a": "new", "b": "", "bulk": "new"} {
		row, err := db.Table("t").ReadRow(ctx, key)
		must(t, err)
		if got := row.Text("f", "q"); got != want {
			t.Errorf("row %s is %q, not %q", key, got, want)
		}
	}
}

// A write does not fail for a deferred batch whose table is gone.
func TestADeferredBatchOfADroppedTable(t *testing.T) {
	db := openMemory(t, twoTables)
	must(t, db.Apply(ctx, later("u", "a", "x")))
	must(t, db.DropTable(ctx, "u"))
	must(t, db.Table("t").Apply(ctx, "k", mutate(set("f", "q", cells.I64(1)))))
}

func TestBatchesThatCannotWait(t *testing.T) {
	db := openMemory(t, twoTables)
	must(t, db.SetChangeStream(ctx, "u", 24*3600*1e9))
	now := write.NewMutation()
	now.Set("f", "q", cells.I64(1))
	deletion := write.NewMutation()
	deletion.DeleteRow()
	for what, b := range map[string]*write.Batch{
		"the clock's timestamp": write.NewBatch().Add("t", "k", now).Defer(),
		"a deletion":            write.NewBatch().Add("t", "k", deletion).Defer(),
		"a change stream":       later("u", "k", "x"),
		"a large value":         later("t", "k", strings.Repeat("x", 70_000)),
		"a table of no name":    later("none", "k", "x"),
	} {
		if err := db.Apply(ctx, b); err == nil {
			t.Errorf("%s: it waits", what)
		}
	}
}
