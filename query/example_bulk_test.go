package query_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// Many rows, in any order, become visible together, and once.
func ExampleTable_BulkLoad() {
	ctx := context.Background()
	db, err := query.OpenInMemory(query.Options{Schema: &schema.Schema{Tables: []schema.Table{
		{Name: "fleet", Families: []schema.Family{{Name: "meta"}}},
	}}})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	fleet := db.Table("fleet")

	load := func() error {
		l, err := fleet.BulkLoad(ctx, query.BulkOptions{Name: "register of 2024"})
		if err != nil {
			return err
		}
		defer l.Close() // without a Commit nothing is left
		m := write.NewMutation()
		for _, plane := range []struct{ tail, model string }{{"TF-ISX", "Boeing 757-256"}, {"TF-FIR", "Boeing 757-256"}} {
			m.Reset()
			m.Set("meta", "model", cells.String(plane.model))
			if err := l.Apply("plane#"+plane.tail, m); err != nil {
				return err
			}
		}
		_, err = l.Commit(ctx)
		return err
	}
	fmt.Println(load())
	fmt.Println(errors.Is(load(), query.ErrLoaded))
	for row, err := range fleet.ReadRows(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(row.Key(), row.Text("meta", "model"))
	}
	// Output:
	// <nil>
	// true
	// plane#TF-FIR Boeing 757-256
	// plane#TF-ISX Boeing 757-256
}
