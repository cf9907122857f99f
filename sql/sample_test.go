package sql_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/sql"
)

// A sample takes each row by itself; with REPEATABLE the row key decides, so that the same
// rows are taken again, and more of them with a larger percentage.
func TestTableSample(t *testing.T) {
	m := openSeveral(t, schema.Table{Name: "t", Families: []schema.Family{{Name: "f"}}})
	const rows = 2000
	for i := range rows {
		m.put("t", fmt.Sprintf("%04d", i), "f:q=x")
	}
	count := func(text string) (n int) {
		got, err := m.run(t.Context(), "SELECT COUNT(*) FROM "+text)
		if _, scan := fmt.Sscan(strings.Join(got, "\n"), &n); err != nil || scan != nil {
			t.Fatalf("%s: %q, %v", text, got, err)
		}
		return n
	}
	for _, text := range []string{
		"t TABLESAMPLE BERNOULLI (10 PERCENT)",
		"t AS a TABLESAMPLE SYSTEM (10.0 PERCENT)",
		"t TABLESAMPLE BERNOULLI (10 PERCENT) REPEATABLE (7)",
		"(SELECT _key FROM t ORDER BY f['q'] LIMIT 2000) AS s TABLESAMPLE BERNOULLI (10 PERCENT)",
		"UNNEST(GENERATE_ARRAY(1, 2)) AS x JOIN t TABLESAMPLE BERNOULLI (5 PERCENT) ON TRUE",
	} {
		if n := count(text); n < 100 || n > 320 { // 200 is expected, with a deviation of 14, or 20
			t.Errorf("%s: %d rows", text, n)
		}
	}
	if none, all := count("t TABLESAMPLE BERNOULLI (0 PERCENT)"), count("t TABLESAMPLE SYSTEM (100 PERCENT)"); none != 0 || all != rows {
		t.Errorf("0 percent are %d rows, and 100 percent %d", none, all)
	}
	keys := func(text string) string {
		got, err := m.run(t.Context(), text)
		if err != nil || len(got) == 0 {
			t.Fatalf("%s: %q, %v", text, got, err)
		}
		return strings.Join(got, "\n")
	}
	const small, large = "t TABLESAMPLE BERNOULLI (3 PERCENT) REPEATABLE (1)", "t TABLESAMPLE BERNOULLI (9 PERCENT) REPEATABLE (1)"
	first := keys("SELECT _key FROM " + small)
	if again := keys("SELECT _key FROM " + small + " WHERE TRUE"); again != first {
		t.Errorf("the sample was %q, and then %q", first, again)
	}
	if other := keys("SELECT _key FROM " + strings.Replace(small, "(1)", "(2)", 1)); other == first {
		t.Error("two numbers of REPEATABLE give one sample")
	}
	if n := count("(SELECT _key FROM " + small + " EXCEPT DISTINCT SELECT _key FROM " + large + ")"); n != 0 {
		t.Errorf("%d rows of a sample are not in a larger one", n)
	}
	plan := keys("EXPLAIN SELECT _key FROM t TABLESAMPLE BERNOULLI (3 PERCENT) WHERE _key < '1'")
	if !strings.Contains(plan, `to "1"`) {
		t.Errorf("a condition after a sample does not choose rows:\n%s", plan)
	}
	for text, want := range map[string]string{
		"t TABLESAMPLE BERNOULLI (101 PERCENT)":                                      "the percentage of TABLESAMPLE must be from 0 to 100 [at 1:47]",
		"t TABLESAMPLE BERNOULLI (NULL PERCENT)":                                     "must be from 0 to 100",
		"t TABLESAMPLE BERNOULLI (-1 PERCENT)":                                       "must be from 0 to 100",
		"t TABLESAMPLE BERNOULLI (_key PERCENT)":                                     "must be a number that is the same for every row",
		"t TABLESAMPLE RESERVOIR (5 ROWS)":                                           "expected BERNOULLI or SYSTEM",
		"t TABLESAMPLE BERNOULLI (1 PERCENT) REPEATABLE (-1)":                        "the number of REPEATABLE must not be negative or NULL",
		"(SELECT _key FROM t LIMIT 5) TABLESAMPLE SYSTEM (1 PERCENT) REPEATABLE (1)": "REPEATABLE is for tables",
	} {
		_, err := m.run(t.Context(), "SELECT COUNT(*) FROM "+text)
		if e, ok := errors.AsType[*sql.Error](err); !ok || !strings.Contains(e.Error(), want) {
			t.Errorf("%s: %v; want %s", text, err, want)
		}
	}
}

