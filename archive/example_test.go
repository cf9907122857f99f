package archive_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/smolwc/smolwc/archive"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// A database is backed up twice, and the first backup is restored.
func ExampleArchive_Backup() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "smolwc")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	db, err := query.Open(filepath.Join(dir, "db"), query.Options{Schema: &schema.Schema{Tables: []schema.Table{
		{Name: "fleet", Families: []schema.Family{{Name: "meta"}}},
	}}})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	// A bucket would be s3://BUCKET/PREFIX.
	backups, err := archive.Open(ctx, filepath.Join(dir, "backups"))
	if err != nil {
		log.Fatal(err)
	}
	for _, key := range []string{"plane#TF-FIR", "plane#TF-FIS"} {
		m := write.NewMutation()
		m.Set("meta", "operator", cells.String("Icelandair"))
		if err := db.Table("fleet").Apply(ctx, key, m); err != nil {
			log.Fatal(err)
		}
		if _, err := backups.Backup(ctx, db, archive.BackupOptions{Keep: 7}); err != nil {
			log.Fatal(err)
		}
	}
	if _, err := backups.Verify(ctx, archive.Options{}); err != nil {
		log.Fatal(err)
	}
	list, err := backups.List(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, g := range list {
		to := filepath.Join(dir, fmt.Sprint("restored", g.ID))
		if _, err := backups.Restore(ctx, g.ID, to, archive.RestoreOptions{}); err != nil {
			log.Fatal(err)
		}
		restored, err := query.OpenReadOnly(to, query.Options{})
		if err != nil {
			log.Fatal(err)
		}
		n, err := restored.Table("fleet").Count(ctx)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("backup", g.ID, "has", n.Rows, "rows")
		restored.Close()
	}
	// Output:
	// backup 1 has 1 rows
	// backup 2 has 2 rows
}
