package query_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
)

// TestScanCellsGivesWhatReadRowsGives, also where rows are too large to be held.
func TestScanCellsGivesWhatReadRowsGives(t *testing.T) {
	db, err := query.OpenInMemory(query.Options{Schema: pairSchema()})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ctx, r := context.Background(), rand.New(rand.NewPCG(1, 2))
	for i := range 60 {
		m := query.NewMutation()
		for range 1 + r.IntN(200) {
			m.SetAt([]string{"a", "b"}[r.IntN(2)], fmt.Sprint("q", r.IntN(20)), cells.Timestamp(r.IntN(5)), cells.I64(r.Int64()))
		}
		if err := db.Table("t").Apply(ctx, fmt.Sprintf("row%02d", i), m); err != nil {
			t.Fatal(err)
		}
	}
	for name, opts := range map[string][]query.ReadOption{
		"all":      nil,
		"prefix":   {query.Prefix("row1")},
		"versions": {query.Versions(1)},
		"cells":    {query.CellsPerRow(7)},
		"limit":    {query.Limit(13)},
		"columns":  {query.Columns("b:q1*")},
		"where":    {query.Where("a", "q3", query.GE, cells.I64(0))},
		"nothing":  {query.Prefix("x")},
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
			err := db.Table("t").ScanCells(ctx, func(key string, c cells.Cell) error {
				got = append(got, fmt.Sprint(key, c))
				return nil
			}, append(slices.Clone(opts), query.RowBytes(bytes))...)
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%s, rows of %d bytes: %d cells, want %d, %v", name, bytes, len(got), len(want), err)
			}
		}
	}
	mine := errors.New("mine")
	for _, bytes := range []int{1, 1 << 20} {
		err := db.Table("t").ScanCells(ctx, func(string, cells.Cell) error { return mine }, query.RowBytes(bytes))
		if err != mine {
			t.Errorf("error %v, want the caller's", err)
		}
	}
}
