package query_test

import (
	"context"
	"fmt"
	"log"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
)

// A plane gets an operator unless it already has one. No other write of the row comes
// between the check and the write.
func ExampleTable_CheckAndMutate() {
	db := openFleet()
	defer db.Close()
	fleet, ctx := db.Table("fleet"), context.Background()

	for _, operator := range []string{"Icelandair", "Loftleiðir"} {
		m := write.NewMutation()
		m.Set("meta", "operator", cells.String(operator))
		isFree, err := fleet.CheckAndMutate(ctx, "plane#TF-FIR", read.Absent("meta", "operator"), m, nil)
		fmt.Println(operator, isFree, err)
	}
	// Output:
	// Icelandair true <nil>
	// Loftleiðir false <nil>
}

// A counter and a log change together, on the newest state of the row.
func ExampleTable_ApplyReadModifyWrite() {
	db := openFleet()
	defer db.Close()
	fleet, ctx := db.Table("fleet"), context.Background()

	for _, leg := range []struct {
		route string
		miles int64
	}{{"KEF-OSL", 1085}, {"OSL-KEF", 1085}} {
		m := write.NewReadModifyWrite()
		m.Increment("meta", "miles", leg.miles)
		m.AppendString("meta", "legs", leg.route+",")
		row, err := fleet.ApplyReadModifyWrite(ctx, "plane#TF-FIR", m)
		if err != nil {
			log.Fatal(err)
		}
		miles, _ := row.I64("meta", "miles")
		fmt.Println(miles, row.Text("meta", "legs"))
	}
	// Output:
	// 1085 KEF-OSL,
	// 2170 KEF-OSL,OSL-KEF,
}

// Two planes swap their operators, or neither does. The function may run several times:
// it has no other effects than its writes.
func ExampleDB_Update() {
	db := openFleet()
	defer db.Close()
	fleet, ctx := db.Table("fleet"), context.Background()
	for key, operator := range map[string]string{"plane#TF-FIR": "Icelandair", "plane#TF-FIV": "Loftleiðir"} {
		m := write.NewMutation()
		m.Set("meta", "operator", cells.String(operator))
		if err := fleet.Apply(ctx, key, m); err != nil {
			log.Fatal(err)
		}
	}

	swap := func(one, other string) error {
		return db.Update(ctx, func(tx *query.Tx) error {
			var operators []cells.Value
			for _, key := range []string{other, one} {
				row, err := tx.ReadRow(ctx, "fleet", key)
				if err != nil {
					return err
				}
				operator, ok := row.Cell("meta", "operator")
				if !ok {
					return fmt.Errorf("%s has no operator", key)
				}
				operators = append(operators, operator.Value)
			}
			for i, key := range []string{one, other} {
				m := write.NewMutation()
				m.Set("meta", "operator", operators[i])
				if err := tx.Apply(ctx, "fleet", key, m); err != nil {
					return err
				}
			}
			return nil
		})
	}
	fmt.Println(swap("plane#TF-FIR", "plane#TF-FIV"))
	fmt.Println(swap("plane#TF-FIR", "plane#TF-FIX"))
	for row, err := range fleet.ReadRows(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(row.Key(), row.Text("meta", "operator"))
	}
	// Output:
	// <nil>
	// plane#TF-FIX has no operator
	// plane#TF-FIR Loftleiðir
	// plane#TF-FIV Icelandair
}

// A prefix of keys is deleted in a time that does not depend on the number of rows.
func ExampleTable_DeleteRange() {
	db := openFlights()
	defer db.Close()
	fleet, ctx := db.Table("fleet"), context.Background()

	if err := fleet.DeleteRange(ctx, read.Prefix("flight#TF-FIR#")); err != nil {
		log.Fatal(err)
	}
	n, err := fleet.Count(ctx)
	fmt.Println(n.Rows, err)
	// Output: 1 <nil>
}
