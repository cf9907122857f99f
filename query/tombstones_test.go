package query_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
)

// A hundred thousand deleted rows before a live one cost a read that comes by
// them once a step each, which it reports; the engine compacts the file that they
// are in without being asked, and then they cost nothing.
func TestDeletedRowsBeforeALiveOne(t *testing.T) {
	const rows = 100_000
	db, err := query.Open(t.TempDir(), query.Options{Durability: query.Async, Schema: &schema.Schema{
		Tables: []schema.Table{{Name: "t", Families: []schema.Family{{Name: "f"}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	table, ctx := db.Table("t"), t.Context()
	each := func(change func(*query.Mutation)) {
		t.Helper()
		for from := 0; from < rows; from += 1000 {
			b := query.NewBatch()
			for i := range 1000 {
				m := query.NewMutation()
				change(m)
				b.Add("t", fmt.Sprintf("r%06d", from+i), m)
			}
			if err := db.Apply(ctx, b); err != nil {
				t.Fatal(err)
			}
		}
	}
	first := func() query.Cost {
		t.Helper()
		var cost query.Cost
		n := 0
		for row, err := range table.ReadRows(ctx, query.Limit(1), query.ReportCost(&cost)) {
			if err != nil || row.Key() != "z" {
				t.Fatalf("%v, %v", row.Key(), err)
			}
			n++
		}
		if n != 1 {
			t.Fatalf("%d rows", n)
		}
		return cost
	}
	m := query.NewMutation()
	m.SetAt("f", "q", 1, cells.I64(1))
	if err := table.Apply(ctx, "z", m); err != nil {
		t.Fatal(err)
	}
	each(func(m *query.Mutation) { m.SetAt("f", "q", 1, cells.I64(1)) })
	if err := table.Compact(ctx); err != nil {
		t.Fatal(err)
	}
	each(func(m *query.Mutation) { m.DeleteCell("f", "q", 1) })
	if cost := first(); cost.Tombstones < rows || cost.Tombstones > 2*rows+1 {
		t.Errorf("before the compaction: %+v", cost)
	}
	if err := table.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if f := stats(t, db).Table("t")[0]; f.Tombstones == 0 {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("the engine leaves %+v", f)
		}
	}
	if cost := first(); cost.Tombstones != 0 {
		t.Errorf("after the compaction: %+v", cost)
	}
}
