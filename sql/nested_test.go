package sql_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/sql"
)

// Random correlated queries, several levels deep, have the rows that DuckDB has. DuckDB is
// Python's module; without it the test is skipped.
func TestCorrelatedQueriesAreThoseOfDuckDB(t *testing.T) {
	m, setup := openTiny(t)
	start := func() func(string) answer {
		ask := startDuckDB(t)
		for _, statement := range setup {
			if answer := ask(statement); answer.Error != "" {
				t.Fatalf("DuckDB refuses %s: %s", statement, answer.Error)
			}
		}
		return ask
	}
	ask := start()
	compared, broken, failed := 0, 0, 0
	sql.SortIn(t, 0, 1<<30, t.TempDir())
	rapid.Check(t, func(t *rapid.T) {
		holdAnyhow(t)
		sql.ReadByKey(t, rapid.SampledFrom([]int64{0, 1, 1000}).Draw(t, "by key"))
		q := inner{nester{maker{t}}, new(int)}.query(2)
		got, err := m.run(t.Context(), q.here)
		want := ask(q.duck)
		switch {
		case strings.Contains(want.Error, "INTERNAL Error"), strings.Contains(want.Error, "not supported"), strings.Contains(want.Error, "Not implemented"):
			broken++
			if ask = start(); broken > 1000 {
				t.Fatal(want.Error)
			}
			return
		case err != nil && strings.Contains(err.Error(), "more than one row") && (strings.Contains(want.Error, "More than one row") || want.Error == ""):
			failed++
			return
		case strings.Contains(want.Error, "More than one row") && err == nil:
			failed++
			return
		case err != nil || want.Error != "":
			t.Fatalf("%s\n%s\nhere   %q, %v\nDuckDB %q, %s", q.here, q.duck, got, err, want.Rows, want.Error)
		}
		compared++
		var lines []string
		for _, row := range want.Rows {
			lines = append(lines, strings.Join(row, " "))
		}
		if !sameLines(got, lines, false) {
			t.Fatalf("%s\n%s\nhere   %q\nDuckDB %q", q.here, q.duck, got, lines)
		}
	})
	t.Logf("%d queries have the same rows, %d have two rows for one value, and %d DuckDB could not answer", compared, failed, broken)
}

// Values that are equal but not the same, as 30 days beside a month and -0 beside 0, have answers of
// their own.
func TestAnswersAreOfTheValuesThemselves(t *testing.T) {
	db := openPlanes(t)
	for text, want := range map[string]string{
		"SELECT (SELECT EXTRACT(DAY FROM i)) FROM UNNEST([INTERVAL 1 MONTH, INTERVAL 30 DAY, INTERVAL 720 HOUR, INTERVAL 1 MONTH]) AS i":              "0\n30\n0\n0",
		"SELECT (SELECT CAST(i.x AS STRING)) FROM UNNEST([STRUCT(INTERVAL 1 MONTH AS x), STRUCT(INTERVAL 30 DAY AS x)]) AS i":                         "0-1 0 0:0:0\n0-0 30 0:0:0",
		"SELECT (SELECT IEEE_DIVIDE(1, f)) FROM UNNEST([0.0, -0.0, CAST('nan' AS FLOAT64), 0.0]) AS f":                                                "+Inf\n-Inf\nNaN\n+Inf",
		"SELECT ARRAY(SELECT IEEE_DIVIDE(x, f) FROM UNNEST([1, 2]) AS x WHERE x > f) FROM UNNEST([CAST(0.0 AS FLOAT32), CAST(-0.0 AS FLOAT32)]) AS f": "[+Inf +Inf]\n[-Inf -Inf]",
	} {
		if got, err := db.run(text); got != want || err != nil {
			t.Errorf("%s: %q, %v; want %q", text, got, err, want)
		}
	}
}

// An inner draws queries whose expressions have queries that name sources around them.
type inner struct {
	nester
	names *int
}

func (n inner) name() string { *n.names++; return fmt.Sprintf("t%d", *n.names) }

func (n inner) of(names []string) twin { return n.column(names...) }

// equality is one of a source's column with one around.
func (n inner) equality(own string, around []string) twin {
	switch n.upTo(6) {
	case 0:
		return alike("%s.k = %s.k", twin{own, own}, n.pick(around))
	case 1:
		return alike("%s %s %s", n.of([]string{own}), n.word("<", "!=", ">="), n.of(around))
	case 2:
		return alike("%s = %s", n.of(around), n.of([]string{own}))
	case 3:
		return alike("%s = %s + 1", n.of([]string{own}), n.of(around))
	}
	return alike("%s = %s", n.of([]string{own}), n.of(around))
}

