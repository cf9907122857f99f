package query_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/filter"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// explained are the reads that testdata/explain names.
var explained = map[string][]read.Option{
	"everything":        nil,
	"keys only":         {read.KeysOnly(), read.Limit(3)},
	"family":            {read.Filter(filter.Family("f.*"))},
	"qualifier":         {read.Filter(filter.Column("mi(les|nutes)"))},
	"qualifier prefix":  {read.Filter(filter.Column(`mi\C*`))},
	"qualifier dot":     {read.Filter(filter.Column("mi.*"))},
	"qualifier unknown": {read.Filter(filter.Column(".*mi"))},
	"column range":      {read.Filter(filter.ColumnRange{Family: "f", From: filter.Excluding("a"), To: filter.Including("c")})},
	"row keys":          {read.Prefix("plane#"), read.Filter(filter.RowKey("plane#(TF-FIR|TF-FIV)|other"))},
	"row prefix":        {read.Filter(filter.RowKey("^plane#.*$"))},
	"newest of a range": {read.Filter(filter.Chain{filter.Family("f"), filter.TimestampRange{Since: 5, Until: 9}, filter.Latest(2)})},
	"range of newest":   {read.Filter(filter.Chain{filter.Family("f"), filter.Latest(2), filter.TimestampRange{Since: 5, Until: 9}})},
	"versions option":   {read.Versions(3), read.Filter(filter.Chain{filter.TimestampRange{Since: 5, Until: 9}, filter.Column("a")})},
	"first cells":       {read.Filter(filter.Chain{filter.Family("f"), filter.CellsPerRowLimit(3), filter.StripValue{}})},
	"after a value":     {read.Filter(filter.Chain{filter.ValueCompare{Op: cells.OpGreaterOrEqual, Value: cells.I64(5)}, filter.Column("a"), filter.Latest(1)})},
	"value range":       {read.Filter(filter.Chain{filter.Latest(2), filter.ValueRange{From: filter.Including("a"), To: filter.Excluding("c")}, filter.Latest(1), filter.ValueRange{From: filter.Including("b")}})},
	"interleave":        {read.Filter(filter.Interleave{filter.ColumnRange{Family: "f", From: filter.Including("a"), To: filter.Excluding("b")}, filter.Chain{filter.ColumnRange{Family: "h", From: filter.Including("x")}, filter.CellsPerRowLimit(1)}})},
	"condition":         {read.Filter(filter.Condition{If: filter.ColumnRange{Family: "f", From: filter.Including("a"), To: filter.Excluding("b")}, Then: filter.Family("h"), Else: nil})},
	"behind a sink":     {read.Filter(filter.Chain{filter.Interleave{filter.Sink{}, filter.PassAll{}}, filter.RowKey("a"), filter.Family("f")})},
	"block":             {read.Filter(filter.Chain{filter.Value("a"), filter.BlockAll{}})},
	"where":             {read.Where("h", "x", cells.OpEqual, cells.I64(1)), read.Filter(filter.Family("f")), read.KeysOnly()},
	"unknown family":    {read.Column("g", "a"), read.Filter(filter.BlockAll{})},
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

// Excluded cells are not read, as the cost shows.
func TestAPushedFilterReadsLess(t *testing.T) {
	db := openMemory(t, declare(schema.Family{Name: "f"}, schema.Family{Name: "g"}))
	b := write.NewBatch()
	for i := range 200 {
		m := write.NewMutation()
		for j := range 10 {
			m.SetAt("f", fmt.Sprint("q", j), 1, cells.I64(int64(j)))
			m.SetAt("g", fmt.Sprint("q", j), 1, cells.I64(int64(j)))
		}
		b.Add("t", fmt.Sprintf("r%03d", i), m)
	}
	if err := db.Apply(ctx, b); err != nil {
		t.Fatal(err)
	}
	wanted := read.Filter(filter.Chain{filter.RowKey("r01.*"), filter.Family("f"), filter.Column("q[12]")})
	var pushed, whole read.Cost
	for cost, table := range map[*read.Cost]*query.Table{&pushed: db.Table("t"), &whole: query.Unpushed(db.Table("t"))} {
		n, err := table.Count(ctx, wanted, read.ReportCost(cost))
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