func TestTripleQuotedLiterals(t *testing.T) {
	db := openPlanes(t)
	for _, q := range []struct{ sql, want string }{
		{`SELECT '''a'b''c''', """a"b""` + "\n" + `c""", '''''', """''"""`, "a'b''c a\"b\"\"\nc  ''"},
		{`SELECT r'''\n'\'''', rb"""\x"\"""", b'''a'\x41''', R"""a\"""b"""`, `\n'\' \x"\" a'A a\"""b`},
		{`SELECT '''a\tb\'''c''', ''`, "a\tb'''c "},
	} {
		got, err := db.run(q.sql)
		if err != nil || got != q.want {
			t.Errorf("%s\ngot  %q, %v\nwant %q", q.sql, got, err, q.want)
		}
	}
	if got, err := db.run("SELECT LENGTH('''a\r\n\rb''')"); got != "4" || err != nil {
		t.Errorf("ends of lines: %q, %v", got, err)
	}
	if _, err := db.run("SELECT ''''a''''"); err == nil || !strings.Contains(err.Error(), "the literal does not end [at 1:16]") {
		t.Errorf("three quotes and one: %v", err)
	}
	if _, err := db.run("SELECT '''a''"); err == nil || !strings.Contains(err.Error(), "the literal does not end") {
		t.Errorf("a literal without an end: %v", err)
	}
}

// Bigtable does not have these parts.
func TestQueriesBeyondBigtable(t *testing.T) {
	for text, want := range map[string]string{
		"SELECT 1 FROM t GROUP BY ALL":                                         "GROUP BY ALL",
		"SELECT 1 FROM t GROUP BY ROLLUP(_key)":                                "ROLLUP",
		"SELECT 1 FROM t GROUP BY CUBE(_key)":                                  "CUBE",
		"SELECT 1 FROM t GROUP BY GROUPING SETS (_key)":                        "GROUPING SETS",
		"SELECT 1 FROM t TABLESAMPLE SYSTEM (1 PERCENT)":                       "TABLESAMPLE",
		"SELECT 1 FROM t WHERE _key IN (b'a', CAST(GENERATE_UUID() AS BYTES))": "GENERATE_UUID",
		"SELECT COUNT(*) FROM t GROUP BY SAFE.EDIT_DISTANCE('a', 'b')":         "SAFE.EDIT_DISTANCE",
		"SELECT CAST(b'x' AS STRING), CURRENT_DATETIME":                        "CURRENT_DATETIME",
		"SELECT STRING(DATETIME '2024-01-01')":                                 "DATETIME",
		"SELECT ARRAY<DATETIME>[]":                                             "DATETIME",
		"SELECT JSON_VALUE('{}', '$'), JSON_EXTRACT('{}', '$'), JSON '1'":      "JSON",
		"SELECT CAST(NULL AS STRUCT<a ARRAY<JSON>>)":                           "JSON",
		"SELECT SAFE.PARSE_JSON('1').a":                                        "SAFE.PARSE_JSON",
		"SELECT INT64(TO_JSON(1))":                                             "INT64",
		"SELECT STRING(1), NUMERIC '1'":                                        "NUMERIC",
		"SELECT CAST('1-2' AS INTERVAL)":                                       "INTERVAL",
		"SELECT INTERVAL '1-2' YEAR TO MONTH":                                  "INTERVAL",
		"SELECT JUSTIFY_DAYS(INTERVAL 1 DAY)":                                  "JUSTIFY_DAYS",
	} {
		q, err := sql.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := q.ForBigtable(); err == nil || !strings.Contains(err.Error(), "Bigtable does not have "+want+",") {
			t.Errorf("%s: %v; want %s", text, err, want)
		}
	}
}
