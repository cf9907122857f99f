package query_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// openAirport is a database with a family for each aggregate.
func openAirport() *query.DB {
	declared, err := schema.Parse([]byte(`
tables:
  - name: airport
    families:
      - {name: landings, aggregate: sum}
      - {name: earliest, aggregate: min}
      - {name: latest, aggregate: max}
      - {name: aircraft, aggregate: hll}
      - {name: hourly, aggregate: sum, max_age: 30d}
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

// The engine merges adds to a family with an aggregate; adding reads nothing.
func ExampleTable_Apply_add() {
	db := openAirport()
	defer db.Close()
	ctx := context.Background()
	for _, landing := range []struct {
		aircraft string
		minute   int64
	}{{"TF-FIR", 580}, {"TF-FIV", 415}, {"TF-FIR", 1210}} {
		m := write.NewMutation()
		m.Add("landings", "", cells.I64(1))
		m.Add("earliest", "", cells.I64(landing.minute))
		m.Add("latest", "", cells.I64(landing.minute))
		m.Add("aircraft", "", cells.String(landing.aircraft))
		if err := db.Table("airport").Apply(ctx, "KEF", m); err != nil {
			log.Fatal(err)
		}
	}
	row, err := db.Table("airport").ReadRow(ctx, "KEF")
	if err != nil {
		log.Fatal(err)
	}
	for c := range row.Cells() {
		fmt.Println(c.Family, c.Value)
	}
	// Output:
	// aircraft 2
	// earliest 415
	// landings 3
	// latest 1210
}

// A timestamp for each hour gives a sum for each hour, newest first, and
// retention drops those that are too old.
func ExampleTable_Apply_addAt() {
	db := openAirport()
	defer db.Close()
	ctx := context.Background()
	now := time.Now().Truncate(time.Hour)
	for _, landed := range []time.Time{now.Add(time.Minute), now.Add(-2 * time.Minute), now.Add(-50 * time.Minute)} {
		m := write.NewMutation()
		m.AddAt("hourly", "landings", cells.TimestampOf(landed.Truncate(time.Hour)), cells.I64(1))
		if err := db.Table("airport").Apply(ctx, "KEF", m); err != nil {
			log.Fatal(err)
		}
	}
	row, err := db.Table("airport").ReadRow(ctx, "KEF")
	if err != nil {
		log.Fatal(err)
	}
	for c := range row.Versions("hourly", "landings") {
		fmt.Println(c.Value)
	}
	// Output:
	// 1
	// 2
}
