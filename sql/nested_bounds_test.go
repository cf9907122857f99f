package sql_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/sql"
)

// A query within each of 100 queries takes the value of the outermost one. One level more is
// refused.
func TestQueriesStandInQueries(t *testing.T) {
	m := openFleet(t)
	nested := func(levels int) string {
		text := "p.n['seats']"
		for i := range levels {
			text = fmt.Sprintf("(SELECT %s FROM fleet AS q%d WHERE q%d._key = p._key)", text, i, i)
		}
		return "SELECT " + text + " FROM fleet AS p"
	}
	if got, err := m.run(t.Context(), nested(40)); err != nil || !slices.Equal(got, []string{"183", "262", "NULL"}) {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := m.run(t.Context(), nested(200)); err == nil || !strings.Contains(err.Error(), "nested too deeply") {
		t.Errorf("200 levels have the error %v", err)
	}
	exists := "TRUE"
	for i := 30; i >= 0; i-- {
		around := "p"
		if i > 0 {
			around = fmt.Sprint("q", i-1)
		}
		exists = fmt.Sprintf("EXISTS (SELECT 1 FROM fleet AS q%d WHERE q%[1]d.n['seats'] >= %s.n['seats'] AND %s)", i, around, exists)
	}
	if got, err := m.run(t.Context(), "SELECT _key FROM fleet AS p WHERE "+exists); err != nil || len(got) != 2 {
		t.Errorf("%q, %v", got, err)
	}
}

// A query for each of many rows ends with the deadline, and when there is no room.
func TestQueriesForEachRowEnd(t *testing.T) {
	for _, text := range []string{
		"SELECT COUNT(*) FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.n['i'] < -a.n['i'])",
		"SELECT (SELECT COUNT(*) FROM b WHERE b.n['i'] > a.n['i'] AND b.n['i'] > (SELECT COUNT(*) FROM a AS c WHERE c.n['i'] < b.n['i'])) FROM a",
		"SELECT a.n['i'] IN (SELECT b.n['i'] + c.n['i'] + 1 + a.n['i'] FROM b, a AS c) FROM a",
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		began := time.Now()
		if _, err := joinNumbers(ctx, t, 1_000_000, text); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", text, err)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%s: ends after %v", text, took)
		}
	}
	text := "SELECT ARRAY(SELECT b.n['i'] FROM b WHERE b.n['i'] + a.n['i'] >= 0) FROM a"
	if _, err := joinNumbers(cf.WithHolding(t.Context(), new(little)), t, 30_000, text); !errors.Is(err, errFull) {
		t.Errorf("without room: %v", err)
	}
}

// Rows of a query that are held are read once, also for many rows around it. Where they do not
// fit, the query runs for each.
func TestHeldQueriesReadOnce(t *testing.T) {
	text := "SELECT _key FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.n['i'] = a.n['i']) AND a.n['i'] = (SELECT MAX(b.n['i']) FROM b WHERE b.n['i'] = a.n['i'])"
	if n, err := joinNumbers(t.Context(), t, 30_000, text); n != 30_000 || err != nil {
		t.Errorf("%d rows, %v", n, err)
	}
	few := "SELECT COUNT(*) FROM a WHERE a.n['i'] < 3 AND EXISTS (SELECT 1 FROM b WHERE b.n['i'] = a.n['i'])"
	if n, err := joinNumbers(cf.WithHolding(t.Context(), new(little)), t, 20_000, few); n != 1 || err != nil {
		t.Errorf("without room for the rows: %d rows, %v", n, err)
	}
}

// A condition keeps the rows for which it is TRUE as a column (NoREC); the rows for which it is
// TRUE, FALSE and NULL are all rows (TLP).
func TestConditionsWithQueriesPartitionRows(t *testing.T) {
	m, _ := openTiny(t)
	rapid.Check(t, func(t *rapid.T) {
		n := inner{nester{maker{t}}, new(int)}
		from, test := n.from("t0").here, n.test(1, []string{"t0"}).here
		run := func(text string) []string {
			got, err := m.run(t.Context(), text)
			if err != nil && strings.Contains(err.Error(), "more than one row") {
				t.Skip("a query as a value has two rows: another one is drawn")
			} else if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			slices.Sort(got)
			return got
		}
		all := run("SELECT t0.k, t0.v, t0.w FROM " + from)
		var parts []string
		for _, which := range []string{"", "NOT ", "NULL"} {
			where := which + "(" + test + ")"
			if which == "NULL" {
				where = "(" + test + ") IS NULL"
			}
			some := run("SELECT t0.k, t0.v, t0.w FROM " + from + " WHERE " + where)
			if counted := run("SELECT COUNTIF(x) FROM (SELECT " + where + " AS x FROM " + from + ")"); counted[0] != fmt.Sprint(len(some)) {
				t.Fatalf("%s is TRUE for %s rows, and WHERE has %d", where, counted[0], len(some))
			}
			parts = append(parts, some...)
		}
		if slices.Sort(parts); !slices.Equal(parts, all) {
			t.Fatalf("%s FROM %s: the parts are %q, all rows are %q", test, from, parts, all)
		}
	})
}

