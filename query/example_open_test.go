package query_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// A database in a directory, which is created if it does not exist. Other processes may
// read it meanwhile.
func ExampleOpen() {
	parent, err := os.MkdirTemp("", "smolwc")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(parent)
	dir := filepath.Join(parent, "data")
	declared := &schema.Schema{Tables: []schema.Table{{Name: "fleet", Families: []schema.Family{
		{Name: "meta", GC: schema.MaxVersions(1)},
	}}}} // or schema.Load("config.yaml")

	db, err := query.Open(dir, query.Options{Schema: declared})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	ctx, m := context.Background(), write.NewMutation()
	m.Set("meta", "model", cells.String("757-256"))
	if err := db.Table("fleet").Apply(ctx, "plane#TF-FIR", m); err != nil {
		log.Fatal(err)
	}

	reader, err := query.OpenReadOnly(dir, query.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer reader.Close()
	n, err := reader.Table("fleet").Count(ctx)
	fmt.Println(n.Rows, err)

	// Only one open can write.
	_, err = query.Open(dir, query.Options{})
	fmt.Println(query.KindOf(err) == query.KindBusy)
	// Output:
	// 1 <nil>
	// true
}

// A database on Pebble, an engine in pure Go, which every build has. Which engine a
// database has is chosen once, when it is made.
func ExampleOptions_engine() {
	parent, err := os.MkdirTemp("", "smolwc")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(parent)
	dir := filepath.Join(parent, "data")
	db, err := query.Open(dir, query.Options{Engine: query.EnginePebble})
	if err != nil {
		log.Fatal(err)
	}
	if err := db.Close(); err != nil {
		log.Fatal(err)
	}
	fmt.Println(query.EngineOf(dir))

	_, err = query.Open(dir, query.Options{Engine: query.EngineRocksDB})
	fmt.Println(query.KindOf(err) == query.KindFailedPrecondition)

	db, err = query.Open(dir, query.Options{}) // the database says which engine it has
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	fmt.Println(len(db.Schema().Tables))
	// Output:
	// pebble <nil>
	// true
	// 0
}
