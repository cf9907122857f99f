package sql_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/server/sql"
)

// duckdbScript answers each query, a line, by a line: rows of texts as JSON, or null for an
// error.
const duckdbScript = `
import json, sys, duckdb
db = duckdb.connect()
def text(v):
    if v is None: return "NULL"
    if v is True: return "true"
    if v is False: return "false"
    if isinstance(v, float): return repr(v)
    return str(v)
for line in sys.stdin:
    try:
        rows = [[text(v) for v in row] for row in db.execute(json.loads(line)).fetchall()]
    except Exception:
        rows = None
    print(json.dumps(rows), flush=True)
`

// fruits are the rows of the table that both engines have. A number of -1 is a missing
// cell.
type fruit struct {
	key, name  string
	size, cost int64
	weight     float64
}

func fruits() (all []fruit) {
	names := []string{"apple", "Pear", "fig", "", "apple"}
	for i := range int64(40) {
		all = append(all, fruit{fmt.Sprintf("k%02d", i), names[i%5], i*7%11 - 1, i*i%13 - 1, float64(i%9)/2 - 0.5})
	}
	return all
}

func openFruits(t *testing.T) (db *planes, duckdb []string) {
	d, err := query.OpenInMemory(query.Options{Schema: &schema.Schema{Tables: []schema.Table{{Name: "t", Families: []schema.Family{
		{Name: "s", Type: cells.TypeString}, {Name: "n", Type: cells.TypeI64}, {Name: "w", Type: cells.TypeF64}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	duckdb = []string{"CREATE TABLE t (key VARCHAR, name VARCHAR, size BIGINT, cost BIGINT, weight DOUBLE)",
		"CREATE MACRO COUNT_TRUE(x) AS COALESCE(COUNT_IF(x), 0)"}
	for _, f := range fruits() {
		m := write.NewMutation()
		values := []string{"'" + f.key + "'", "NULL", "NULL", "NULL", fmt.Sprint(f.weight)}
		if f.name != "" {
			m.SetAt("s", "name", 1000, cells.String(f.name))
			values[1] = "'" + f.name + "'"
		}
		for i, n := range map[int]int64{2: f.size, 3: f.cost} {
			if n >= 0 {
				m.SetAt("n", map[int]string{2: "size", 3: "cost"}[i], 1000, cells.I64(n))
				values[i] = fmt.Sprint(n)
			}
		}
		m.SetAt("w", "weight", 1000, cells.F64(f.weight))
		if err := d.Table("t").Apply(context.Background(), f.key, m); err != nil {
			t.Fatal(err)
		}
		duckdb = append(duckdb, "INSERT INTO t VALUES ("+strings.Join(values, ", ")+")")
	}
	return &planes{t: t, db: d}, duckdb
}

// inDuckDB turns a query into DuckDB's SQL: columns and types have other names. These are
// the known differences: the queries always say where NULL is ordered, because DuckDB
// orders it last; COUNTIF of no rows is 0, and there NULL; CONCAT of a NULL is NULL, and
// is not used, because there it leaves NULL out.
var inDuckDB = strings.NewReplacer("CAST(_key AS STRING)", "key", "s['name']", "name", "n['size']", "size", "n['cost']", "cost", "w['weight']", "weight",
	"COUNTIF(", "COUNT_TRUE(", "LOGICAL_AND(", "BOOL_AND(", "LOGICAL_OR(", "BOOL_OR(", "AS STRING", "AS VARCHAR", "AS INT64", "AS BIGINT", "AS FLOAT64", "AS DOUBLE", "SAFE_CAST", "TRY_CAST")

// Random queries have the result that DuckDB has. DuckDB is Python's module; without it
// the test is skipped.
func TestQueriesAreThoseOfDuckDB(t *testing.T) {
	if err := exec.Command("python3", "-c", "import duckdb").Run(); err != nil {
		t.Skip("Python has no module duckdb; pip install duckdb")
	}
	db, setup := openFruits(t)
	ask := startDuckDB(t)
	for _, statement := range setup {
		if ask(statement) == nil {
			t.Fatalf("DuckDB refuses %s", statement)
		}
	}
	compared := 0
	sql.SortIn(t, 0, 1<<30, t.TempDir())
	rapid.Check(t, func(t *rapid.T) {
		sql.SetMemory(rapid.SampledFrom([]int{1, 500, 2_000, 1 << 20}).Draw(t, "memory")) // beyond it there are files
		q := duckQueries().Draw(t, "query")
		got, err := db.run(q)
		want := ask(inDuckDB.Replace(q))
		if err != nil || want == nil {
			if err == nil || want != nil && !strings.Contains(err.Error(), "overflow") && !strings.Contains(err.Error(), "division by zero") {
				t.Fatalf("%s\nhere %q, %v\nDuckDB %v", q, got, err, want)
			}
			return
		}
		compared++
		var lines []string
		for _, row := range want {
			lines = append(lines, strings.Join(row, " "))
		}
		if !sameLines(strings.Split(got, "\n"), lines, strings.Contains(q, "ORDER BY")) && (got != "" || len(lines) > 0) {
			t.Fatalf("%s\nhere   %q\nDuckDB %q", q, got, strings.Join(lines, "\n"))
		}
	})
	if compared == 0 {
		t.Error("no query was compared")
	}
}

func startDuckDB(t *testing.T) func(string) [][]string {
	cmd := exec.Command("python3", "-c", duckdbScript)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	to, from := json.NewEncoder(in), json.NewDecoder(out)
	return func(statement string) (rows [][]string) {
		if err := to.Encode(statement); err != nil {
			t.Fatal(err)
		}
		if err := from.Decode(&rows); err != nil {
			t.Fatal(err)
		}
		return rows
	}
}

// sameLines compares lines of values; numbers are equal within the rounding of a sum.
func sameLines(a, b []string, ordered bool) bool {
	if !ordered {
		slices.Sort(a)
		slices.Sort(b)
	}
	return slices.EqualFunc(a, b, func(x, y string) bool {
		return slices.EqualFunc(strings.Split(x, " "), strings.Split(y, " "), func(x, y string) bool {
			f, err := strconv.ParseFloat(x, 64)
			g, err2 := strconv.ParseFloat(y, 64)
			return x == y || err == nil && err2 == nil && math.Abs(f-g) <= 1e-9*math.Abs(f)
		})
	})
}

func duckQueries() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		where := ""
		if rapid.Bool().Draw(t, "filtered") {
			where = " WHERE " + duckConditions(2).Draw(t, "where")
		}
		number := duckNumbers(2)
		switch rapid.IntRange(0, 3).Draw(t, "form") {
		case 0:
			return "SELECT " + number.Draw(t, "a") + " AS a, " + duckTexts().Draw(t, "b") + " AS b, CAST(_key AS STRING) AS k FROM t" + where +
				" ORDER BY a" + rapid.SampledFrom([]string{" NULLS FIRST", " DESC NULLS LAST", " NULLS LAST", " DESC NULLS FIRST"}).Draw(t, "order") + ", k LIMIT 7 OFFSET 2"
		case 1:
			return "SELECT DISTINCT " + duckTexts().Draw(t, "a") + ", " + number.Draw(t, "b") + " FROM t" + where
		case 2:
			return "SELECT " + duckAggregates().Draw(t, "a") + ", " + duckAggregates().Draw(t, "b") + " FROM t" + where
		}
		having := ""
		if rapid.Bool().Draw(t, "having") {
			having = " HAVING COUNT(*) > 1"
		}
		if rapid.Bool().Draw(t, "two") {
			return "SELECT " + duckTexts().Draw(t, "key") + " AS g, " + number.Draw(t, "key2") + " AS h, " + duckAggregates().Draw(t, "a") + ", " + duckAggregates().Draw(t, "b") + " FROM t" + where + " GROUP BY 1, 2" + having
		}
		return "SELECT " + duckTexts().Draw(t, "key") + " AS g, " + duckAggregates().Draw(t, "a") + ", COUNT(*) FROM t" + where + " GROUP BY 1" + having
	})
}

func duckAggregates() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		name := rapid.SampledFrom([]string{"SUM", "MIN", "MAX", "AVG", "COUNT", "COUNTIF", "LOGICAL_AND", "LOGICAL_OR"}).Draw(t, "aggregate")
		if name == "COUNTIF" || strings.HasPrefix(name, "LOGICAL") {
			return name + "(" + duckConditions(1).Draw(t, "of") + ")"
		}
		distinct := rapid.SampledFrom([]string{"", "DISTINCT "}).Draw(t, "distinct")
		return name + "(" + distinct + duckNumbers(1).Draw(t, "of") + ")"
	})
}

