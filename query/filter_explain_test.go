//go:build cgo

package query_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
)

// explained are the reads that testdata/explain names.
var explained = map[string][]query.ReadOption{
	"everything":        nil,
	"keys only":         {query.KeysOnly(), query.Limit(3)},
	"family":            {query.RowFilter(query.FamilyFilter("f.*"))},
	"qualifier":         {query.RowFilter(query.ColumnFilter("mi(les|nutes)"))},
	"qualifier prefix":  {query.RowFilter(query.ColumnFilter(`mi\C*`))},
	"qualifier dot":     {query.RowFilter(query.ColumnFilter("mi.*"))},
	"qualifier unknown": {query.RowFilter(query.ColumnFilter(".*mi"))},
	"column range":      {query.RowFilter(query.ColumnBoundsFilter("f", query.Excluding("a"), query.Including("c")))},
	"row keys":          {query.Prefix("plane#"), query.RowFilter(query.RowKeyFilter("plane#(TF-FIR|TF-FIV)|other"))},
	"row prefix":        {query.RowFilter(query.RowKeyFilter("^plane#.*$"))},
	"newest of a range": {query.RowFilter(query.ChainFilters(query.FamilyFilter("f"), query.TimestampRangeFilter(5, 9), query.LatestNFilter(2)))},
	"range of newest":   {query.RowFilter(query.ChainFilters(query.FamilyFilter("f"), query.LatestNFilter(2), query.TimestampRangeFilter(5, 9)))},
	"versions option":   {query.Versions(3), query.RowFilter(query.ChainFilters(query.TimestampRangeFilter(5, 9), query.ColumnFilter("a")))},
	"first cells":       {query.RowFilter(query.ChainFilters(query.FamilyFilter("f"), query.CellsPerRowLimitFilter(3), query.StripValueFilter()))},
	"after a value":     {query.RowFilter(query.ChainFilters(query.ValueCompareFilter(query.GE, cells.I64(5)), query.ColumnFilter("a"), query.LatestNFilter(1)))},
	"value range":       {query.RowFilter(query.ChainFilters(query.LatestNFilter(2), query.ValueRangeFilter([]byte("a"), []byte("c")), query.LatestNFilter(1), query.ValueRangeFilter([]byte("b"), nil)))},
	"interleave":        {query.RowFilter(query.InterleaveFilters(query.ColumnRangeFilter("f", "a", "b"), query.ChainFilters(query.ColumnRangeFilter("h", "x", ""), query.CellsPerRowLimitFilter(1))))},
	"condition":         {query.RowFilter(query.ConditionFilter(query.ColumnRangeFilter("f", "a", "b"), query.FamilyFilter("h"), nil))},
	"behind a sink":     {query.RowFilter(query.ChainFilters(query.InterleaveFilters(query.SinkFilter(), query.PassAllFilter()), query.RowKeyFilter("a"), query.FamilyFilter("f")))},
	"block":             {query.RowFilter(query.ChainFilters(query.ValueFilter("a"), query.BlockAllFilter()))},
	"where":             {query.Where("h", "x", query.EQ, cells.I64(1)), query.RowFilter(query.FamilyFilter("f")), query.KeysOnly()},
	"unknown family":    {query.Columns("g:a"), query.RowFilter(query.BlockAllFilter())},
}

func TestExplain(t *testing.T) {
	table := openMemory(t, declare(schema.Family{Name: "f"}, schema.Family{Name: "fg"}, schema.Family{Name: "h"})).Table("t")
	seen := 0
	datadriven.RunTest(t, "testdata/explain", func(t *testing.T, d *datadriven.TestData) string {
		opts, ok := explained[d.Input]
		if !ok {
			d.Fatalf(t, "no read is named %q", d.Input)
		}
		seen++
		plan, err := table.Explain(opts...)
		if e := (*query.Error)(nil); errors.As(err, &e) {
			return fmt.Sprintf("%s\n", err)
		}
		return plan.String()
	})
	if seen != len(explained) {
		t.Errorf("testdata/explain has %d of %d reads", seen, len(explained))
	}
}

// What was narrowed is not read: the cost shows it.
func TestAPushedFilterReadsLess(t *testing.T) {
	db := openMemory(t, declare(schema.Family{Name: "f"}, schema.Family{Name: "g"}))
	b := query.NewBatch()
	for i := range 200 {
		m := query.NewMutation()
		for j := range 10 {
			m.SetAt("f", fmt.Sprint("q", j), 1, cells.I64(int64(j)))
			m.SetAt("g", fmt.Sprint("q", j), 1, cells.I64(int64(j)))
		}
		b.Add("t", fmt.Sprintf("r%03d", i), m)
	}
	if err := db.Apply(ctx, b); err != nil {
		t.Fatal(err)
	}
	filter := query.RowFilter(query.ChainFilters(query.RowKeyFilter("r01.*"), query.FamilyFilter("f"), query.ColumnFilter("q[12]")))
	var pushed, whole query.Cost
	for cost, opts := range map[*query.Cost][]query.ReadOption{&pushed: nil, &whole: {query.Unpushed()}} {
		n, err := db.Table("t").Count(ctx, append(opts, filter, query.ReportCost(cost))...)
		if err != nil || n != (query.Count{Rows: 10, Cells: 20}) {
			t.Fatalf("counted %+v, %v", n, err)
		}
	}
	if pushed.Families != 1 || pushed.Cells != 20 || pushed.CellsScanned > 100 {
		t.Errorf("pushed down, the read cost %+v", pushed)
	}
	if whole.Families != 2 || whole.Cells != 4000 {
		t.Errorf("whole, the read cost %+v", whole)
	}
}
