package sql_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/sql"
)

// sales are the rows of the tests of grouping sets.
const sales = `(FROM UNNEST([STRUCT('a' AS k, 1 AS n, TRUE AS b), ('a', 2, FALSE), ('b', 3, NULL), (NULL, 4, TRUE)]))`

func TestGroupingSets(t *testing.T) {
	db := openPlanes(t)
	for _, q := range []struct{ sql, want string }{
		{`SELECT k, SUM(n) FROM ` + sales + ` GROUP BY ROLLUP(k) ORDER BY k, 2`, "NULL 4\nNULL 10\na 3\nb 3"},
		{`SELECT k, GROUPING(k) AS g, SUM(n) FROM ` + sales + ` GROUP BY ROLLUP(k) ORDER BY g, k`, "NULL 0 4\na 0 3\nb 0 3\nNULL 1 10"},
		{`SELECT k, b, COUNT(*) FROM ` + sales + ` GROUP BY CUBE(k, b) HAVING GROUPING(k) = 1 ORDER BY GROUPING(b), b`, "NULL NULL 1\nNULL false 1\nNULL true 2\nNULL NULL 4"},
		{`SELECT k, b, SUM(n) FROM ` + sales + ` GROUP BY GROUPING SETS ((k, b), k, ()) HAVING k = 'a' OR GROUPING(k) = 1 ORDER BY k, b, 3`, "NULL NULL 10\na NULL 3\na false 2\na true 1"},
		{`SELECT k, SUM(n) FROM ` + sales + ` GROUP BY GROUPING SETS (k, k, (k, k)) HAVING k = 'b'`, "b 3\nb 3\nb 3"}, // the same set is there as often as it is written
		{`SELECT UPPER(k) AS u, n > 2 AS m, MAX(k), COUNT(*) FROM ` + sales + ` GROUP BY GROUPING SETS (u, 2) ORDER BY u, m, 4`, "NULL NULL NULL 1\nNULL false a 2\nNULL true b 2\nA NULL a 2\nB NULL b 1"},
		{`SELECT k, b, COUNT(*) FROM ` + sales + ` GROUP BY k, ROLLUP(b) HAVING k = 'a' ORDER BY b`, "a NULL 2\na false 1\na true 1"}, // each with each
		{`SELECT k, b, n FROM ` + sales + ` GROUP BY ROLLUP((k, b), n) HAVING k = 'a' ORDER BY n, b`, "a false NULL\na true NULL\na true 1\na false 2"},
		{`SELECT COUNT(*), 1 FROM ` + sales + ` GROUP BY ()`, "4 1"},
		{`SELECT COUNT(*) FROM ` + sales + ` WHERE n > 9 GROUP BY GROUPING SETS (())`, "0"},
		{`SELECT COUNT(*) FROM ` + sales + ` GROUP BY GROUPING SETS ((), ())`, "4\n4"},
		{`SELECT k, COUNT(*) FROM ` + sales + ` WHERE n > 9 GROUP BY ROLLUP(k)`, "NULL 0"}, // no rows have a total
		{`SELECT k, b, COUNT(*), SUM(n), GROUPING(k) FROM ` + sales + ` WHERE n > 9 GROUP BY CUBE(k, b)`, "NULL NULL 0 NULL 1"},
		{`SELECT k, COUNT(*) FROM ` + sales + ` WHERE n > 9 GROUP BY GROUPING SETS (k, (), ())`, "NULL 0\nNULL 0"},
		{`SELECT k, COUNT(*) FROM ` + sales + ` WHERE n > 9 GROUP BY GROUPING SETS (k, (k, n))`, ""},
		{`SELECT g['even'], COUNT(*), MAX(n['i']) FROM t WHERE _key = 'none' GROUP BY ROLLUP(1)`, "NULL 0 NULL"},
		{`SELECT g['even'], COUNT(*) FROM t WHERE _key > 'b' AND _key < 'a' GROUP BY ROLLUP(1)`, "NULL 0"},
		{`SELECT k, COUNT(DISTINCT b), GROUPING(k) FROM ` + sales + ` GROUP BY k ORDER BY k`, "NULL 1 0\na 2 0\nb 0 0"},
		{sales + ` |> AGGREGATE SUM(n) AS s GROUP BY ROLLUP(k AS x) |> ORDER BY x, s`, "NULL 4\nNULL 10\na 3\nb 3"},
		{`SELECT g['even'] AS e, SUM(n['i']), COUNT(*) FROM t GROUP BY ROLLUP(e) ORDER BY GROUPING(e), e`, "NULL NULL 3\nyes 0 3\nNULL 0 6"},
		{`SELECT ` + "`rollup`" + ` FROM (SELECT 1 AS ` + "`rollup`" + `) GROUP BY ` + "`rollup`", "1"},
		{`EXPLAIN SELECT g['even'], COUNT(*) FROM t GROUP BY ROLLUP(1)`, "read all rows of t\n  column g:even\n  which rows have other cells\nfor each of 2 grouping sets\ngroup by 2 keys, 1 aggregate functions, on disk beyond 96 MiB; parts of the table on all processors, then merged\nselect 2 columns"},
	} {
		got, err := db.run(q.sql)
		if err != nil || got != q.want {
			t.Errorf("%s\ngot  %q, %v\nwant %q", q.sql, got, err, q.want)
		}
	}
}

