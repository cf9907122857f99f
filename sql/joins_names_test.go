package sql_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/sql"
	"pgregory.net/rapid"
)

// Names in joins are the same in any case. Families that differ only in case are not taken for
// one another: a query gives them names.
func TestFamiliesThatDifferInCaseAreNotMixedUp(t *testing.T) {
	m := openSeveral(t, schema.Table{Name: "t", Families: []schema.Family{{Name: "F", Type: cells.TypeString}, {Name: "f", Type: cells.TypeString}, {Name: "g", Type: cells.TypeString}}})
	m.put("t", "k", "F:x=upper", "f:x=lower", "g:x=other")
	for text, want := range map[string]string{
		"SELECT a.F['x'], a.f['x'] FROM t AS a JOIN t AS b USING (_key)":                                    "error",
		"SELECT * FROM t AS a JOIN t AS b USING (_key)":                                                     "error",
		"SELECT a.g['x'] FROM t AS a JOIN t AS b USING (_key)":                                              "other",
		"SELECT a.u['x'], a.l['x'] FROM (SELECT _key, F AS u, f AS l FROM t) AS a JOIN t AS b USING (_key)": "upper lower",
	} {
		lines, err := m.run(t.Context(), text)
		if want == "error" {
			if err == nil || !strings.Contains(err.Error(), "in table t, names of families differ only in case") {
				t.Errorf("%s: %q, %v", text, lines, err)
			}
		} else if err != nil || !slices.Equal(lines, []string{want}) {
			t.Errorf("%s: %q, %v; want %s", text, lines, err, want)
		}
	}
}

// Chains of USING have the rows that DuckDB has, also with conditions on the common
// column.
func TestUsingIsThatOfDuckDB(t *testing.T) {
	m, setup := openTiny(t)
	ask := startDuckDB(t)
	for _, statement := range setup {
		if answer := ask(statement); answer.Error != "" {
			t.Fatalf("DuckDB refuses %s: %s", statement, answer.Error)
		}
	}
	sql.SortIn(t, 0, 1<<30, t.TempDir())
	rapid.Check(t, func(t *rapid.T) {
		holdAnyhow(t)
		n := nester{maker{t}}
		source := func(i int) twin {
			table, name := n.word("a", "b", "c", "d").here, fmt.Sprint("s", i)
			of := alike("%s", twin{"SELECT _key AS k, n['x'] AS v FROM " + table, "SELECT _key AS k, x AS v FROM " + table})
			switch n.upTo(4) {
			case 0:
				of = alike("%s WHERE %s < 2", of, twin{"n['x']", "x"})
			case 1:
				return alike("(SELECT q.k, MAX(q.v) AS v FROM (%s) AS q GROUP BY q.k) AS "+name, of)
			}
			return alike("(%s) AS "+name, of)
		}
		from, names := source(0), []string{"k", "s0.k", "s0.v"}
		for i := range 1 + n.upTo(3) {
			from = alike("%s %s %s USING (k)", from, n.word("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"), source(i+1))
			names = append(names, fmt.Sprintf("s%d.k", i+1), fmt.Sprintf("s%d.v", i+1))
		}
		column := func() twin { name := names[n.upTo(len(names))]; return twin{name, name} }
		q := alike("SELECT "+strings.Join(names, ", ")+" FROM %s", from)
		switch n.upTo(3) {
		case 0:
			key := n.word("k", "s0.k", "s1.k")
			q = alike("%s WHERE %s %s", q, key, n.word("IS NULL", "IS NOT NULL", "> 'k2'", "= 'k1'", "IN ('k3', 'k4')"))
		case 1:
			q = alike("SELECT k, COUNT(%s) FROM %s GROUP BY k", column(), from)
		}
		q.here = strings.NewReplacer("> 'k2'", "> b'k2'", "= 'k1'", "= b'k1'", "IN ('k3', 'k4')", "IN (b'k3', b'k4')").Replace(q.here)
		got, err := m.run(t.Context(), q.here)
		want := ask(q.duck)
		if err != nil || want.Error != "" {
			t.Fatalf("%s\n%s\nhere   %q, %v\nDuckDB %q, %s", q.here, q.duck, got, err, want.Rows, want.Error)
		}
		var lines []string
		for _, row := range want.Rows {
			lines = append(lines, strings.Join(row, " "))
		}
		if !sameLines(got, lines, false) {
			t.Fatalf("%s\n%s\nhere   %q\nDuckDB %q", q.here, q.duck, got, lines)
		}
	})
}
