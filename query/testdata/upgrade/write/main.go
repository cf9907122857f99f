// Command write writes a database of its smolwc's newest format, for tests of later
// versions. write.sh runs it in the commit that the format is of.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/directory"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/queue"
	"github.com/smolwc/smolwc/schema"
)

// then is the time at which the database is written. Tests open it at this time, since
// changes and deleted tables are not kept for ever.
var then = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// Table a holds cells that are in every format, and each other table belongs to one
// part.
var tables = &schema.Schema{Tables: []schema.Table{
	{Name: "a", Families: []schema.Family{
		{Name: "any"}, {Name: "n", Type: cells.TypeI64, GC: schema.MaxVersions(1)},
		{Name: "sum", Aggregate: schema.AggregateSum}, {Name: "hll", Aggregate: schema.AggregateHLL},
	}},
	{Name: "changed", ChangeStream: 7 * 24 * time.Hour, Families: []schema.Family{{Name: "f"}}},
	{Name: "directories", Families: []schema.Family{{Name: "d", Type: cells.TypeBytes, GC: schema.MaxVersions(1)}}},
	{Name: "dropped", Families: []schema.Family{{Name: "f"}}},
	{Name: "marked", Families: []schema.Family{{Name: "f"}}},
	{Name: "queues", Families: []schema.Family{{Name: "q"}}},
	{Name: "versions", Families: []schema.Family{{Name: "f", GC: schema.MaxVersions(3)}}},
}}

func main() {
	format, err := strconv.Atoi(os.Args[2])
	if err == nil {
		err = run(context.Background(), os.Args[1], format)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, dir string, format int) error {
	options := query.Options{Schema: tables, GCInterval: -1, Clock: func() time.Time { return then }}
	leave, err := enter(&options)
	if err != nil {
		return err
	}
	db, err := query.Open(dir, options)
	if err != nil {
		return err
	}
	for _, part := range []func(context.Context, *query.DB) error{rows, versions, changes, directories, queues, marks, dropped} {
		if err := part(ctx, db); err != nil {
			return err
		}
	}
	if err := leave(ctx, dir); err != nil {
		return err
	}
	if err := db.Close(); err != nil {
		return err
	}
	if db.Format() != format {
		return fmt.Errorf("the database has format %d, not %d", db.Format(), format)
	}
	for _, name := range []string{"LOG", "LOG.old.*", "LOCK", "IDENTITY", "OPTIONS-*"} { // the engine writes them and does not read them
		paths, _ := filepath.Glob(filepath.Join(dir, name))
		for _, path := range paths {
			if err := os.Remove(path); err != nil {
				return err
			}
		}
	}
	return nil
}

// rows writes cells of all types, in files and in the log.
func rows(ctx context.Context, db *query.DB) error {
	table := db.Table("a")
	for i := range 20 {
		m := write.NewMutation()
		m.SetAt("any", "s", cells.Timestamp(i), cells.String("value"))
		m.SetAt("any", "\x00b", 1, cells.Bytes([]byte{0, 0xff}))
		m.SetAt("n", "", 5, cells.I64(int64(-i)))
		m.Add("sum", "s", cells.I64(1<<62))
		m.Add("sum", "s", cells.I64(int64(i)))
		m.Add("hll", "h", cells.I64(int64(i)))
		m.SetAt("any", "t", cells.MaxTimestamp-cells.Timestamp(i), cells.I64(int64(i)))
		if err := table.Apply(ctx, fmt.Sprintf("r%02d\x00", i), m); err != nil {
			return err
		}
		if i == 12 { // the rest is only in the log
			if err := table.Flush(ctx); err != nil {
				return err
			}
		}
	}
	m := write.NewMutation()
	m.DeleteRow()
	return table.Apply(ctx, "r03\x00", m)
}

// versions writes more versions than the rule keeps, and one cell of each type.
func versions(ctx context.Context, db *query.DB) error {
	m := write.NewMutation()
	for i := range 5 {
		m.SetAt("f", "count", cells.Timestamp(1000*i), cells.I64(int64(i)))
	}
	for name, value := range map[string]cells.Value{
		"bool": cells.Bool(true), "bytes": cells.Bytes([]byte("a\x00b")), "float": cells.F64(-0.5), "int": cells.I64(-7), "string": cells.String("é"),
	} {
		m.SetAt("f", name, 1, value)
	}
	return db.Table("versions").Apply(ctx, "row", m)
}

func changes(ctx context.Context, db *query.DB) error {
	for i := range 4 {
		m := write.NewMutation()
		m.SetAt("f", "q", cells.Timestamp(i), cells.I64(int64(i)))
		if err := db.Table("changed").Apply(ctx, fmt.Sprintf("c%d", i), m); err != nil {
			return err
		}
	}
	for c, err := range db.Table("changed").Changes(ctx, query.ChangesSince(then)) {
		if err != nil {
			return err
		}
		if c.Key == "c1" { // tests go on after this change
			return db.SetNote(ctx, "upgrade", []byte(c.Token()))
		}
	}
	return fmt.Errorf("there is no change of c1")
}

func directories(ctx context.Context, db *query.DB) error {
	return db.Update(ctx, func(tx *query.Tx) error {
		_, err := directory.New(directory.Options{ManualPrefixes: true}).CreatePrefix(ctx, tx, []string{"tenants", "acme"}, []byte("tenant"), []byte("acme/"))
		return err
	})
}

func queues(ctx context.Context, db *query.DB) error {
	q := queue.New(db, queue.Options{})
	return db.Update(ctx, func(tx *query.Tx) error {
		for _, payload := range []string{"one", "two"} {
			if _, err := q.Enqueue(ctx, tx, "acme", queue.Item{Type: "mail", Payload: []byte(payload)}); err != nil {
				return err
			}
		}
		return nil
	})
}

// marks changes a row after marks began.
func marks(ctx context.Context, db *query.DB) error {
	if _, err := db.MarkChanges(ctx, "marked"); err != nil {
		return err
	}
	m := write.NewMutation()
	m.SetAt("f", "q", 1, cells.String("marked"))
	return db.Table("marked").Apply(ctx, "m", m)
}

func dropped(ctx context.Context, db *query.DB) error {
	m := write.NewMutation()
	m.SetAt("f", "q", 1, cells.String("back"))
	if err := db.Table("dropped").Apply(ctx, "d", m); err != nil {
		return err
	}
	return drop(ctx, db)
}
