package query_test

import (
	"context"
	"fmt"
	"log"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/filter"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
)

// openFlights is the fleet with three flights.
func openFlights() *query.DB {
	db := openFleet()
	for _, f := range []struct {
		key, dest string
		delay     int32
	}{
		{"flight#TF-FIR#2024-01-25", "OSL", 7},
		{"flight#TF-FIR#2024-01-26", "CPH", 180},
		{"flight#TF-FIV#2024-01-26", "OSL", 130},
	} {
		m := write.NewMutation()
		m.SetAt("loc", "dest", 2, cells.String(f.dest))
		m.SetAt("loc", "gate", 1, cells.String("A1"))
		m.SetAt("loc", "gate", 2, cells.String("B7"))
		m.SetAt("delay", "dep", 2, cells.I32(f.delay))
		if err := db.Table("fleet").Apply(context.Background(), f.key, m); err != nil {
			log.Fatal(err)
		}
	}
	return db
}

func ExampleTable_ReadRows_filter() {
	db := openFlights()
	defer db.Close()
	fleet, ctx := db.Table("fleet"), context.Background()

	newest := filter.Chain{
		filter.RowKey(`flight#TF-FIR#\C*`),
		filter.Family("loc"),
		filter.Latest(1)}
	for row, err := range fleet.ReadRows(ctx, read.Filter(newest)) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(row.Key(), row.Text("loc", "dest"), row.Text("loc", "gate"))
	}
	// Output:
	// flight#TF-FIR#2024-01-25 OSL B7
	// flight#TF-FIR#2024-01-26 CPH B7
}

func ExampleTable_ReadRows_condition() {
	db := openFlights()
	defer db.Close()
	fleet, ctx := db.Table("fleet"), context.Background()

	late := filter.Chain{filter.Family("delay"), filter.ValueCompare{Op: cells.OpGreaterOrEqual, Value: cells.I32(120)}}
	dest := filter.Condition{If: late, Then: filter.Column("dest")}
	for row, err := range fleet.ReadRows(ctx, read.Filter(dest)) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(row.Key(), row.Text("loc", "dest"))
	}
	// Output:
	// flight#TF-FIR#2024-01-26 CPH
	// flight#TF-FIV#2024-01-26 OSL
}

func ExampleTable_ReadRows_interleave() {
	db := openFlights()
	defer db.Close()
	fleet, ctx := db.Table("fleet"), context.Background()

	both := filter.Interleave{
		filter.Chain{filter.Column("gate"), filter.Label("gate")},
		filter.Chain{filter.Latest(1), filter.Family("loc"), filter.Label("latest")}}
	row, err := fleet.ReadRow(ctx, "flight#TF-FIR#2024-01-25", read.Filter(both))
	if err != nil {
		log.Fatal(err)
	}
	i := 0
	for c := range row.Cells() {
		fmt.Println(c.Column(), c.Timestamp, c.Value, row.Label(i))
		i++
	}
	// Output:
	// loc:dest 2 OSL latest
	// loc:gate 2 B7 gate
	// loc:gate 2 B7 latest
	// loc:gate 1 A1 gate
}

func ExampleTable_Explain() {
	db := openFlights()
	defer db.Close()
	fleet := db.Table("fleet")

	plan, err := fleet.Explain(read.Prefix("flight#"), read.Filter(filter.Chain{
		filter.ColumnRange{Family: "loc", From: filter.Including("dest"), To: filter.Excluding("gate")},
		filter.Latest(1),
		filter.Value("OSL|CPH")}))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(plan)
	// Output:
	// rows: "flight#"…
	// scan: loc:["dest", "gate") versions 1
	// pushed: column_range("loc", ["dest", "gate")) as qualifiers of loc
	// pushed: cells_per_column_limit(1) as versions
	// filter: value_regex("OSL|CPH")
}
