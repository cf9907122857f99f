package query_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
)

// A table of many rows is estimated within a fifth, as a whole and by prefix; few
// rows are counted.
func TestEstimateCount(t *testing.T) {
	ctx := context.Background()
	db := openMemory(t, &schema.Schema{Tables: []schema.Table{{Name: "t", Families: []schema.Family{{Name: "f"}, {Name: "g"}}}}})
	table := db.Table("t")
	const groups, each = 8, 5_000
	for g := range groups {
		b := query.NewBatch()
		for i := range each {
			m := query.NewMutation()
			m.Set("f", "a", cells.I64(int64(i)))
			m.Set("f", "b", cells.String("text of some length"))
			if i%2 == 0 {
				m.Set("g", "c", cells.F64(1))
			}
			b.Add("t", fmt.Sprintf("%d#%06d", g, i), m)
		}
		if err := db.Apply(ctx, b); err != nil {
			t.Fatal(err)
		}
	}
	for _, flushed := range []bool{false, true} {
		if flushed {
			if err := table.Flush(ctx); err != nil {
				t.Fatal(err)
			}
		}
		check := func(what string, rows query.RowSet, wantRows, wantCells int64, wantExact bool, columns ...query.ColumnSpec) {
			t.Helper()
			n, exact, err := table.EstimateCount(ctx, rows, columns...)
			if err != nil {
				t.Fatal(err)
			}
			near := func(got, want int64) bool { return got > want*4/5 && got < want*6/5 }
			if exact != wantExact || exact && (n.Rows != wantRows || n.Cells != wantCells) || !near(n.Rows, wantRows) || !near(n.Cells, wantCells) {
				t.Errorf("%s (flushed %v): estimated %+v, exact %v; there are %d rows, %d cells", what, flushed, n, exact, wantRows, wantCells)
			}
		}
		check("all", query.Range("", ""), groups*each, groups*each*5/2, false)
		check("half", query.Range("2", "6"), groups*each/2, groups*each*5/4, false)
		check("one family", query.Range("", ""), groups*each/2, groups*each/2, false, query.Family("g"))
		check("a prefix", query.Prefix("3#"), each, each*5/2, true)
	}
}

// The rows of a range are rewritten, which gives back what was replaced in them;
// others are left.
func TestCompactOfARange(t *testing.T) {
	ctx := context.Background()
	db := openMemory(t, &schema.Schema{Tables: []schema.Table{{Name: "t", Families: []schema.Family{{Name: "f"}}}}})
	table := db.Table("t")
	for n := range 2 { // each cell is in two files
		for i := range 1_000 {
			m := query.NewMutation()
			m.SetAt("f", "q", 1, cells.I64(int64(n)))
			if err := table.Apply(ctx, fmt.Sprintf("b%06d", i), m); err != nil {
				t.Fatal(err)
			}
		}
		if err := table.Flush(ctx); err != nil {
			t.Fatal(err)
		}
	}
	entries := func() int64 {
		s, err := db.Stats(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return s.Table("t")[0].Entries
	}
	for _, step := range []struct {
		prefix string
		want   int64
	}{{"a", 2_000}, {"c", 2_000}, {"b", 1_000}} {
		if err := table.CompactRows(ctx, query.Prefix(step.prefix)); err != nil {
			t.Fatal(err)
		}
		if n := entries(); n != step.want {
			t.Errorf("%d entries after the compaction of %s, want %d", n, step.prefix, step.want)
		}
	}
	if err := table.CompactRows(ctx, query.Range("b", "a")); query.KindOf(err) != query.InvalidArgument {
		t.Errorf("a range that ends before it starts: %v", err)
	}
}
