package query_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// markedRows are the keys of the rows that a table's marks have.
func markedRows(t *testing.T, db *query.DB, table string) (keys []string) {
	t.Helper()
	for row, err := range db.Table(schema.MarksOf(table)).ReadRows(context.Background(), read.KeysOnly()) {
		must(t, err)
		keys = append(keys, row.Key())
	}
	return keys
}

func wantMarked(t *testing.T, db *query.DB, want ...string) {
	t.Helper()
	if got := markedRows(t, db, "t"); !slices.Equal(got, want) {
		t.Errorf("the marks are of %q, want %q", got, want)
	}
	if keys, all := db.Plumbing().TakeMarked("t"); all && !slices.Equal(keys, want) {
		t.Errorf("the process has marked %q, want %q", keys, want)
	}
}

// markedWrites are the ways to change row r of table t.
var markedWrites = map[string]func(*query.DB) error{
	"set": func(db *query.DB) error {
		return db.Table("t").Apply(ctx, "r", mutate(set("any", "q", cells.I64(1))))
	},
	"delete of the row": func(db *query.DB) error {
		return db.Table("t").Apply(ctx, "r", mutate((*write.Mutation).DeleteRow))
	},
	"batch": func(db *query.DB) error {
		return db.Apply(ctx, write.NewBatch().Add("t", "r", mutate(set("any", "q", cells.I64(1)))))
	},
	"many rows": func(db *query.DB) error {
		_, err := db.Table("t").ApplyBulk(ctx, []string{"r"}, []*write.Mutation{mutate(set("any", "q", cells.I64(1)))})
		return err
	},
	"check and mutate": func(db *query.DB) error {
		_, err := db.Table("t").CheckAndMutate(ctx, "r", nil, mutate(set("any", "q", cells.I64(1))), mutate(set("any", "q", cells.I64(2))))
		return err
	},
	"read-modify-write": func(db *query.DB) error {
		_, err := db.Table("t").Increment(ctx, "r", "any", "n", 1)
		return err
	},
	"transaction": func(db *query.DB) error {
		return db.Update(ctx, func(tx *query.Tx) error { return tx.Apply(ctx, "t", "r", mutate(set("any", "q", cells.I64(1)))) })
	},
	"range": func(db *query.DB) error {
		must := db.Table("t").Apply(ctx, "r", mutate(set("any", "q", cells.I64(1))))
		if must != nil {
			return must
		}
		db.Plumbing().TakeMarked("t")
		return db.Table("t").DeleteRange(ctx, read.Prefix(""))
	},
}

func TestEveryWriteMarksItsRow(t *testing.T) {
	for way, write := range markedWrites {
		t.Run(way, func(t *testing.T) {
			db := openMemory(t, &schema.Schema{Tables: []schema.Table{
				{Name: "t", Families: []schema.Family{{Name: "any"}}}, {Name: "u", Families: []schema.Family{{Name: "any"}}},
			}})
			must(t, db.Table("t").Apply(ctx, "before", mutate(set("any", "q", cells.I64(1)))))
			must(t, db.Table("u").Apply(ctx, "other", mutate(set("any", "q", cells.I64(1)))))
			if began, err := db.Plumbing().MarkChanges(ctx, "t"); !began || err != nil {
				t.Fatal(began, err)
			}
			if began, err := db.Plumbing().MarkChanges(ctx, "t"); began || err != nil {
				t.Fatal(began, err)
			}
			if _, all := db.Plumbing().TakeMarked("t"); all {
				t.Error("the first marks count as known")
			}
			must(t, write(db))
			if way == "range" {
				wantMarked(t, db, "before", "r")
			} else {
				wantMarked(t, db, "r")
			}
			if keys, all := db.Plumbing().TakeMarked("t"); len(keys) > 0 || !all {
				t.Errorf("taken twice: %q, %v", keys, all)
			}
		})
	}
}

func TestMarksEndWithAChangeOfTheSchema(t *testing.T) {
	db := openMemory(t, &schema.Schema{Tables: []schema.Table{{Name: "t", Families: []schema.Family{{Name: "any"}, {Name: "more"}}}}})
	for _, change := range []func() error{
		func() error { return db.DropFamily(ctx, "t", "more") },
		func() error { return db.AddFamily(ctx, "t", schema.Family{Name: "more"}) },
		func() error { return db.SetFamily(ctx, "t", schema.Family{Name: "more", GC: schema.MaxVersions(1)}) },
		func() error { return db.DropTable(ctx, "t") },
	} {
		if began, err := db.Plumbing().MarkChanges(ctx, "t"); !began || err != nil {
			t.Fatal(began, err)
		}
		must(t, db.Table("t").Apply(ctx, "r", mutate(set("any", "q", cells.I64(1)))))
		must(t, change())
		if _, ok := db.LookupTable(schema.MarksOf("t")); ok {
			t.Error("the marks are still there")
		}
	}
}

func TestMarksAreNotShownAndSurvive(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	db := mustOpen(t, dir, query.Options{Schema: &schema.Schema{Tables: []schema.Table{{Name: "t", Families: []schema.Family{{Name: "any"}}}}}})
	wantFormat(t, db, 1)
	if _, err := db.Plumbing().MarkChanges(ctx, "t"); err != nil {
		t.Fatal(err)
	}
	wantFormat(t, db, 3)
	must(t, db.Table("t").Apply(ctx, "r", mutate(set("any", "q", cells.I64(1)))))
	if n := len(db.Schema().Tables); n != 1 {
		t.Errorf("the schema shows %d tables", n)
	}
	if _, err := db.Table("t").BulkLoad(ctx, query.BulkOptions{}); err == nil || !strings.Contains(err.Error(), "materialized view") {
		t.Errorf("a bulk load: %v", err)
	}
	must(t, db.Close())
	db = mustOpen(t, dir, query.Options{})
	defer db.Close()
	if _, all := db.Plumbing().TakeMarked("t"); all {
		t.Error("marks from before the open count as known")
	}
	must(t, db.Table("t").Apply(ctx, "s", mutate(set("any", "q", cells.I64(1)))))
	if got := markedRows(t, db, "t"); !slices.Equal(got, []string{"r", "s"}) {
		t.Errorf("marks: %q", got)
	}
}

// With lazy retention a collection changes what reads see, so it marks the rows.
func TestACollectionMarksRowsIfReadsSawItsVersions(t *testing.T) {
	for _, how := range []schema.Enforcement{schema.Exact, schema.Lazy} {
		db := openMemory(t, &schema.Schema{Tables: []schema.Table{{Name: "t", Retention: how, Families: []schema.Family{{Name: "any", GC: schema.MaxVersions(1)}}}}})
		must(t, db.Table("t").Apply(ctx, "r", mutate(setAt("any", "q", 1, cells.I64(1)), setAt("any", "q", 2, cells.I64(1)))))
		if _, err := db.Plumbing().MarkChanges(ctx, "t"); err != nil {
			t.Fatal(err)
		}
		db.Plumbing().TakeMarked("t")
		_, err := db.GC(ctx, "t", query.GCOptions{})
		must(t, err)
		if how == schema.Lazy {
			wantMarked(t, db, "r")
		} else {
			wantMarked(t, db)
		}
	}
}
