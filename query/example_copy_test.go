package query_test

import (
	"context"
	"fmt"
	"log"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// A database is copied to a new one, which may be on another engine; see
// [query.OpenStore].
func ExampleDB_CopyFrom() {
	ctx := context.Background()
	from, err := query.OpenInMemory(query.Options{Schema: &schema.Schema{Tables: []schema.Table{
		{Name: "fleet", Families: []schema.Family{{Name: "meta"}, {Name: "flights", Aggregate: schema.AggregateSum}}},
	}}})
	if err != nil {
		log.Fatal(err)
	}
	defer from.Close()
	m := write.NewMutation()
	m.SetAt("meta", "model", 1, cells.String("757-256"))
	m.Add("flights", "", cells.I64(3))
	if err := from.Table("fleet").Apply(ctx, "plane#TF-FIR", m); err != nil {
		log.Fatal(err)
	}

	to, err := query.OpenInMemory(query.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer to.Close()
	report, err := to.CopyFrom(ctx, from, query.CopyOptions{}) // call it again after an error
	if err != nil {
		log.Fatal(err)
	}
	for _, t := range report.Tables {
		fmt.Printf("%s: %d cells, checksum %016x\n", t.Table, t.Cells, t.Checksum)
	}
	row, err := to.Table("fleet").ReadRow(ctx, "plane#TF-FIR")
	if err != nil {
		log.Fatal(err)
	}
	n, _ := row.I64("flights", "")
	fmt.Println(row.Text("meta", "model"), n)
	// Output:
	// fleet: 2 cells, checksum 5d11beb5f108dbae
	// 757-256 3
}
