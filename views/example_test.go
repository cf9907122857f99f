package views_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/sql"
	"github.com/smolwc/smolwc/views"
)

// A program queries its database in SQL, with parameters, and takes the columns into
// variables of Go.
func Example() {
	ctx := context.Background()
	db, err := query.OpenInMemory(query.Options{Schema: &schema.Schema{Tables: []schema.Table{
		{Name: "planes", Families: []schema.Family{{Name: "meta", Type: cells.TypeString}, {Name: "n", Type: cells.TypeI64}}},
	}}})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	for i, model := range []string{"757", "747", "757"} {
		m := write.NewMutation()
		m.Set("meta", "model", cells.String(model))
		m.Set("n", "seats", cells.I64(int64(200+i)))
		if err := db.Table("planes").Apply(ctx, fmt.Sprint("plane#", i), m); err != nil {
			log.Fatal(err)
		}
	}

	all := views.Of(db)
	err = all.Create(ctx, views.View{
		Name: "models", Materialized: true,
		SQL: "SELECT meta['model'] AS model, COUNT(*) AS planes, MAX(n['seats']) AS seats FROM planes GROUP BY model",
	})
	if err != nil {
		log.Fatal(err)
	}
	res, err := all.Query(ctx, "SELECT model, planes, seats FROM models WHERE seats >= @least ORDER BY model", sql.Param{Name: "least", Value: 100})
	if err != nil {
		log.Fatal(err)
	}
	for row, err := range res.All() {
		if err != nil {
			log.Fatal(err)
		}
		var model string
		var planes int64
		var seats *int64 // it may be NULL
		if err := row.Scan(&model, &planes, &seats); err != nil {
			log.Fatal(err)
		}
		fmt.Println(model, planes, *seats)
	}

	// No value is converted: what a variable cannot hold is an error.
	res, err = all.Query(ctx, "SELECT model FROM models")
	if err != nil {
		log.Fatal(err)
	}
	for row := range res.All() {
		_, err := sql.As[time.Time](row, "model")
		fmt.Println(err)
		break
	}

	// A fault of a query has its place.
	_, err = all.Query(ctx, "SELECT model FROM plains")
	var fault *sql.Error
	fmt.Println(errors.As(err, &fault), query.KindOf(err), err)
	// Output:
	// 747 1 201
	// 757 2 202
	// column 1 (model) is STRING, which *time.Time does not take
	// true invalid argument query: Table not found: plains; did you mean "planes"? [at 1:19]
}
