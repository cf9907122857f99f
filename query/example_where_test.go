package query_test

import (
	"context"
	"fmt"
	"log"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
)

func ExampleTable_ReadRows_any() {
	db := openFleet()
	defer db.Close()
	fleet, ctx := db.Table("fleet"), context.Background()
	for _, f := range []struct {
		key, dest string
		dep, arr  int32
	}{{"flight#FI204", "CPH", 10, 25}, {"flight#FI318", "OSL", 70, 60}, {"flight#FI319", "KEF", 95, 90}, {"flight#FI520", "FRA", 5, 0}} {
		m := write.NewMutation()
		m.Set("loc", "dest", cells.String(f.dest))
		m.Set("delay", "dep", cells.I32(f.dep))
		m.Set("delay", "arr", cells.I32(f.arr))
		if err := fleet.Apply(ctx, f.key, m); err != nil {
			log.Fatal(err)
		}
	}

	late := read.Any(
		read.Where("delay", "dep", cells.OpGreater, cells.I64(60)),
		read.WhereColumns("delay", "arr", cells.OpGreater, "delay", "dep"),
	)
	elsewhere := read.Negate(read.WhereIn("loc", "dest", cells.String("OSL"), cells.String("ARN")))
	for row, err := range fleet.ReadRows(ctx, read.Prefix("flight#"), late, elsewhere, read.KeysOnly()) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(row.Key())
	}
	// Output:
	// flight#FI204
	// flight#FI319
}
