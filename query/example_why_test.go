package query_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// Where are the cells of a row? Its family keeps two versions, and its table the log of
// changes.
func ExampleTable_Why() {
	ctx := context.Background()
	db, err := query.OpenInMemory(query.Options{Schema: &schema.Schema{Tables: []schema.Table{
		{Name: "fleet", ChangeStream: 7 * 24 * time.Hour, Families: []schema.Family{{Name: "meta", GC: schema.MaxVersions(2)}}},
	}}})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	fleet := db.Table("fleet")
	change := func(f func(*write.Mutation)) {
		m := write.NewMutation()
		f(m)
		if err := fleet.Apply(ctx, "plane#TF-FIR", m); err != nil {
			log.Fatal(err)
		}
	}
	change(func(m *write.Mutation) { m.SetAt("meta", "owner", 1, cells.String("Icelandair")) })
	change(func(m *write.Mutation) { m.DeleteCellsInColumn("meta", "owner") })
	for ts, model := range []string{"757", "757-2", "757-25"} {
		change(func(m *write.Mutation) { m.SetAt("meta", "model", cells.Timestamp(ts+1), cells.String(model)) })
	}
	change(func(m *write.Mutation) { m.SetAt("meta", "model", 3, cells.String("757-256")) })

	why, err := fleet.Why(ctx, "plane#TF-FIR")
	if err != nil {
		log.Fatal(err)
	}
	for _, v := range why.Versions {
		fmt.Printf("%s@%d %v is %v", v.Qualifier, v.Timestamp, v.Value, v.State)
		switch v.State {
		case query.WhyHidden:
			fmt.Printf(": the family keeps %d, and %d are newer", v.Rule.Versions, v.Newer)
		case query.WhyDeleted, query.WhyReplaced:
			fmt.Print(", some time after it was written: ", v.Ended.Time > v.Written.Time)
		}
		fmt.Println()
	}

	not, err := fleet.WhyNot(ctx, "plane#TF-FIR", read.Any(read.Where("meta", "model", cells.OpEqual, cells.String("737")), read.Where("meta", "owner", cells.OpNotEqual, cells.String("Loftleidir"))))
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range not.Parts {
		fmt.Println(p.Depth, p.Condition, p.Verdict)
	}
	// Output:
	// model@3 757-256 is visible
	// model@3 757-25 is replaced, some time after it was written: true
	// model@2 757-2 is older
	// model@1 757 is hidden: the family keeps 2, and 2 are newer
	// owner@1 Icelandair is deleted, some time after it was written: true
	// 0 (meta:model == 737 or meta:owner != Loftleidir) no cell
	// 1 meta:model == 737 false
	// 1 meta:owner != Loftleidir no cell
}
