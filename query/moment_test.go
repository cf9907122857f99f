package query_test

import (
	"context"
	"iter"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// Reads of several tables with the context of one moment see what was written before it, in
// whichever way they read.
func TestReadsAtOneMoment(t *testing.T) {
	ctx := t.Context()
	db, err := query.OpenInMemory(query.Options{Schema: &schema.Schema{Tables: []schema.Table{
		{Name: "a", Families: []schema.Family{{Name: "f"}}}, {Name: "b", Families: []schema.Family{{Name: "f"}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	put := func(table, key string) {
		m := write.NewMutation()
		m.Set("f", "q", cells.I64(1))
		if err := db.Table(table).Apply(ctx, key, m); err != nil {
			t.Fatal(err)
		}
	}
	count := func(ctx context.Context, table string) (n, parts int) {
		for _, err := range db.Table(table).ReadRows(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		err := db.Table(table).ReadPartsParallel(ctx, 1, func(_ context.Context, _ int, rows iter.Seq2[*query.Row, error]) error {
			for _, err := range rows {
				if err != nil {
					return err
				}
				parts++
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return n, parts
	}
	put("a", "1")
	at, done, err := db.AtOneMoment(ctx)
	if err != nil {
		t.Fatal(err)
	}
	put("a", "2")
	put("b", "1")
	for table, want := range map[string]int{"a": 1, "b": 0} {
		if rows, parts := count(at, table); rows != want || parts != want {
			t.Errorf("table %s has %d rows at the moment, %d in parts; want %d", table, rows, parts, want)
		}
	}
	if list, err := db.Table("a").ReadRowList(at, []string{"1", "2"}); err != nil || list[0] == nil || list[1] != nil {
		t.Errorf("a list of rows at the moment: %v, %v", list, err)
	}
	done()
	if rows, _ := count(ctx, "a"); rows != 2 {
		t.Errorf("later there are %d rows", rows)
	}
}
