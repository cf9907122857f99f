package sql_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	reads "github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/sql"
)

// A spoiling table overwrites the memory of each row that it lends, as soon as it lends the next.
type spoiling struct {
	sql.Table
	lent *int
}

func (s spoiling) ReadRows(ctx context.Context, opts ...reads.Option) iter.Seq2[*query.Row, error] {
	return s.spoil(s.Table.ReadRows(ctx, opts...), opts)
}

func (s spoiling) ReadPartsParallel(ctx context.Context, _ int, fn func(context.Context, int, iter.Seq2[*query.Row, error]) error, opts ...reads.Option) error {
	return fn(ctx, 0, s.ReadRows(ctx, opts...))
}

func (s spoiling) spoil(rows iter.Seq2[*query.Row, error], opts []reads.Option) iter.Seq2[*query.Row, error] {
	if r, err := reads.New(opts...); err != nil || !r.Lend {
		return rows
	}
	return func(yield func(*query.Row, error) bool) {
		for row, err := range rows {
			key := []byte(row.Key())
			own := query.NewRow(unsafe.String(unsafe.SliceData(key), len(key)), slices.Collect(row.Cells()))
			more := yield(own, err)
			*s.lent++
			for c := range own.Cells() {
				if b, ok := c.Value.AsBytes(); ok {
					overwrite(b)
				}
				if text, ok := c.Value.AsString(); ok && text != "" {
					overwrite(unsafe.Slice(unsafe.StringData(text), len(text)))
				}
			}
			overwrite(key)
			if !more {
				return
			}
		}
	}
}

func overwrite(b []byte) {
	for i := range b {
		b[i] = '!'
	}
}

