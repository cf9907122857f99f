package query_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/plumbing"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// A hundred thousand deleted rows before a live row cost the first read one step each,
// which it reports. The engine then compacts their file by itself, and they cost
// nothing.
func TestDeletedRowsBeforeALiveOne(t *testing.T) {
	const rows = 100_000
	db, err := query.Open(t.TempDir(), query.Options{Durability: query.DurabilityAsync, Schema: &schema.Schema{
		Tables: []schema.Table{{Name: "t", Families: []schema.Family{{Name: "f"}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	table, ctx := db.Table("t"), t.Context()
	each := func(change func(*write.Mutation)) {
		t.Helper()
		for from := 0; from < rows; from += 1000 {
			b := write.NewBatch()
			for i := range 1000 {
				m := write.NewMutation()
				change(m)
				b.Add("t", fmt.Sprintf("r%06d", from+i), m)
			}
			if err := db.Apply(ctx, b); err != nil {
				t.Fatal(err)
			}
		}
	}
	first := func() read.Cost {
		t.Helper()
		var cost read.Cost
		n := 0
		for row, err := range table.ReadRows(ctx, read.Limit(1), read.ReportCost(&cost)) {
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
	m := write.NewMutation()
	m.SetAt("f", "q", 1, cells.I64(1))
	if err := table.Apply(ctx, "z", m); err != nil {
		t.Fatal(err)
	}
	each(func(m *write.Mutation) { m.SetAt("f", "q", 1, cells.I64(1)) })
	if err := table.Compact(ctx); err != nil {
		t.Fatal(err)
	}
	each(func(m *write.Mutation) { m.DeleteCell("f", "q", 1) })
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

// A delete that a mutation repeats a thousand times is written once.
func TestDeletesThatRepeatAreWrittenOnce(t *testing.T) {
	db := openAt(t, t.TempDir(), query.Options{Schema: pairSchema()})
	table, ctx := db.Table("t"), t.Context()
	written := func() (n uint64) {
		t.Helper()
		if err := db.Plumbing().Freeze(ctx, func(f plumbing.Frozen) error { n = f.Position; return nil }); err != nil {
			t.Fatal(err)
		}
		return n
	}
	m := write.NewMutation()
	for i := range 100 { // more than are deleted one by one
		m.SetAt("a", "q", cells.Timestamp(i+1), cells.I64(1))
	}
	if err := table.Apply(ctx, "r", m); err != nil {
		t.Fatal(err)
	}
	m = write.NewMutation()
	for range 1000 {
		m.DeleteCellsInColumn("a", "q")
	}
	before := written()
	if err := table.Apply(ctx, "r", m); err != nil {
		t.Fatal(err)
	}
	if n := written() - before; n > 100 {
		t.Errorf("the deletes became %d writes", n)
	}
}

// A delete that a mutation repeats is made once, unless a set comes between.
func TestDeletesThatRepeat(t *testing.T) {
	s := &schema.Schema{Tables: []schema.Table{{Name: "t", Families: []schema.Family{{Name: "f"}, {Name: "two", GC: schema.MaxVersions(2)}}}}}
	db := openAt(t, t.TempDir(), query.Options{Schema: s})
	table, ctx := db.Table("t"), t.Context()
	deletes := map[string]func(m *write.Mutation, family string){
		"column": func(m *write.Mutation, f string) { m.DeleteCellsInColumn(f, "q") },
		"family": func(m *write.Mutation, f string) { m.DeleteCellsInFamily(f) },
		"row":    func(m *write.Mutation, _ string) { m.DeleteRow() },
		"range":  func(m *write.Mutation, f string) { m.DeleteTimestampRange(f, "q", 1, 200) },
	}
	for what, remove := range deletes {
		for _, family := range []string{"f", "two"} {
			for _, before := range []int{3, 100} { // one by one, and as a range
				key, m := fmt.Sprint(what, family, before), write.NewMutation()
				for i := range before {
					m.SetAt(family, "q", cells.Timestamp(i+1), cells.I64(1))
				}
				if err := table.Apply(ctx, key, m); err != nil {
					t.Fatal(err)
				}
				m = write.NewMutation()
				for i := range 3 {
					remove(m, family)
					remove(m, family)
					m.SetAt(family, "q", cells.Timestamp(10+i), cells.I64(int64(i)))
				}
				remove(m, family)
				remove(m, family)
				m.SetAt(family, "q", 20, cells.I64(20))
				if err := table.Apply(ctx, key, m); err != nil {
					t.Fatal(err)
				}
				row, err := table.ReadRow(ctx, key, read.Versions(10))
				if got := slices.Collect(row.Cells()); err != nil || len(got) != 1 || got[0].Timestamp != 20 {
					t.Errorf("%s of %s over %d versions: %v, %v", what, family, before, row, err)
				}
			}
		}
	}
}