func duckNumbers(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		kind := rapid.IntRange(0, 8).Draw(t, "kind")
		sub := func(name string) string {
			if depth == 0 {
				return rapid.SampledFrom([]string{"n['size']", "n['cost']", "w['weight']", "3", "-2", "0.5e0"}).Draw(t, name)
			}
			return duckNumbers(depth-1).Draw(t, name)
		}
		switch {
		case depth == 0 || kind < 2:
			return rapid.SampledFrom([]string{"n['size']", "n['cost']", "w['weight']", "3", "-2"}).Draw(t, "number")
		case kind < 5:
			return "(" + sub("a") + rapid.SampledFrom([]string{" + ", " - ", " * "}).Draw(t, "sign") + sub("b") + ")"
		case kind == 5:
			return "CASE WHEN " + duckConditions(0).Draw(t, "when") + " THEN " + sub("a") + " ELSE " + sub("b") + " END"
		case kind == 6:
			return "COALESCE(" + sub("a") + ", " + sub("b") + ")"
		case kind == 7:
			return "ABS(" + sub("a") + ")"
		}
		return rapid.SampledFrom([]string{"LENGTH(s['name'])", "MOD(n['size'], 4)", "SIGN(n['cost'] - 3)", "FLOOR(w['weight'])", "CEIL(w['weight'])", "STRPOS(s['name'], 'p')", "NULLIF(n['size'], 3)", "SAFE_CAST(s['name'] AS INT64)"}).Draw(t, "call")
	})
}

