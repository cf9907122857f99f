// Command first is the program of docs/start-go.md: it keeps an aircraft and its
// flights in the directory fleet-data.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
)

func main() {
	if err := run(context.Background(), "fleet-data"); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, dir string) error {
	declared := query.Declare(query.NewTable("fleet",
		query.Family{Name: "meta", GC: query.MaxVersions(1)},
		query.Family{Name: "delay", Type: cells.TypeI32},
	))
	db, err := query.Open(dir, query.Options{Schema: declared})
	if err != nil {
		return err
	}
	defer db.Close()

	if err := addFlights(ctx, db); err != nil {
		return err
	}
	if err := printLate(ctx, db); err != nil {
		return err
	}
	return countLanding(ctx, db)
}

// addFlights writes an aircraft and three flights, all or nothing.
func addFlights(ctx context.Context, db *query.DB) error {
	plane := query.NewMutation()
	plane.Set("meta", "model", cells.String("757-256"))
	plane.Set("meta", "seats", cells.I64(183))
	batch := query.NewBatch().Add("fleet", "plane#TF-FIR", plane)
	for i, late := range []int32{7, 180, -2} {
		flight := query.NewMutation()
		flight.Set("delay", "dep", cells.I32(late))
		batch.Add("fleet", fmt.Sprintf("flight#TF-FIR#2024-01-%02d", 25+i), flight)
	}
	return db.Apply(ctx, batch)
}

// printLate prints the late flights of the aircraft.
func printLate(ctx context.Context, db *query.DB) error {
	type flight struct {
		Key  string `smolwc:"key"`
		Late int32  `smolwc:"delay:dep"` // minutes
	}
	flights := db.Table("fleet").ReadRows(ctx, query.Prefix("flight#TF-FIR#"),
		query.Where("delay", "dep", cells.OpGreater, cells.I32(0)))
	for f, err := range query.RowsInto[flight](flights) {
		if err != nil {
			return err
		}
		fmt.Println(f.Key, "was", f.Late, "minutes late")
	}
	return nil
}

// countLanding adds 1 to a number in the row of the aircraft.
func countLanding(ctx context.Context, db *query.DB) error {
	var landings int64
	err := db.Update(ctx, func(tx *query.Tx) error {
		row, err := tx.ReadRow(ctx, "fleet", "plane#TF-FIR")
		if err != nil {
			return err
		}
		var plane struct {
			Landings int64 `smolwc:"meta:landings"` // 0 until there is one
		}
		if err := row.Into(&plane); err != nil {
			return err
		}
		landings = plane.Landings + 1
		m := query.NewMutation()
		m.Set("meta", "landings", cells.I64(landings))
		return tx.Apply(ctx, "fleet", "plane#TF-FIR", m)
	})
	if err != nil {
		return err
	}
	fmt.Println("landings:", landings)
	return nil
}