func (n inner) pick(names []string) twin {
	name := names[n.upTo(len(names))]
	return twin{name, name}
}

// from is a source with a name; a table may stand there itself.
func (n inner) from(name string) twin {
	return n.source(n.upTo(2), name)
}

// where are conditions of a query in an expression.
func (n inner) where(depth int, own string, around []string) twin {
	w := n.equality(own, around)
	for n.upTo(3) == 0 {
		w = alike("%s AND %s", w, n.equality(own, around))
	}
	if n.upTo(3) == 0 {
		w = alike("%s AND %s", w, n.condition(0, own))
	}
	if depth > 0 && n.upTo(3) == 0 {
		w = alike("%s AND %s", w, n.test(depth-1, append([]string{own}, around...)))
	}
	return w
}

// test is a condition with a query.
func (n inner) test(depth int, around []string) twin {
	own := n.name()
	from, where := n.from(own), n.where(depth, own, around)
	not := n.word("", "NOT ")
	switch n.upTo(5) {
	case 0:
		return alike("%sEXISTS (SELECT 1 FROM %s WHERE %s)", not, from, where)
	case 1:
		return alike("%s %sIN (SELECT %s FROM %s WHERE %s)", n.of(around), not, n.of([]string{own}), from, where)
	case 2:
		return alike("%sEXISTS (SELECT COUNT(*) FROM %s WHERE %s GROUP BY %s HAVING COUNT(*) > 1)", not, from, where, n.of([]string{own}))
	case 3:
		return alike("(%s %s %s OR %s)", n.of(around), n.word("<", "="), n.scalar(depth, around), n.condition(0, around...))
	}
	return alike("%s %s %s", n.of(around), n.word("=", "<", ">="), n.scalar(depth, around))
}

// scalar is a query as a value.
func (n inner) scalar(depth int, around []string) twin {
	own := n.name()
	from, where := n.from(own), n.where(depth, own, around)
	x := n.of([]string{own})
	switch n.upTo(7) {
	case 0:
		return alike("(SELECT COUNT(*) FROM %s WHERE %s)", from, where)
	case 1:
		return alike("(SELECT COUNT(%s) + 1 FROM %s WHERE %s HAVING COUNT(*) != 2)", x, from, where)
	case 2:
		return alike("(SELECT %s FROM %s WHERE %s)", x, from, where)
	case 3:
		return alike("(SELECT COALESCE(MAX(%s), -1) FROM %s WHERE %s)", x, from, where)
	case 4:
		twice := alike("%s.v * 10 + COALESCE(%[1]s.w, 0)", twin{own, own})
		return alike("(SELECT %s FROM %s WHERE %s ORDER BY 1 %s NULLS LAST LIMIT 1)", twice, from, where, n.word("ASC", "DESC"))
	case 5:
		return alike("(SELECT COUNT(DISTINCT %s) FROM %s WHERE %s)", x, from, where)
	}
	return alike("(SELECT %s(%s) FROM %s WHERE %s)", n.word("MIN", "MAX", "SUM"), x, from, where)
}

func (n inner) query(depth int) twin {
	names := []string{n.name()}
	from := n.from(names[0])
	if n.upTo(3) == 0 {
		other := n.name()
		on := alike("%s = %s", n.of([]string{other}), n.of(names))
		both := append(slices.Clone(names), other)
		from = alike("%s JOIN %s ON %s", from, n.from(other), on)
		names = both
	}
	columns := alike("%s, %s", n.of(names), n.of(names))
	for n.upTo(2) == 0 {
		columns = alike("%s, %s", columns, n.scalar(depth-1, names))
	}
	where := twin{}
	if n.upTo(4) > 0 {
		where = alike(" WHERE %s", n.test(depth-1, names))
		for n.upTo(3) == 0 {
			where = alike("%s AND %s", where, n.test(depth-1, names))
		}
	}
	if n.upTo(4) == 0 {
		x := n.of(names)
		one := n.name()
		return alike("SELECT %s, COUNT(*), (SELECT MAX(%s.v) FROM %s WHERE %[2]s.v = %[1]s) FROM %[4]s%[5]s GROUP BY 1 HAVING COUNT(*) >= (SELECT COUNT(*) FROM %[3]s WHERE %[2]s.w = %[1]s)",
			x, twin{one, one}, n.from(one), from, where)
	}
	return alike("SELECT %s FROM %s%s", columns, from, where)
}
