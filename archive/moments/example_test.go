package moments_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/smolwc/smolwc/archive"
	"github.com/smolwc/smolwc/archive/moments"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/standby"
)

// Somebody deletes a row by mistake. The moment before it is restored beside the database.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "smolwc")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	primary := standby.NewPrimary(standby.PrimaryOptions{}) // which keeps the log
	db, err := query.Open(filepath.Join(dir, "db"), query.Options{Standbys: primary.Hook(), Schema: &schema.Schema{Tables: []schema.Table{
		{Name: "fleet", Families: []schema.Family{{Name: "meta"}}},
	}}})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	target := filepath.Join(dir, "archive") // or s3://BUCKET/PREFIX
	sender, err := moments.NewSender(db, primary, target, moments.Options{Every: 10 * time.Millisecond})
	if err != nil {
		log.Fatal(err)
	}
	sending, stop := context.WithCancel(ctx)
	ended := make(chan error)
	go func() { ended <- sender.Run(sending) }()
	for sender.Status().Earliest.IsZero() { // the first backup
		time.Sleep(10 * time.Millisecond)
	}

	m := write.NewMutation()
	m.Set("meta", "model", cells.String("Boeing 757"))
	if err := db.Table("fleet").Apply(ctx, "plane#TF-FIR", m); err != nil {
		log.Fatal(err)
	}
	before := time.Now()
	m = write.NewMutation()
	m.DeleteRow()
	if err := db.Table("fleet").Apply(ctx, "plane#TF-FIR", m); err != nil {
		log.Fatal(err)
	}
	stop() // sends the rest
	if err := <-ended; err != nil {
		log.Fatal(err)
	}

	a, err := archive.Open(ctx, target)
	if err != nil {
		log.Fatal(err)
	}
	to := filepath.Join(dir, "before")
	if _, err := moments.Restore(ctx, a, moments.Moment{Time: before}, to, moments.RestoreOptions{}); err != nil {
		log.Fatal(err)
	}
	old, err := query.OpenReadOnly(to, query.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer old.Close()
	row, err := old.Table("fleet").ReadRow(ctx, "plane#TF-FIR")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(row.Text("meta", "model"))
	// Output: Boeing 757
}
