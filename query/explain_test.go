package query_test

import (
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
)

// Conditions that must all hold are apart: the store judges some, and the others are judged
// row by row.
func TestAPrintedPlanHasEachConditionOnce(t *testing.T) {
	db, err := query.OpenInMemory(query.Options{Schema: query.Declare(query.NewTable("t", schema.Family{Name: "f"}))})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	plan, err := db.Table("t").Explain(read.All(
		query.Where("f", "x", cells.OpEqual, cells.I64(1)),
		read.WhereColumns("f", "x", cells.OpLess, "f", "y"),
	))
	if err != nil {
		t.Fatal(err)
	}
	const want = "rows: all\nscan: f\nwhere: f:x == 1\njudged: f:x < f:y\n"
	if got := plan.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