func TestGroupByAll(t *testing.T) {
	db := openPlanes(t)
	for _, q := range []struct{ sql, want string }{
		{`SELECT k, SUM(n) AS s FROM ` + sales + ` GROUP BY ALL ORDER BY k`, "NULL 4\na 3\nb 3"},
		{`SELECT k, n + 1 AS n FROM ` + sales + ` WHERE k = 'a' GROUP BY ALL ORDER BY n`, "a 2\na 3"},
		{`SELECT COUNT(*) + SUM(n) FROM ` + sales + ` GROUP BY ALL`, "14"},
		{`SELECT 'x', CURRENT_DATE() > '2020-01-01' FROM ` + sales + ` GROUP BY ALL`, "x true"}, // constants are no keys
		{`SELECT 'x' FROM ` + sales + ` WHERE FALSE GROUP BY ALL HAVING TRUE`, "x"},
		{`SELECT k FROM ` + sales + ` GROUP BY ALL HAVING SUM(n) = 3 ORDER BY 1`, "a\nb"},
		{`SELECT * FROM (SELECT 1 AS a, 2 AS b UNION ALL SELECT 1, 2) GROUP BY ALL`, "1 2"},
		{`SELECT * EXCEPT (a) REPLACE (b * 2 AS b) FROM (SELECT 1 AS a, 2 AS b UNION ALL SELECT 3, 2) GROUP BY ALL`, "4"},
		{`SELECT *, COUNT(*) FROM (SELECT 1 AS a) AS x JOIN (SELECT 1 AS a, 2 AS b) AS y ON x.a = y.a GROUP BY ALL`, "1 1 2 1"},
		{`SELECT *, COUNT(*) FROM (SELECT 1 AS a) AS x JOIN (SELECT 1 AS a, 2 AS b) AS y USING (a) GROUP BY ALL`, "1 2 1"},
		{`SELECT DISTINCT k FROM ` + sales + ` GROUP BY ALL ORDER BY k`, "NULL\na\nb"},
		{`SELECT RAND() < 2, COUNT(*) FROM ` + sales + ` GROUP BY ALL`, "true 4"},
		{`SELECT ` + "`all`" + `, COUNT(*) FROM (SELECT 1 AS ` + "`all`" + `) GROUP BY ` + "`all`", "1 1"},
	} {
		got, err := db.run(q.sql)
		if err != nil || got != q.want {
			t.Errorf("%s\ngot  %q, %v\nwant %q", q.sql, got, err, q.want)
		}
	}
}

