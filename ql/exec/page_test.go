package exec_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/exec"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// usableDB is a database with a table, a family and a row that are named t.
func usableDB(t testing.TB) *query.DB {
	db, err := query.OpenInMemory(query.Options{Schema: &schema.Schema{Tables: []schema.Table{{Name: "t", Families: []schema.Family{{Name: "t"}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	m := write.NewMutation()
	m.Set("t", "t", cells.I64(1))
	if err := db.Table("t").Apply(t.Context(), "t", m); err != nil {
		t.Fatal(err)
	}
	return db
}

// Pages of a read whose times depend on now are all as of the moment of the first page.
func TestPagesKeepTheMomentOfTheFirst(t *testing.T) {
	r := exec.Runner{DB: usableDB(t)}
	m := write.NewMutation()
	m.Set("t", "t", cells.I64(1))
	for i := range 4 {
		if err := r.DB.Table("t").Apply(t.Context(), fmt.Sprint("row", i), m); err != nil {
			t.Fatal(err)
		}
	}
	read := func(text string) (keys []string, next ql.Statement, err error) {
		st, err := ql.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		res, err := r.Run(t.Context(), st)
		if err != nil {
			return nil, nil, err
		}
		rows := res.(*exec.RowStream)
		for row, err := range rows.All() {
			if err != nil {
				return nil, nil, err
			}
			keys = append(keys, row.Key())
		}
		if more := rows.Next(); more != nil {
			next = more
		}
		return keys, next, nil
	}
	for _, scan := range []string{`scan t since=now-1h limit=2 page=""`, `scan t where t:t.ts > now-1h limit=2 page=""`, `scan t limit=2 page=""`} {
		var all []string
		for text := scan; text != ""; {
			keys, next, err := read(text)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if all, text = append(all, keys...), ""; next != nil {
				text = ql.Print(next)
			}
		}
		if len(all) != 5 || all[0] != "row0" || all[4] != "t" {
			t.Errorf("%s: the pages have %q", scan, all)
		}
	}
	_, next, err := read(`scan t since=now-1h limit=2 page=""`)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{strings.Replace(ql.Print(next), "now-1h", "now-2h", 1), ql.Print(next) + "-", `scan t page="a.0"`} {
		if _, _, err := read(bad); query.KindOf(err) != query.KindInvalidArgument {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
