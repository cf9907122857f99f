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

// The writes to a table can be read as a stream of changes. A reader can continue where
// it stopped.
func ExampleTable_Changes() {
	ctx := context.Background()
	db, err := query.OpenInMemory(query.Options{Schema: &schema.Schema{Tables: []schema.Table{
		{Name: "fleet", ChangeStream: 7 * 24 * time.Hour, Families: []schema.Family{{Name: "meta"}}},
	}}})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	fleet, began := db.Table("fleet"), db.Now().Time()

	m := write.NewMutation()
	m.SetAt("meta", "model", 1, cells.String("757-256"))
	if err := fleet.Apply(ctx, "plane#TF-FIR", m); err != nil {
		log.Fatal(err)
	}
	token := ""
	for c, err := range fleet.Changes(ctx, query.ChangesSince(began), query.ChangesUntil(db.Now().Time())) {
		if err != nil {
			log.Fatal(err)
		}
		for _, change := range c.Changes {
			fmt.Println(c.Key, change.Family, change.Qualifier, change.Value)
		}
		token = c.Token() // store it together with the result of the change
	}

	m = write.NewMutation()
	m.DeleteCellsInFamily("meta")
	if err := fleet.Apply(ctx, "plane#TF-FIR", m); err != nil {
		log.Fatal(err)
	}
	for c, err := range fleet.Changes(ctx, query.ChangesAfter(token)) { // waits for more
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(c.Key, c.Changes[0].Kind == write.DeleteFamilyChange)
		break
	}
	// Output:
	// plane#TF-FIR meta model 757-256
	// plane#TF-FIR true
}
