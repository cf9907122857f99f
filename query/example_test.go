package query_test

import (
	"context"
	"fmt"
	"log"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/tuple"
)

// openFleet is the database of the examples: a table of planes and flights.
func openFleet() *query.DB {
	declared, err := schema.Parse([]byte(`
tables:
  - name: fleet
    families:
      - {name: meta, max_versions: 1}
      - {name: flight}
      - {name: loc, type: string}
      - {name: delay, type: i32}
`))
	if err != nil {
		log.Fatal(err)
	}
	db, err := query.OpenInMemory(query.Options{Schema: declared})
	if err != nil {
		log.Fatal(err)
	}
	return db
}

func Example() {
	db := openFleet()
	defer db.Close()
	fleet, ctx := db.Table("fleet"), context.Background()

	m := write.NewMutation()
	m.Set("meta", "model", cells.String("Boeing 757-256"))
	m.Set("meta", "miles", cells.I64(51_000_000))
	m.SetAt("flight", "FI318", 1_706_140_800_000_000, cells.String("KEF-OSL"))
	if err := fleet.Apply(ctx, "plane#TF-FIR", m); err != nil {
		log.Fatal(err)
	}

	row, err := fleet.ReadRow(ctx, "plane#TF-FIR", read.Family("meta"), read.Versions(1))
	if err != nil {
		log.Fatal(err)
	}
	for c := range row.Cells() {
		fmt.Println(c.Column(), c.Value.Type(), c.Value)
	}
	miles, ok := row.I64("meta", "miles")
	fmt.Println(miles, ok)
	// Output:
	// meta:miles i64 51000000
	// meta:model string Boeing 757-256
	// 51000000 true
}

func ExampleTable_ReadRows() {
	db := openFleet()
	defer db.Close()
	fleet, ctx := db.Table("fleet"), context.Background()
	for _, f := range []struct {
		key, dest string
		delay     int32
	}{
		{"flight#TF-FIR#2024-01-25#FI318#KEF-OSL", "OSL", 7},
		{"flight#TF-FIR#2024-01-26#FI204#KEF-CPH", "CPH", 180},
		{"flight#TF-FIR#2024-02-01#FI318#KEF-OSL", "OSL", 130},
	} {
		m := write.NewMutation()
		m.Set("loc", "dest", cells.String(f.dest))
		m.Set("delay", "dep", cells.I32(f.delay))
		if err := fleet.Apply(ctx, f.key, m); err != nil {
			log.Fatal(err)
		}
	}

	for row, err := range fleet.ReadRows(ctx, read.Prefix("flight#TF-FIR#2024-01-"),
		read.Column("loc", "dest"), read.Where("delay", "dep", cells.OpGreaterOrEqual, cells.I32(120))) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(row.Key(), row.Text("loc", "dest"))
	}
	// Output: flight#TF-FIR#2024-01-26#FI204#KEF-CPH CPH
}

func ExampleDB_Apply() {
	db := openFleet()
	defer db.Close()
	ctx := context.Background()

	handover := write.NewMutation()
	handover.Set("meta", "operator", cells.String("Icelandair"))
	parked := write.NewMutation()
	parked.DeleteCellsInColumn("meta", "operator")
	err := db.Apply(ctx, write.NewBatch().Add("fleet", "plane#TF-FIR", handover).Add("fleet", "plane#TF-FIV", parked))
	fmt.Println(err)

	// With one unknown family, nothing of a batch is written.
	wrong := write.NewMutation()
	wrong.Set("mta", "operator", cells.String("Icelandair"))
	err = db.Apply(ctx, write.NewBatch().Add("fleet", "plane#TF-FIX", handover).Add("fleet", "plane#TF-FIY", wrong))
	fmt.Println(err)
	row, err := db.Table("fleet").ReadRow(ctx, "plane#TF-FIX")
	fmt.Println(row == nil, err)
	// Output:
	// <nil>
	// apply batch: table fleet, row "plane#TF-FIY": unknown family "mta" in table fleet; did you mean "meta"?
	// true <nil>
}

func ExampleTable_ReadRows_tuplePrefix() {
	db := openFleet()
	defer db.Close()
	fleet, ctx := db.Table("fleet"), context.Background()
	for _, number := range []int{9, 10, 100} {
		m := write.NewMutation()
		m.Set("meta", "leg", cells.I64(int64(number)))
		if err := fleet.Apply(ctx, tuple.Key("plane", "TF-FIR", number), m); err != nil {
			log.Fatal(err)
		}
	}

	for row, err := range fleet.ReadRows(ctx, read.TuplePrefix("plane", "TF-FIR")) {
		if err != nil {
			log.Fatal(err)
		}
		key, err := tuple.Unpack([]byte(row.Key()))
		fmt.Println(key, err)
	}
	// Output:
	// ("plane", "TF-FIR", 9) <nil>
	// ("plane", "TF-FIR", 10) <nil>
	// ("plane", "TF-FIR", 100) <nil>
}

// A row prints itself.
func ExampleRow() {
	db, err := query.OpenInMemory(query.Options{Schema: &schema.Schema{Tables: []schema.Table{{Name: "fleet", Families: []schema.Family{{Name: "meta"}}}}}})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	fleet, ctx := db.Table("fleet"), context.Background()

	m := write.NewMutation()
	m.SetAt("meta", "model", 2, cells.String("757-256"))
	m.SetAt("meta", "seats", 1, cells.I32(183))
	if err := fleet.Apply(ctx, "plane#TF-FIR", m); err != nil {
		log.Fatal(err)
	}
	row, err := fleet.ReadRow(ctx, "plane#TF-FIR")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(row)
	// Output:
	// "plane#TF-FIR" meta:model@2="757-256" meta:seats@1=183
}