// EXPLAIN ANALYZE shows rows, bytes and times of each stage, and of queries in expressions.
func TestExplainAnalyze(t *testing.T) {
	m := openSeveral(t,
		schema.Table{Name: "a", Families: []schema.Family{{Name: "n", Type: cells.TypeI64}}},
		schema.Table{Name: "b", Families: []schema.Family{{Name: "n", Type: cells.TypeI64}}})
	fill(m, "a", 1_200, 70)
	fill(m, "b", 300, 65)
	times := regexp.MustCompile(`in [0-9.]+(ns|µs|ms|s|m)\b[0-9.a-zµ]*`)
	sizes := regexp.MustCompile(`[0-9]+ (bytes|KiB|MiB) (held|on disk)`)
	for _, q := range []struct {
		text, want string
		memory     int
	}{
		{"SELECT _key FROM a WHERE n['k'] = 7 LIMIT 3", "read all rows of a\n  3 rows in T\n  column n:k\n  where n:k == 7\nfilter rows\n  3 rows\nselect 1 columns, row by row\nlimit\nresult of 3 rows in T", 1 << 20},
		{"SELECT n['k'], COUNT(*) FROM a WHERE n['i'] >= 100 GROUP BY 1 ORDER BY 2", "read all rows of a\n  1100 rows in T\n  column n:i\n  column n:k\n  where n:i >= 100\nfilter rows\n  1100 rows\ngroup by 1 keys, 1 aggregate functions, on disk beyond 96 MiB; parts of the table on all processors, then merged\n  10 rows in T, S held\nsort by 1 expressions, on disk beyond 64 MiB\n  10 rows in T, S held\nresult of 10 rows in T", 1 << 20},
		{"SELECT COUNT(*) FROM a JOIN b ON a.n['k'] = b.n['k']", "inner join by 1 equality\n  5160 rows in T, S held, S on disk\n  the left side is held up to 10,000 rows and 4 MiB, else the right side, on disk beyond 96 MiB\n  left:\n    read all rows of a\n      1080 rows in T\n      column n:k\n  right:\n    read all rows of b\n      270 rows in T\n      column n:k\ngroup by 0 keys, 1 aggregate functions\n  1 row in T\nselect 1 columns\n  1 row in T\nresult of 1 row in T", 1},
		{"SELECT _key FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.n['k'] = a.n['k']) AND 2 > (SELECT COUNT(*) FROM b WHERE b.n['i'] > a.n['k'] + 290)", "read all rows of a\n  1200 rows in T\n  column n:k\n  which rows have other cells\nfilter rows\n  960 rows\nselect 1 columns\n  960 rows in T\nquery 1 in an expression, held by 1 value of the row around it, and held 65 answers:\n  read all rows of b\n    300 rows in T\n    column n:k\n    which rows have other cells\n  select 1 columns\n    300 rows in T\nquery 2 in an expression, run for each row around it, and ran for 9 rows:\n  read all rows of b\n    2 rows in T\n    column n:i\n  filter rows\n    2 rows\n  group by 0 keys, 1 aggregate functions; parts of the table on all processors, then merged\n    9 rows in T\n  select 1 columns\n    9 rows in T\nresult of 960 rows in T", 1 << 20},
	} {
		t.Run("", func(t *testing.T) {
			sql.SortIn(t, q.memory, 1<<30, t.TempDir())
			if q.memory == 1 {
				sql.HoldLeft(100)
			}
			got, err := m.run(t.Context(), "EXPLAIN ANALYZE "+q.text)
			text := sizes.ReplaceAllString(times.ReplaceAllString(strings.Join(got, "\n"), "in T"), "S $2")
			if err != nil || text != q.want {
				t.Errorf("%s: %v\n%s\nwant\n%s", q.text, err, text, q.want)
			}
		})
	}
}

// A condition on the result of a query in FROM chooses the rows that it reads, also in each query
// of a UNION.
func TestConditionsGoIntoQueriesOfFrom(t *testing.T) {
	m := openFleet(t)
	for _, q := range []struct {
		text  string
		reads string
		want  []string
	}{
		{"SELECT m FROM (SELECT _key AS k, meta['model'] AS m FROM fleet) AS q WHERE q.k = b'TF-FIR' AND m LIKE '7%'", `from "TF-FIR" to "TF-FIR\x00"`, []string{"767"}},
		{"SELECT q.meta['model'] FROM (SELECT * FROM fleet) AS q WHERE _key = 'TF-FIR'", `from "TF-FIR" to "TF-FIR\x00"`, []string{"767"}},
		{"SELECT k FROM (SELECT k FROM (SELECT DISTINCT _key AS k FROM fleet)) WHERE k > 'TF-FIR'", `from "TF-FIR\x00" to ""`, []string{"TF-ISF"}},
		{"SELECT k FROM (SELECT _key AS k FROM fleet UNION ALL SELECT _key FROM flights) WHERE k BETWEEN 'FI5' AND 'TF-FIB'", `from "FI5" to "TF-FIB\x00"`, []string{"FI500", "FI901", "FI902", "TF-FIA"}},
		{"FROM (SELECT _key AS k FROM fleet) |> WHERE k = 'TF-FIA' |> SELECT k", `from "TF-FIA" to "TF-FIA\x00"`, []string{"TF-FIA"}},
		{"SELECT k FROM (SELECT _key AS k FROM fleet ORDER BY k LIMIT 1) WHERE k = 'TF-FIR'", "read all rows of fleet", nil},
		{"SELECT k FROM (SELECT MAX(_key) AS k FROM fleet) WHERE k = 'TF-FIR'", "read all rows of fleet", nil},
		{"SELECT k FROM (SELECT _key AS k, 1 AS _key FROM fleet) WHERE _key = 1 AND k = 'TF-FIR'", `from "TF-FIR"`, []string{"TF-FIR"}},
	} {
		plan, err := m.run(t.Context(), "EXPLAIN "+q.text)
		if err != nil || !strings.Contains(strings.Join(plan, "\n"), q.reads) {
			t.Errorf("%s: %v\n%s", q.text, err, strings.Join(plan, "\n"))
		}
		got, err := m.run(t.Context(), q.text)
		if slices.Sort(got); err != nil || !slices.Equal(got, q.want) {
			t.Errorf("%s: %q, %v", q.text, got, err)
		}
	}
}