func TestErrorsOfGroupingSets(t *testing.T) {
	db := openPlanes(t)
	for _, q := range []struct{ sql, want string }{
		{`SELECT COUNT(*) FROM ` + sales + ` GROUP BY CUBE(` + strings.Repeat("1, ", 12) + `1)`, "CUBE of 13 elements makes more than 4096 grouping sets"},
		{`SELECT COUNT(*) FROM ` + sales + ` GROUP BY ` + strings.Repeat("CUBE(k, n, b), ", 5) + `k`, "comes to more than 4096 grouping sets"},
		{`SELECT 1 FROM ` + sales + ` GROUP BY ROLLUP(` + strings.Repeat("k, ", 62) + `k)`, "has 63 keys; it may have up to 62"},
		{`SELECT 1 FROM ` + sales + ` GROUP BY ` + strings.Repeat("GROUPING SETS (", 200), "nested too deeply"},
		{`SELECT GROUPING(n) FROM ` + sales + ` GROUP BY k`, "the argument of GROUPING is not a key of GROUP BY [at 1:17]"},
		{`SELECT GROUPING(k) FROM ` + sales, "GROUPING takes a key of GROUP BY [at 1:8]"},
		{`SELECT n, COUNT(*) + k FROM ` + sales + ` GROUP BY ALL`, "the column k is neither grouped nor aggregated"},
		{`SELECT * FROM t GROUP BY ALL`, "cannot be grouped"},
		{`SELECT n + RAND() FROM ` + sales + ` GROUP BY ALL`, "GROUP BY ALL cannot group by RAND"},
		{`FROM t |> AGGREGATE COUNT(*) GROUP BY ALL`, "expected an expression"},
		{`SELECT n FROM ` + sales + ` GROUP BY ROLLUP(k`, `expected ) but got the end of the query`},
	} {
		_, err := db.run(q.sql)
		if e, ok := errors.AsType[*sql.Error](err); !ok || !strings.Contains(e.Error(), q.want) {
			t.Errorf("%.200s: %v; want %s", q.sql, err, q.want)
		}
	}
}

// Grouping sets have the groups that DuckDB makes of them.
func TestGroupingSetsAreThoseOfDuckDB(t *testing.T) {
	db, setup := openFruits(t)
	ask := startDuckDB(t)
	for _, statement := range setup {
		if a := ask(statement); a.Error != "" {
			t.Fatal(a.Error)
		}
	}
	columns := map[string]string{"s['name']": "name", "s['note']": "note", "n['size'] > 3": "size > 3", "n['cost']": "cost"}
	rapid.Check(t, func(t *rapid.T) {
		var here, there []string
		for _, k := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"s['name']", "s['note']", "n['size'] > 3", "n['cost']"}), 1, 3, rapid.ID).Draw(t, "keys") {
			here, there = append(here, k), append(there, columns[k])
		}
		form := rapid.SampledFrom([]string{"ROLLUP(%s)", "CUBE(%s)", "GROUPING SETS ((%s), ())", "GROUPING SETS ((), ROLLUP(%s))"}).Draw(t, "form")
		text := func(keys []string, size, table string) string {
			all := strings.Join(keys, ", ")
			return fmt.Sprintf("SELECT %s, GROUPING(%s), COUNT(*), SUM(%s) FROM %s GROUP BY "+form, all, keys[len(keys)-1], size, table, all)
		}
		got, err := db.run(text(here, "n['size']", "t"))
		want := ask(text(there, "size", "t"))
		if err != nil || want.Error != "" {
			t.Fatal(err, want.Error)
		}
		var lines []string
		for _, row := range want.Rows {
			lines = append(lines, strings.Join(row, " "))
		}
		if !sameLines(strings.Split(got, "\n"), lines, false) {
			t.Fatalf("%s\nhere   %q\nDuckDB %q", text(here, "n['size']", "t"), got, strings.Join(lines, "\n"))
		}
	})
}
