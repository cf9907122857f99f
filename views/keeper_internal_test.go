package views

import (
	"fmt"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/sql/run"
)

// A turn ends after the row at which its time is over, however many rows wait: others come in
// between rows on which a query takes long.
func TestATurnEndsBetweenSlowRows(t *testing.T) {
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	db, err := query.OpenInMemory(query.Options{})
	must(err)
	defer func() { must(db.Close()) }()
	must(db.CreateTable(ctx, schema.Table{Name: "t", Families: []schema.Family{{Name: "f"}}}))
	const rows = 10
	put := func() {
		t.Helper()
		for i := range rows {
			m := write.NewMutation()
			m.Set("f", "v", cells.Bytes([]byte("x")))
			must(db.Table("t").Apply(ctx, fmt.Sprintf("r%02d", i), m))
		}
	}
	put()
	v := Of(db)
	for _, text := range []string{"SELECT f['v'] AS v, COUNT(*) AS n FROM t GROUP BY v", "SELECT _key AS k, f['v'] AS v FROM t ORDER BY k"} {
		must(v.Create(ctx, View{Name: fmt.Sprint("v", len(v.All())), SQL: text, Materialized: true}))
	}
	k := v.keeper("t")
	turns := func() (n int) {
		t.Helper()
		for g := new(goal); ; n++ {
			before := k.computed
			done, err := k.takeTurn(ctx, time.Nanosecond, g)
			must(err)
			if k.computed > before+1 {
				t.Fatalf("a turn took %d rows", k.computed-before)
			}
			if done {
				return n + 1
			}
		}
	}
	// A query with the hint waits for one turn at most while a view is built.
	building := new(goal)
	if done, err := k.takeTurn(ctx, time.Nanosecond, building); done || err != nil || !building.building {
		t.Errorf("after a turn: done %v, building %v, %v", done, building.building, err)
	}
	if n := turns() + 1; n < rows {
		t.Errorf("the table was read in %d turns", n)
	}
	if done, err := k.takeTurn(ctx, time.Nanosecond, building); !done || err != nil || building.building {
		t.Errorf("after all turns: done %v, building %v, %v", done, building.building, err)
	}
	put()
	if n := turns(); n < rows {
		t.Errorf("the rows were computed in %d turns", n)
	}
	for _, l := range k.live {
		n := 0
		for row, err := range db.Table(rowsOf(l.def.stored)).ReadRows(ctx) {
			must(err)
			n++
			if v, ok := row.Bytes(run.DefaultFamily, "n"); ok && len(v) == 8 && v[7] != rows {
				t.Errorf("%d rows are counted", v[7])
			}
		}
		if want := map[bool]int{true: 1, false: rows}[l.query.Grouped()]; n != want {
			t.Errorf("a view has %d rows, not %d", n, want)
		}
	}
}
