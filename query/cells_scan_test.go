package query_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
)

// TestScanCellsGivesWhatReadRowsGives, also if rows are too large to be held.
func TestScanCellsGivesWhatReadRowsGives(t *testing.T) {
	db, err := query.OpenInMemory(query.Options{Schema: pairSchema()})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ctx, r := context.Background(), rand.New(rand.NewPCG(1, 2))
	for i := range 60 {
		m := write.NewMutation()
		for range 1 + r.IntN(200) {
			m.SetAt([]string{"a", "b"}[r.IntN(2)], fmt.Sprint("q", r.IntN(20)), cells.Timestamp(r.IntN(5)), cells.I64(r.Int64()))
		}
		if err := db.Table("t").Apply(ctx, fmt.Sprintf("row%02d", i), m); err != nil {
			t.Fatal(err)
		}
	}
	for name, opts := range map[string][]read.Option{
		"all":      nil,
		"prefix":   {read.Prefix("row1")},
		"versions": {read.Versions(1)},
		"cells":    {read.CellsPerRow(7)},
		"limit":    {read.Limit(13)},
		"columns":  {read.ColumnPrefix("b", "q1")},
		"where":    {read.Where("a", "q3", cells.OpGreaterOrEqual, cells.I64(0))},
		"nothing":  {read.Prefix("x")},
	} {
		var want []string
		for row, err := range db.Table("t").ReadRows(ctx, opts...) {
			if err != nil {
				t.Fatal(err)
			}
			for c := range row.Cells() {
				want = append(want, fmt.Sprint(row.Key(), c))
			}
		}
		for _, bytes := range []int{1, 1000, 5000, 1 << 20} {
			var got []string
			for c, err := range query.RowBytes(db.Table("t"), bytes).ScanCells(ctx, opts...) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, fmt.Sprint(c.Key, c.Cell))
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s, rows of %d bytes: %d cells, want %d", name, bytes, len(got), len(want))
			}
		}
	}
	for _, bytes := range []int{1, 1 << 20} {
		n := 0
		for _, err := range query.RowBytes(db.Table("t"), bytes).ScanCells(ctx) {
			if n++; err != nil || n > 2 {
				t.Errorf("cell %d, %v", n, err)
			}
			if n == 2 {
				break // the caller has enough
			}
		}
	}
}
