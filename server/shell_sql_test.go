package server_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/server"
	"github.com/smolwc/smolwc/sql"
	"github.com/smolwc/smolwc/views"
)

// near runs a query in the process of the database.
func (r *rig) near(text string) *sql.Result {
	r.t.Helper()
	q, err := sql.Parse(text)
	r.must(err)
	declared, _ := r.db.LookupTable(q.Table())
	none, err := sql.Params{}.Bind(nil)
	r.must(err)
	plan, err := q.Of(q.Table(), sql.Source{Table: declared}).Plan(none)
	r.must(err)
	return plan.Result(r.ctx(), func(name string) sql.Table { return r.db.Table(name) })
}

func (r *rig) valuesOf(res *sql.Result) string {
	r.t.Helper()
	var b strings.Builder
	for row, err := range res.Rows {
		r.must(err)
		fmt.Fprintf(&b, "%#v\n", row)
	}
	return b.String()
}

func TestTheDefaultInstanceIsThatOfViews(t *testing.T) {
	if views.DefaultInstance != server.DefaultInstance {
		t.Errorf("views have the instance %s, and the server has %s", views.DefaultInstance, server.DefaultInstance)
	}
}

// A query in the process of the database reads views, with the rows that were just
// written, and the schema bundles and structured row keys of tables.
func TestQueriesAtHandReadViews(t *testing.T) {
	db, err := query.OpenInMemory(query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := serve(t, db, server.Options{})
	r.must(db.CreateTable(r.ctx(), schema.Table{Name: "t", Families: []schema.Family{{Name: "f"}}}))
	put := func(key string) {
		m := write.NewMutation()
		m.Set("f", "x", cells.Bytes([]byte("1")))
		r.must(db.Table("t").Apply(r.ctx(), key, m))
	}
	put("a")
	of := views.Of(db)
	r.must(createView(r.ctx(), of, "m", "SELECT f['x'] AS x, COUNT(*) AS n FROM t GROUP BY x", true))
	r.must(createView(r.ctx(), of, "l", "SELECT n FROM m WHERE x = b'1'", false))
	put("b")
	for text, want := range map[string]string{
		"SELECT * FROM m":                 "[]interface {}{[]uint8{0x31}, 2}\n",
		"SELECT n + 1 FROM l":             "[]interface {}{3}\n",
		"SELECT COUNT(*) FROM t":          "[]interface {}{2}\n",
		"SELECT 1":                        "[]interface {}{1}\n",
		"EXPLAIN SELECT x FROM m LIMIT 1": "",
	} {
		res, err := of.Query(r.ctx(), text)
		r.must(err)
		if got := r.valuesOf(res); want != "" && got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
	for text, want := range map[string]string{
		"SELECT 1 FROM nosuch":     "1:15: Table not found: nosuch",
		"SELECT nosuch FROM m":     "1:8: Unrecognized name: nosuch",
		"SELECT 1 FROM l, UNNEST(": "1:",
	} {
		_, err := of.Query(r.ctx(), text)
		fault, ok := errors.AsType[*sql.Error](err)
		if !ok || !strings.HasPrefix(fmt.Sprintf("%d:%d: %s", fault.Line, fault.Column, fault.Message), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	r.must(db.DropTable(r.ctx(), "t"))
	if _, err := of.Query(r.ctx(), "SELECT * FROM m"); query.KindOf(err) != query.KindFailedPrecondition {
		t.Errorf("a view without its table: %v", err)
	}
}

// A query of the client has the columns, the values and the faults that the same query
// has in the process of the database.
func TestClientQueries(t *testing.T) {
	r := typed(t)
	c := r.dialled()
	m := write.NewMutation()
	m.SetAt("b", "\x00q", 1000, cells.Bytes([]byte("v\xff")))
	m.SetAt("f", "x", 1000, cells.F64(1.5))
	m.SetAt("n", "x", 1000, cells.I64(-7))
	m.SetAt("s", "x", 1000, cells.String("text"))
	m.SetAt("t", "x", 1000, cells.Bool(true))
	r.must(c.Table("t").Apply(r.ctx(), "a", m))
	other := write.NewMutation()
	other.Set("n", "x", cells.I64(5))
	r.must(c.Table("t").Apply(r.ctx(), "b", other))
	for _, text := range []string{
		"select * from t",
		"select _key, b, f['x'], n['x'], s['x'], t['x'], null from t limit 1",
		"select * from t(with_history => true) where _key = 'a'",
		"select n['x'] as x, count(*) from t group by x order by x",
		"select [1, null], struct(1 as a, 'b'), date '2024-02-29', timestamp '2024-01-01 00:00:00+00', cast(1.5 as float32)",
		"explain select s from t where s['x'] = 'text'",
		"from t |> where n['x'] > 100",
	} {
		far, err := c.Query(r.ctx(), text)
		r.must(err)
		near := r.near(text)
		for i, column := range far.Columns {
			if column.Name != near.Columns[i].Name || column.Type.String() != near.Columns[i].Type.String() {
				t.Errorf("%s: column %d is %s %s, and at hand %s %s", text, i, column.Name, column.Type, near.Columns[i].Name, near.Columns[i].Type)
			}
		}
		if got, want := r.valuesOf(far), r.valuesOf(near); got != want {
			t.Errorf("%s:\n%s\nand at hand\n%s", text, got, want)
		}
	}
	_, err := c.Query(r.ctx(), "select 1,\n nosuch from t")
	fault, ok := errors.AsType[*sql.Error](err)
	if !ok || fault.Line != 2 || fault.Column != 2 || query.KindOf(err) != query.KindInvalidArgument {
		t.Errorf("the error is %v", err)
	}
	ctx, cancel := context.WithCancel(r.ctx())
	res, err := c.Query(ctx, "select * from t")
	r.must(err)
	cancel()
	for _, err = range res.Rows {
	}
	if query.KindOf(err) != query.KindCanceled {
		t.Errorf("a cancelled query: %v", err)
	}
}

// createView defines a view, and reads the table into a materialized one.
func createView(ctx context.Context, of *views.Views, name, text string, materialized bool) error {
	v := views.View{Name: name, SQL: text, Materialized: materialized}
	if err := of.Create(ctx, v); err != nil || !materialized {
		return err
	}
	return of.CatchUp(ctx, v)
}
