package query_test

import (
	"context"
	"fmt"
	"log"
	"sync/atomic"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
)

// Pages of the columns of one row, each read with the token of the page before.
func ExampleTable_ReadPage() {
	db := openFleet()
	defer db.Close()
	fleet, ctx := db.Table("fleet"), context.Background()
	m := write.NewMutation()
	for day := 1; day <= 5; day++ {
		m.Set("flight", fmt.Sprintf("2024-01-%02d", day), cells.String("KEF-OSL"))
	}
	if err := fleet.Apply(ctx, "plane#TF-FIR", m); err != nil {
		log.Fatal(err)
	}

	token := ""
	for {
		page, err := fleet.ReadPage(ctx, read.Key("plane#TF-FIR"), read.PageSize(2), read.After(token))
		if err != nil {
			log.Fatal(err)
		}
		for _, row := range page.Rows {
			var days []string
			for c := range row.Cells() {
				days = append(days, c.Qualifier)
			}
			fmt.Println(days)
		}
		if token = page.Next; token == "" {
			break
		}
	}

	// The token of one read cannot be used for another.
	page, err := fleet.ReadPage(ctx, read.Key("plane#TF-FIR"), read.PageSize(2))
	if err != nil {
		log.Fatal(err)
	}
	_, err = fleet.ReadPage(ctx, read.Key("plane#TF-FIV"), read.After(page.Next))
	fmt.Println(err)
	// Output:
	// [2024-01-01 2024-01-02]
	// [2024-01-03 2024-01-04]
	// [2024-01-05]
	// read page fleet: page token belongs to a read of another table or with other options
}

func ExampleTable_ReadCells() {
	db := openFleet()
	defer db.Close()
	fleet, ctx := db.Table("fleet"), context.Background()
	m := write.NewMutation()
	for minute := range 1000 { // or ten million
		m.SetAt("loc", "altitude", cells.Timestamp(minute*60_000_000), cells.String(fmt.Sprint(minute)))
	}
	if err := fleet.Apply(ctx, "plane#TF-FIR", m); err != nil {
		log.Fatal(err)
	}

	n := 0
	for c, err := range fleet.ReadCells(ctx, "plane#TF-FIR", read.Column("loc", "altitude")) {
		if err != nil {
			log.Fatal(err)
		}
		if n++; n == 1 {
			fmt.Println(c.Column(), c.Value) // the newest comes first
		}
	}
	fmt.Println(n)
	// Output:
	// loc:altitude 999
	// 1000
}

func ExampleTable_ReadRowList() {
	db := openFleet()
	defer db.Close()
	fleet, ctx := db.Table("fleet"), context.Background()
	for _, key := range []string{"plane#TF-FIR", "plane#TF-FIV"} {
		m := write.NewMutation()
		m.Set("meta", "operator", cells.String("Icelandair"))
		if err := fleet.Apply(ctx, key, m); err != nil {
			log.Fatal(err)
		}
	}

	keys := []string{"plane#TF-FIV", "plane#TF-NIL", "plane#TF-FIR"}
	rows, err := fleet.ReadRowList(ctx, keys)
	if err != nil {
		log.Fatal(err)
	}
	for i, row := range rows {
		fmt.Println(keys[i], row != nil)
	}
	// Output:
	// plane#TF-FIV true
	// plane#TF-NIL false
	// plane#TF-FIR true
}

func ExampleTable_ReadRowsParallel() {
	db := openFleet()
	defer db.Close()
	fleet, ctx := db.Table("fleet"), context.Background()
	for i := range 100 {
		m := write.NewMutation()
		m.Set("meta", "miles", cells.I64(int64(i)))
		if err := fleet.Apply(ctx, fmt.Sprintf("plane#%03d", i), m); err != nil {
			log.Fatal(err)
		}
	}

	var miles atomic.Int64
	err := fleet.ReadRowsParallel(ctx, 4, func(_ context.Context, row *query.Row) error {
		n, _ := row.I64("meta", "miles")
		miles.Add(n)
		return nil
	}, read.Prefix("plane#"))
	fmt.Println(miles.Load(), err)
	// Output: 4950 <nil>
}
