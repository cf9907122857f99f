package sql_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/sql"
)

// Each call of a named window has its expressions: a query of 1 MiB would make billions.
func TestNamedWindowsAreBounded(t *testing.T) {
	_, err := sql.Parse("SELECT 1" + strings.Repeat(", RANK() OVER w", 5_000) + " FROM a WINDOW w AS (ORDER BY k" + strings.Repeat(",k", 20_000) + ")")
	if err == nil || !strings.Contains(err.Error(), "come to more than 100000 expressions [at 1:") {
		t.Errorf("%v", err)
	}
}

// Queries in HAVING, QUALIFY and ORDER BY see the names of the result, as these clauses do.
func TestQueriesSeeNamesOfTheResult(t *testing.T) {
	m, _ := openTiny(t)
	for _, q := range []struct{ sql, want string }{
		{`SELECT _key AS k, RANK() OVER (ORDER BY n['x'], _key) AS r FROM a QUALIFY EXISTS (SELECT 1 FROM b WHERE b.n['x'] = r)`, "k2 1 k0 2 k1 3"},
		{`SELECT _key AS k, RANK() OVER (ORDER BY n['x'], _key) AS r FROM a QUALIFY r > (SELECT COUNT(*) FROM b WHERE b.n['x'] > r)`, "k1 3"},
		{`SELECT _key AS k, COUNT(*) AS c FROM a GROUP BY k HAVING EXISTS (SELECT 1 FROM b WHERE b.n['x'] = c) ORDER BY k`, "k0 1 k1 1 k2 1"},
		{`SELECT _key AS k, COUNT(*) AS c FROM a GROUP BY k HAVING EXISTS (SELECT 1 FROM b WHERE b.n['x'] = (SELECT c)) ORDER BY k`, "k0 1 k1 1 k2 1"},
		{`SELECT _key AS k, n['x'] AS r FROM a ORDER BY (SELECT -r), k`, "k2 NULL k1 2 k0 0"},
		{`SELECT _key AS k, RANK() OVER (ORDER BY _key) AS r FROM a GROUP BY k HAVING EXISTS (SELECT 1 FROM b WHERE b.n['x'] = r)`, "error: the window function RANK cannot stand here; columns of SELECT, EXTEND and SET, QUALIFY and ORDER BY can have it [at 1:19]"},
		{`SELECT (SELECT y + 1 AS y FROM b ORDER BY y LIMIT 1) FROM (SELECT 1 AS y)`, "2"},
	} {
		lines, err := m.run(t.Context(), q.sql)
		if err != nil {
			lines = []string{"error: " + err.Error()}
		}
		if !slices.Equal(strings.Fields(strings.Join(lines, " ")), strings.Fields(q.want)) {
			t.Errorf("%s\ngot  %q\nwant %q", q.sql, lines, q.want)
		}
	}
}
