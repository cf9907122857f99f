package query_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// openVersions is a table t with a row "few" of ten versions of a column and a
// row "many" of n, in families with different rules.
func openVersions(t testing.TB, n int) *query.Table {
	t.Helper()
	s := &schema.Schema{Tables: []schema.Table{{Name: "t", Families: []schema.Family{
		{Name: "free"}, {Name: "young", GC: schema.MaxAge(100 * 365 * 24 * time.Hour)}, {Name: "few", GC: schema.MaxVersions(20)},
	}}}}
	db, err := query.OpenInMemory(query.Options{Schema: s})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	table, ctx := db.Table("t"), context.Background()
	for row, versions := range map[string]int{"few": 10, "many": n} {
		for _, family := range []string{"free", "young", "few"} {
			const batch = 50_000
			for from := 0; from < versions; from += batch {
				m := write.NewMutation()
				for ts := from; ts < min(versions, from+batch); ts++ {
					m.SetAt(family, "login", cells.Timestamp(ts), cells.I64(int64(ts)))
				}
				m.SetAt(family, "logout", 0, cells.I64(0))
				if err := table.Apply(ctx, row, m); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	return table
}

// The cost of a read of the newest versions does not grow with the number of older or
// newer versions.
func TestNewestOfManyVersionsCostsThatOfFew(t *testing.T) {
	const versions = 100_000
	table, ctx := openVersions(t, versions), context.Background()
	check := func(t *testing.T) {
		for _, test := range []struct {
			name   string
			family string
			opts   []read.Option
			cells  int
			newest cells.Timestamp
		}{
			{"newest", "free", nil, 10, versions - 1},
			{"newest, with a rule by age", "young", nil, 10, versions - 1},
			{"newest, with a rule by count", "few", nil, 10, versions - 1},
			{"newest before a time", "free", []read.Option{read.TimeRange(0, 50)}, 10, 49},
			{"newest before a time, with a rule by age", "young", []read.Option{read.TimeRange(0, 50)}, 10, 49},
			{"newest before a time that a rule by count has dropped", "few", []read.Option{read.TimeRange(0, 50)}, 0, 0},
			{"in a time range", "free", []read.Option{read.TimeRange(500, 505)}, 5, 504},
		} {
			t.Run(test.name, func(t *testing.T) {
				var cost read.Cost
				opts := append(test.opts, read.Column(test.family, "login"), read.Versions(10), read.ReportCost(&cost))
				row, err := table.ReadRow(ctx, "many", opts...)
				if test.cells == 0 {
					if row != nil || err != nil {
						t.Error(row, err)
					}
				} else if err != nil {
					t.Fatal(err)
				} else if c, _ := row.Cell(test.family, "login"); row.Len() != test.cells || c.Timestamp != test.newest {
					t.Errorf("%d cells, the newest at %d; want %d, %d", row.Len(), c.Timestamp, test.cells, test.newest)
				}
				if cost.CellsScanned > 50 || cost.Seeks > 4 {
					t.Errorf("cost %+v", cost)
				}
			})
		}
	}
	t.Run("in memory", check)
	if err := table.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	t.Run("in files", check)
}

// A scan of the newest versions steps over older ones where they are few, and seeks past
// them where they are many, also if both alternate.
func TestScansOfTheNewestStepOrSeek(t *testing.T) {
	db, err := query.OpenInMemory(query.Options{Schema: &schema.Schema{Tables: []schema.Table{{Name: "t", Families: []schema.Family{{Name: "f"}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	const rows = 100
	few, many := 10, 200
	if query.DefaultEngine() == query.EnginePebble {
		few = 2 // it seeks sooner, since a seek to a key behind is short there
	}
	for i := range rows {
		m := write.NewMutation()
		for q, versions := range map[string]int{"few1": few, "few2": few, "many1": many, "many2": many} {
			for ts := range versions {
				m.SetAt("f", q, cells.Timestamp(ts), cells.I64(int64(ts)))
			}
		}
		if err := db.Table("t").Apply(t.Context(), fmt.Sprintf("%04d", i), m); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		columns        []read.Option
		cells, scanned int64 // at most
		seeks          int64
	}{
		{[]read.Option{read.ColumnPrefix("f", "few")}, 2 * rows, 2 * rows * (int64(few) + 6), rows + 20},
		{[]read.Option{read.Family("f")}, 4 * rows, 4 * rows * 20, 4*rows + 20},
	} {
		var cost read.Cost
		n := int64(0)
		for row, err := range db.Table("t").ReadRows(t.Context(), append(c.columns, read.Versions(1), read.ReportCost(&cost))...) {
			if err != nil {
				t.Fatal(err)
			}
			n += int64(row.Len())
		}
		if n != c.cells || int64(cost.CellsScanned) > c.scanned || int64(cost.Seeks) > c.seeks {
			t.Errorf("%d cells, cost %+v; want %d, and at most %d scanned and %d seeks", n, cost, c.cells, c.scanned, c.seeks)
		}
	}
}

// BenchmarkNewestTen compares the newest ten versions of ten with those of a
// million, and with ten that are older than a million.
func BenchmarkNewestTen(b *testing.B) {
	table, ctx := openVersions(b, 1_000_000), context.Background()
	if err := table.Compact(ctx); err != nil {
		b.Fatal(err)
	}
	for _, row := range []string{"few", "many"} {
		for name, opts := range map[string][]read.Option{"newest": nil, "before": {read.TimeRange(0, 10)}} {
			b.Run(fmt.Sprintf("%s/of %s", name, row), func(b *testing.B) {
				opts := append(opts, read.Column("free", "login"), read.Versions(10))
				for b.Loop() {
					if r, err := table.ReadRow(ctx, row, opts...); err != nil || r.Len() != 10 {
						b.Fatal(r.Len(), err)
					}
				}
			})
		}
	}
}

func TestCostCountsWhatWasDeleted(t *testing.T) {
	table, ctx := openTable(t), context.Background()
	for i := range 100 {
		putCells(t, table, fmt.Sprintf("r%02d", i), "a:x@1")
	}
	for i := range 90 {
		m := write.NewMutation()
		m.DeleteCell("a", "x", 1)
		if err := table.Apply(ctx, fmt.Sprintf("r%02d", i), m); err != nil {
			t.Fatal(err)
		}
	}
	var cost read.Cost
	for _, err := range table.ReadRows(ctx, read.ReportCost(&cost)) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if cost.Tombstones < 90 || cost.Rows != 10 || cost.RowsScanned != 10 || cost.Families != 3 || cost.Elapsed <= 0 {
		t.Errorf("cost %+v", cost)
	}
}