// Whatever stages keep of rows that are only lent to them, they copy.
func TestQueriesCopyWhatTheyKeepOfLentRows(t *testing.T) {
	families := []schema.Family{{Name: "b"}, {Name: "n", Type: cells.TypeI64}, {Name: "s", Type: cells.TypeString}}
	m := openSeveral(t, schema.Table{Name: "t", Families: families}, schema.Table{Name: "u", Families: families})
	for i := range 30 {
		row := []string{fmt.Sprint("n:i=", i), fmt.Sprint("s:x=text ", i*7%10), fmt.Sprint("b:x=bytes ", i*3%11)}
		m.put("t", fmt.Sprintf("t%02d", i), append(row, fmt.Sprintf("b:u=u%02d", i%12))...)
		if i < 10 {
			m.put("u", fmt.Sprintf("u%02d", i), row...)
		}
	}
	const columns = "_key AS k, b['x'] AS b, s['x'] AS s, n['i'] AS i, b['u'] AS u"
	all := func(table string) string { return "(SELECT " + columns + " FROM " + table + ")" }
	var of []string
	for _, kind := range []string{"JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"} {
		join := all("t") + " AS p " + kind + " " + all("u") + " AS q ON p.u = q.k AND p.i != 2 * q.i"
		of = append(of,
			"SELECT p.k, q.k, p.s, q.b FROM "+join,
			"SELECT q.s AS g, MIN(p.b), MAX(q.k), ARRAY_AGG(p.s), STRING_AGG(q.s) FROM "+join+" GROUP BY g",
			"SELECT p.k, q.b, p.s FROM "+join+" ORDER BY p.s, q.b, p.k")
	}
	of = append(of,
		"SELECT * FROM "+all("t")+" ORDER BY s DESC, b",
		"SELECT b, s, k FROM "+all("t")+" ORDER BY s, b LIMIT 5",
		"SELECT s AS g, MIN(b), MAX(k), ANY_VALUE(b), ARRAY_AGG(b ORDER BY k DESC LIMIT 2), ARRAY_AGG(b LIMIT 2), COUNT(DISTINCT b), ARRAY_AGG(DISTINCT b) FROM "+all("t")+" GROUP BY g",
		"SELECT MIN(s['x']), MAX(b['x']), MIN(_key), ANY_VALUE(b) FROM t",
		"SELECT APPROX_TOP_COUNT(s, 4), APPROX_QUANTILES(b, 3) FROM "+all("t"),
		"SELECT k, LAG(b) OVER (PARTITION BY s ORDER BY k), FIRST_VALUE(s) OVER (ORDER BY b, k), MAX(b) OVER (ORDER BY k ROWS 3 PRECEDING), STRING_AGG(s) OVER (PARTITION BY b ORDER BY k) FROM "+all("t")+" ORDER BY k",
		"SELECT COUNT(*), MAX(d) FROM (SELECT DISTINCT b || b AS d, s FROM "+all("t")+")",
		"SELECT DISTINCT s, b FROM "+all("t")+" ORDER BY s, b",
		"SELECT MAX(k), MIN(b) FROM (SELECT * FROM "+all("t")+" UNION ALL SELECT * FROM "+all("u")+")",
		"SELECT * FROM "+all("u")+" UNION DISTINCT SELECT * FROM "+all("t"),
		"SELECT k, (SELECT MAX(q.b) FROM "+all("t")+" AS q WHERE q.u = p.k), ARRAY(SELECT q.s FROM "+all("t")+" AS q WHERE q.u = p.k), k IN (SELECT q.u FROM "+all("t")+" AS q) FROM "+all("u")+" AS p",
		"SELECT k, (SELECT q.s FROM "+all("u")+" AS q WHERE q.i <= p.i ORDER BY q.i DESC LIMIT 1) FROM "+all("t")+" AS p ORDER BY k",
		"FROM t |> EXTEND b['x'] AS b, s['x'] AS s |> AGGREGATE COUNT(*) AS c, ARRAY_AGG(b) GROUP BY s |> ORDER BY s",
		"FROM t |> EXTEND b['x'] AS b |> ORDER BY b, _key |> LIMIT 7 |> SELECT _key, b",
		"SELECT s, g, COUNT(*), MAX(k) FROM (SELECT s['x'] AS s, b['x'] AS g, _key AS k FROM t) GROUP BY ROLLUP(s, g)",
	)
	lent := 0
	for _, memory := range []int{1 << 20, 1} {
		sql.SortIn(t, memory, 1<<30, t.TempDir())
		for _, text := range of {
			p, err := m.plan(text)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			result := func(tables sql.Tables) string {
				var rows [][]any
				for values, err := range p.Result(t.Context(), tables).Rows {
					if err != nil {
						t.Fatalf("%s: %v", text, err)
					}
					rows = append(rows, values)
				}
				var b strings.Builder
				for _, row := range rows { // which stay, though other rows came since
					fmt.Fprintf(&b, "%q\n", row)
				}
				return b.String()
			}
			want := result(m.tables)
			if got := result(func(name string) sql.Table { return spoiling{m.tables(name), &lent} }); got != want {
				t.Errorf("%s: with %d bytes of memory it is\n%s\nand otherwise\n%s", text, memory, got, want)
			}
		}
	}
	if lent == 0 {
		t.Error("no row was lent")
	}
}

// A row that is only lent to groups takes no memory of theirs.
func TestGroupsTakeNoMemoryForARow(t *testing.T) {
	m := openSeveral(t, schema.Table{Name: "t", Families: []schema.Family{{Name: "b"}, {Name: "n", Type: cells.TypeI64}, {Name: "s", Type: cells.TypeString}}})
	const rows = 3000
	for i := range rows {
		m.put("t", fmt.Sprintf("t%04d", i), fmt.Sprint("n:i=", 1000+i), fmt.Sprint("b:x=kind ", i%5), fmt.Sprint("s:x=kind ", i%7))
	}
	for _, text := range []string{
		"SELECT SUM(n['i']), AVG(n['i']), COUNT(b['x']) FROM t",
		"SELECT b['x'], COUNT(*), AVG(n['i']), SUM(n['i']), COUNT(s['x']) FROM t GROUP BY 1",
	} {
		made := testing.AllocsPerRun(3, func() {
			if _, err := m.run(t.Context(), text); err != nil {
				t.Fatal(err)
			}
		})
		if made > rows/2 {
			t.Errorf("%s makes %v allocations for %d rows", text, made, rows)
		}
	}
}
