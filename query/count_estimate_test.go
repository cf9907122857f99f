package query_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
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
		b := write.NewBatch()
		for i := range each {
			m := write.NewMutation()
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
		check := func(what string, rows read.RowSet, wantRows, wantCells int64, wantExact bool, columns ...read.ColumnSpec) {
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
		check("all", read.Range("", ""), groups*each, groups*each*5/2, false)
		check("half", read.Range("2", "6"), groups*each/2, groups*each*5/4, false)
		check("one family", read.Range("", ""), groups*each/2, groups*each/2, false, read.Family("g"))
		check("a prefix", read.Prefix("3#"), each, each*5/2, true)
	}
}

// The rows of a range are rewritten, which frees the space of replaced cells; other
// rows are not.
func TestCompactOfARange(t *testing.T) {
	ctx := context.Background()
	db := openMemory(t, &schema.Schema{Tables: []schema.Table{{Name: "t", Families: []schema.Family{{Name: "f"}}}}})
	table := db.Table("t")
	for n := range 2 { // each cell is in two files
		for i := range 1_000 {
			m := write.NewMutation()
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
		if err := table.CompactRows(ctx, read.Prefix(step.prefix)); err != nil {
			t.Fatal(err)
		}
		// Pebble may have compacted two files that overlap by itself.
		if n := entries(); n > step.want || n < step.want && query.DefaultEngine() != query.EnginePebble {
			t.Errorf("%d entries after the compaction of %s, want %d", n, step.prefix, step.want)
		}
	}
	if err := table.CompactRows(ctx, read.Range("b", "a")); query.KindOf(err) != query.KindInvalidArgument {
		t.Errorf("a range that ends before it starts: %v", err)
	}
}

// The number of cells that a change would hide is exact if there are few rows, an
// estimate if there are many, and zero for a change that hides no cells.
func TestEstimateHiddenIsWhatAChangeHides(t *testing.T) {
	ctx := context.Background()
	const rows, versions = 12_000, 4
	declared := &schema.Schema{Tables: []schema.Table{
		{Name: "t", Families: []schema.Family{{Name: "f", GC: schema.MaxVersions(3)}, {Name: "g"}}},
		{Name: "lazy", Retention: schema.Lazy, Families: []schema.Family{{Name: "f", GC: schema.MaxVersions(3)}}},
		{Name: "many", Families: []schema.Family{{Name: "f"}}},
	}}
	db := openMemory(t, declared)
	b := write.NewBatch()
	add := func(table, key string) {
		m := write.NewMutation()
		for v := range versions {
			m.SetAt("f", "q", cells.Timestamp(v), cells.I64(1))
		}
		if table == "t" {
			m.Set("g", "q", cells.I64(1))
		}
		b.Add(table, key, m)
	}
	for i := range rows {
		add("many", fmt.Sprintf("%06d", i))
		if i < 100 {
			add("t", fmt.Sprint(i))
			add("lazy", fmt.Sprint(i))
		}
	}
	if err := db.Apply(ctx, b); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		change schema.Change
		want   int64
		exact  bool
	}{
		{schema.Change{Kind: schema.SetRetention, Table: "t", Family: "f", New: schema.Family{GC: schema.MaxVersions(1)}}, 200, true},
		{schema.Change{Kind: schema.SetRetention, Table: "t", Family: "f", New: schema.Family{GC: schema.MaxAge(1e9)}}, 300, true},
		{schema.Change{Kind: schema.SetRetention, Table: "t", Family: "f"}, 0, true},
		{schema.Change{Kind: schema.SetRetention, Table: "lazy", Family: "f", New: schema.Family{GC: schema.MaxVersions(1)}}, 200, true},
		{schema.Change{Kind: schema.SetEnforcement, Table: "lazy", NewRetention: schema.Exact}, 100, true},
		{schema.Change{Kind: schema.SetEnforcement, Table: "t", NewRetention: schema.Lazy}, 0, true},
		{schema.Change{Kind: schema.DropFamily, Table: "t", Family: "g"}, 100, true},
		{schema.Change{Kind: schema.DropTable, Table: "t"}, 400, true},
		{schema.Change{Kind: schema.SetRetention, Table: "many", Family: "f", New: schema.Family{GC: schema.MaxVersions(1)}}, rows * (versions - 1), false},
		{schema.Change{Kind: schema.DropTable, Table: "many"}, rows * versions, false},
	} {
		before := db.Schema()
		n, exact, err := db.EstimateHidden(ctx, c.change)
		if err != nil || exact != c.exact || exact && n != c.want || n < c.want*4/5 || n > c.want*6/5 {
			t.Errorf("%v: %d, exact %v, %v; want %d, exact %v", c.change, n, exact, err, c.want, c.exact)
		}
		if !db.Schema().Equal(before) {
			t.Errorf("%v: the estimate changed the schema", c.change)
		}
	}
	if _, _, err := db.EstimateHidden(ctx, schema.Change{Kind: schema.DropTable, Table: "u"}); query.KindOf(err) != query.KindNotFound {
		t.Errorf("a table that is not there: %v", err)
	}
}