func duckTexts() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{"s['name']", "UPPER(s['name'])", "LOWER(s['name'])", "SUBSTR(s['name'], 2, 2)", "SUBSTR(s['name'], -3)", "LEFT(s['name'], 2)", "RIGHT(s['name'], 3)", "REPLACE(s['name'], 'p', 'qq')",
		"REVERSE(s['name'])", "s['name'] || '!'", "CAST(n['size'] AS STRING)", "COALESCE(s['name'], 'none')", "REPEAT(s['name'], 2)", "TRIM(s['name'])", "LPAD(s['name'], 4, '-')", "CAST(n['size'] > 3 AS STRING)"})
}

func duckConditions(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		kind := rapid.IntRange(0, 7).Draw(t, "kind")
		if depth > 0 && kind < 4 {
			if kind == 0 {
				return "NOT (" + duckConditions(depth-1).Draw(t, "negated") + ")"
			}
			word := rapid.SampledFrom([]string{" AND ", " OR "}).Draw(t, "word")
			return "(" + duckConditions(depth-1).Draw(t, "a") + word + duckConditions(depth-1).Draw(t, "b") + ")"
		}
		a := duckNumbers(depth).Draw(t, "number")
		switch kind {
		case 5:
			return rapid.SampledFrom([]string{"s['name'] LIKE '%p%'", "s['name'] LIKE '_i_'", "s['name'] = 'apple'", "s['name'] < 'b'", "STARTS_WITH(s['name'], 'a')", "s['name'] IN ('fig', 'Pear')", "s['name'] NOT IN ('fig', NULL)", "CAST(_key AS STRING) >= 'k20'"}).Draw(t, "text")
		case 6:
			return a + rapid.SampledFrom([]string{" IS NULL", " IS NOT NULL", " BETWEEN 1 AND 5", " NOT BETWEEN 2 AND 3", " IN (1, 2, NULL)", " IN (0, 3)"}).Draw(t, "test")
		}
		return a + rapid.SampledFrom([]string{" = ", " != ", " < ", " <= ", " > ", " >= "}).Draw(t, "op") + duckNumbers(depth).Draw(t, "other")
	})
}
