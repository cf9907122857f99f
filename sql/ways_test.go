package sql_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/sql"
	"github.com/smolwc/smolwc/sql/value"
)

// A wayMaker draws queries whose rows all have the columns k, which is unique, g, f, d, v, m, s, b, st
// and ar, so that any of them can stand in FROM of another one. Where the order of rows shows in a
// result, it is that of k.
type wayMaker struct{ *rapid.T }

const wayColumns = "k, g, f, d, v, m, s, b, st, ar"

// wayTable are the rows of a table: numbers with NaN, both zeros and infinities, equal intervals that
// are written otherwise, times, and texts that lie in the memory of cells.
func wayTable(name string) string {
	return "(SELECT CAST(_key AS STRING) AS k, NULLIF(MOD(n['i'], 5), 4) AS g, " +
		"CASE MOD(n['i'], 8) WHEN 0 THEN CAST('nan' AS FLOAT64) WHEN 1 THEN -0.0 WHEN 2 THEN 0.0 WHEN 3 THEN CAST('-inf' AS FLOAT64) WHEN 4 THEN NULL ELSE MOD(n['i'], 3) / 2 END AS f, " +
		"IF(MOD(n['i'], 6) = 5, NULL, CAST(MOD(n['i'] * 7, 4) - 1 AS NUMERIC) / 4) AS d, " +
		"CASE MOD(n['i'], 5) WHEN 0 THEN INTERVAL 1 MONTH WHEN 1 THEN INTERVAL 30 DAY WHEN 2 THEN INTERVAL 720 HOUR WHEN 3 THEN MAKE_INTERVAL(day => MOD(n['i'], 2) - 1) END AS v, " +
		"DATETIME_ADD(DATETIME '1969-12-31 23:00:00', INTERVAL MOD(n['i'], 3) HOUR) AS m, " +
		"s['x'] AS s, b['x'] AS b, STRUCT(s['x'] AS x, CAST(MOD(n['i'], 3) AS NUMERIC) AS y) AS st, [b['x'], NULL, b'' || b['x']] AS ar FROM " + name + ")"
}

func (w wayMaker) word(all ...string) string { return rapid.SampledFrom(all).Draw(w.T, "word") }

func (w wayMaker) column() string { return w.word("g", "f", "d", "v", "m", "s", "b") }

func (w wayMaker) any() string { return w.word("g", "f", "d", "v", "m", "s", "b", "st", "ar") }

func (w wayMaker) order(of string) string {
	return of + w.word("", " DESC", " NULLS LAST", " DESC NULLS FIRST")
}

func (w wayMaker) condition(of string) string {
	return strings.ReplaceAll(w.word("T.g > 1", "T.f >= 0", "T.d != 0.25", "T.v < INTERVAL 31 DAY", "T.m > DATETIME '1970-01-01'", "T.s LIKE '%1%'", "T.b IN (b'bytes 1', b'bytes 2')", "T.st.y = 1",
		"ARRAY_LENGTH(T.ar) = 3", "T.s LIKE T.s || '%'", "T.g IS DISTINCT FROM 2"), "T.", of+".")
}

// of draws a query in brackets, with queries in FROM up to a depth.
func (w wayMaker) of(depth int) string {
	if depth == 0 {
		return wayTable(w.word("t", "t", "u"))
	}
	from := w.of(depth - 1)
	switch rapid.IntRange(0, 11).Draw(w.T, "shape") {
	case 0:
		return "(SELECT * FROM " + from + " AS q WHERE " + w.condition("q") + ")"
	case 1:
		return fmt.Sprintf("(SELECT * FROM %s AS q ORDER BY %s, %s, k LIMIT %s)", from, w.order(w.column()), w.order(w.column()), w.word("0", "3", "17", "17 OFFSET 5", "1000"))
	case 2:
		other := w.of(rapid.IntRange(0, depth-1).Draw(w.T, "depth"))
		on := "p." + w.word("k", "g", "d", "v", "m", "s", "b", "f")
		cond := on + " = q." + on[2:]
		if rapid.Bool().Draw(w.T, "more") {
			cond += " AND " + w.condition(w.word("p", "q"))
		}
		if rapid.Bool().Draw(w.T, "lesser") {
			cond += " AND p." + w.word("k", "s", "b", "m") + " < q.k"
			cond = strings.ReplaceAll(strings.ReplaceAll(cond, "p.b < q.k", "p.b < q.b"), "p.m < q.k", "p.m < q.m")
		}
		list := "CONCAT(IFNULL(p.k, ''), '-', IFNULL(q.k, '')) AS k"
		for _, c := range []string{"g", "f", "d", "v", "m", "s", "b", "st", "ar"} {
			list += ", " + w.word("p.", "q.") + c + " AS " + c
		}
		return fmt.Sprintf("(SELECT %s FROM (SELECT * FROM %s ORDER BY k LIMIT 40) AS p %s (SELECT * FROM %s ORDER BY k DESC LIMIT 25) AS q ON %s)", list, from, w.word("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"), other, cond)
	case 3:
		other := w.of(rapid.IntRange(0, depth-1).Draw(w.T, "depth"))
		return fmt.Sprintf("(SELECT CONCAT('x', k) AS k, %[1]s FROM %[2]s UNION ALL SELECT CONCAT('y', k) AS k, %[1]s FROM %[3]s)", wayColumns[3:], from, other)
	case 4:
		keys := w.word("q.g", "q.f", "q.d", "q.v", "q.m", "q.s", "q.b", "q.g, q.v", "q.d, q.m", "q.f, q.s", "q.b, q.d", "q.v, q.f")
		list := "MIN(k) AS k"
		for _, c := range []string{"g", "f", "d", "v", "m", "s", "b", "st", "ar"} {
			form := w.word("ARRAY_AGG(%s ORDER BY k LIMIT 1)[OFFSET(0)]", "ARRAY_AGG(%s ORDER BY k DESC LIMIT 1)[OFFSET(0)]", "ARRAY_AGG(%s ORDER BY f, v DESC, k)[SAFE_OFFSET(1)]")
			switch c {
			case "s":
				form = w.word(form, "STRING_AGG(%s, ',' ORDER BY k LIMIT 3)", "MIN(%s)", "MAX(%s)", "CAST(COUNT(DISTINCT %s) AS STRING)", "STRING_AGG(DISTINCT %s ORDER BY %s LIMIT 2)")
			case "b":
				form = w.word(form, "STRING_AGG(%s ORDER BY k LIMIT 3)", "MIN(%s)", "MAX(%s)")
			case "d":
				form = w.word(form, "SUM(%s)", "AVG(%s)", "MIN(%s)", "CAST(COUNT(DISTINCT v) AS NUMERIC)", "CAST(COUNT(DISTINCT %s) AS NUMERIC)")
			case "v":
				form = w.word(form, "SUM(%s)", "MIN(%s)", "MAX(%s)")
			case "m", "g":
				form = w.word(form, "MIN(%s)", "MAX(%s)")
			case "f":
				form = w.word(form, "MIN(%s)", "MAX(%s)", "CAST(COUNT(DISTINCT %s) AS FLOAT64)")
			case "ar":
				form = w.word("ARRAY_AGG(b ORDER BY k LIMIT 4)", "ARRAY_AGG(DISTINCT b IGNORE NULLS ORDER BY b DESC)", "ARRAY_CONCAT_AGG(%s ORDER BY k LIMIT 2)")
			}
			list += ", " + strings.ReplaceAll(form, "%s", c) + " AS " + c
		}
		by := w.word(keys, keys, "ROLLUP("+keys+")", "CUBE("+keys+")", "GROUPING SETS (("+keys+"), ())")
		if by == keys {
			return fmt.Sprintf("(SELECT %s FROM %s AS q GROUP BY %s)", list, from, by)
		}
		var marks []string
		for _, key := range strings.Split(keys, ", ") {
			marks = append(marks, "CAST(GROUPING("+key+") AS STRING)")
		}
		return fmt.Sprintf("(SELECT CONCAT(IFNULL(k, ''), grouped) AS k, %s FROM (SELECT %s, CONCAT(%s) AS grouped FROM %s AS q GROUP BY %s))", wayColumns[3:], list, strings.Join(marks, ", "), from, by)
	case 5, 6:
		partition := w.word("", "", "PARTITION BY "+w.column()+" ", "PARTITION BY "+w.column()+", "+w.column()+" ")
		over := fmt.Sprintf("OVER (%sORDER BY %s, k%s", partition, w.order(w.column()), w.word("", " ROWS 2 PRECEDING", " ROWS BETWEEN 1 PRECEDING AND 2 FOLLOWING", " ROWS BETWEEN 2 FOLLOWING AND UNBOUNDED FOLLOWING")) + ")"
		plain := strings.TrimSuffix(over, ")")
		if at := strings.Index(plain, " ROWS"); at >= 0 {
			plain = plain[:at]
		}
		plain += ")"
		of := w.any()
		form := w.word("LAG(%s) "+plain, "LEAD(%s, 2) "+plain, "FIRST_VALUE(%s) "+over, "LAST_VALUE(%s IGNORE NULLS) "+over, "NTH_VALUE(%s, 2) "+over)
		switch {
		case of == "d" || of == "v":
			form = w.word(form, "SUM(%s) "+over, "MIN(%s) "+over, "MAX(%s) "+over, "PERCENTILE_DISC(%s, 0.5) OVER ("+strings.TrimSuffix(partition, " ")+")")
		case of == "s":
			form = w.word(form, "STRING_AGG(%s) "+over, "MIN(%s) "+over, "MAX(%s) "+over)
		case of == "ar":
			form = w.word(form, "ARRAY_AGG(b) "+over)
		case of == "b" || of == "m":
			form = w.word(form, "MIN(%s) "+over, "MAX(%s) "+over)
		case of == "g":
			form = w.word(form, "RANK() "+plain, "COUNT(%s) "+over, "ROW_NUMBER() "+plain, "COUNT(DISTINCT v) OVER ("+strings.TrimSuffix(partition, " ")+")")
		}
		call := form
		if strings.Contains(form, "%s") {
			call = fmt.Sprintf(form, of)
		}
		list := strings.ReplaceAll(wayColumns, ", "+of+",", ", "+call+" AS "+of+",")
		if of == "ar" {
			list = strings.TrimSuffix(wayColumns, "ar") + call + " AS ar"
		}
		return "(SELECT " + list + " FROM " + from + " AS q" + w.word("", "", " QUALIFY RANK() OVER (PARTITION BY q."+w.column()+" ORDER BY q."+w.order(w.column())+") < 3") + ")"
	case 7:
		list := strings.Replace(wayColumns, "k", "MIN(k) AS k", 1)
		by := w.word(strings.TrimSuffix(wayColumns[3:], ", st, ar"), wayColumns[3:])
		if by != wayColumns[3:] {
			list = strings.Replace(list, ", st, ar", ", ARRAY_AGG(st ORDER BY k LIMIT 1)[OFFSET(0)] AS st, ARRAY_CONCAT_AGG(ar ORDER BY k LIMIT 1) AS ar", 1)
		}
		return "(SELECT " + list + " FROM " + from + " AS q GROUP BY " + by + ")"
	case 8:
		return "(SELECT DISTINCT * FROM " + from + ")"
	case 9: // correlated
		other := wayTable(w.word("t", "u"))
		on := w.word("g", "f", "d", "v", "m", "s", "b", "k")
		cond := "r." + on + " = q." + on
		if rapid.Bool().Draw(w.T, "more") {
			cond += " AND " + w.condition("r")
		}
		of := w.any()
		form := w.word("(SELECT r.%[1]s FROM %[2]s AS r WHERE %[3]s ORDER BY r.k LIMIT 1)", "(SELECT ARRAY_AGG(STRUCT(r.%[1]s AS x) ORDER BY r.k DESC LIMIT 1)[OFFSET(0)].x FROM %[2]s AS r WHERE %[3]s)",
			"(SELECT r.%[1]s FROM %[2]s AS r WHERE r.k > q.k AND %[3]s ORDER BY r.f, r.k LIMIT 1)", "IF(q.%[4]s IN (SELECT r.%[4]s FROM %[2]s AS r WHERE %[3]s), q.%[1]s, NULL)",
			"(SELECT IF(r.k != q.k, r.%[1]s, q.%[1]s) FROM %[2]s AS r WHERE %[3]s ORDER BY r.k DESC LIMIT 1)")
		if of == "ar" {
			form = w.word(form, "ARRAY(SELECT r.b FROM %[2]s AS r WHERE %[3]s ORDER BY r.v, r.k)")
		}
		call := fmt.Sprintf(form, of, other, cond, on)
		list := ""
		for _, c := range strings.Split(wayColumns, ", ") {
			if c == of {
				list += ", " + call + " AS " + c
			} else {
				list += ", q." + c
			}
		}
		return "(SELECT " + list[2:] + " FROM " + from + " AS q)"
	case 10:
		return "(SELECT * FROM " + from + " AS q WHERE " + w.word("", "NOT ") + "EXISTS(SELECT 1 FROM " + wayTable(w.word("t", "u")) + " AS r WHERE r.g = q.g AND r.d < q.d))"
	}
	return "(SELECT CONCAT(k, '/', CAST(o AS STRING)) AS k, g, f, d, v, m, s, CONCAT(e, b'!') AS b, st, ar FROM (SELECT * FROM " + from + " ORDER BY k LIMIT 40) AS q, UNNEST(q.ar) AS e WITH OFFSET AS o)"
}

// wayText is a value as a text that equal values share.
func wayText(v any) string {
	switch v := v.(type) {
	case float64:
		return fmt.Sprintf("%g", v+0)
	case value.Interval:
		return fmt.Sprint(v.Total())
	case []byte:
		return string(v)
	case value.Array:
		return wayTexts(v)
	case value.Struct:
		return wayTexts(v)
	}
	return fmt.Sprint(v)
}

func wayTexts(all []any) string {
	var texts []string
	for _, v := range all {
		texts = append(texts, wayText(v))
	}
	return "[" + strings.Join(texts, " ") + "]"
}

// openWays is a database with the tables of [wayTable].
func openWays(t *testing.T) *several {
	t.Helper()
	families := []schema.Family{{Name: "b"}, {Name: "n", Type: cells.TypeI64}, {Name: "s", Type: cells.TypeString}}
	m := openSeveral(t, schema.Table{Name: "t", Families: families}, schema.Table{Name: "u", Families: families})
	for i := range 24 {
		row := []string{fmt.Sprint("n:i=", i), fmt.Sprint("s:x=text ", i*7%10), fmt.Sprint("b:x=bytes ", i*3%11)}
		m.put("t", fmt.Sprintf("t%02d", i), row...)
		if i < 8 {
			m.put("u", fmt.Sprintf("t%02d", i*2), row...)
		}
	}
	return m
}

// A condition on the rows of any query keeps those for which it is TRUE as a column (NoREC); the rows
// for which it is TRUE, FALSE and NULL are all rows (TLP).
func TestConditionsPartitionRowsOfAllQueries(t *testing.T) {
	m := openWays(t)
	rapid.Check(t, func(t *rapid.T) {
		w := wayMaker{t}
		of := w.of(rapid.IntRange(1, 2).Draw(t, "depth"))
		test := w.word("%s", "%s AND %s", "%s OR NOT %s")
		for strings.Contains(test, "%s") {
			test = strings.Replace(test, "%s", "("+w.condition("r")+")", 1)
		}
		rows := func(text string) (lines []string) {
			p, err := m.plan(text)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			for values, err := range p.Result(m.t.(*testing.T).Context(), m.tables).Rows {
				if err != nil {
					t.Fatalf("%s: %v", text, err)
				}
				lines = append(lines, wayTexts(values))
			}
			slices.Sort(lines)
			return lines
		}
		all := rows("SELECT * FROM " + of + " AS r")
		var parts []string
		for _, where := range []string{test, "NOT (" + test + ")", "(" + test + ") IS NULL"} {
			some := rows("SELECT * FROM " + of + " AS r WHERE " + where)
			if counted := rows("SELECT COUNTIF(x) FROM (SELECT " + where + " AS x FROM " + of + " AS r)"); counted[0] != fmt.Sprintf("[%d]", len(some)) {
				t.Fatalf("%s is TRUE for %s rows of %s, and WHERE has %d", where, counted[0], of, len(some))
			}
			parts = append(parts, some...)
		}
		if slices.Sort(parts); !slices.Equal(parts, all) {
			t.Fatalf("%s of %s: the parts are\n%s\nand all rows\n%s", test, of, strings.Join(parts, "\n"), strings.Join(all, "\n"))
		}
	})
}

// A query has the same rows in memory and on disk, whichever side of joins is held, with rows that
// are lent, and after WITH.
func TestQueriesHaveTheSameRowsInAllWays(t *testing.T) {
	m := openWays(t)
	sql.SortIn(t, 0, 1<<30, t.TempDir())
	lent := 0
	rapid.Check(t, func(t *rapid.T) {
		of := wayMaker{t}.of(rapid.IntRange(1, 3).Draw(t, "depth"))
		rows := func(text string, spoil bool) []string {
			p, err := m.plan(text)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			tables := m.tables
			if spoil {
				tables = func(name string) sql.Table { return spoiling{m.tables(name), &lent} }
			}
			var kept [][]any
			for values, err := range p.Result(m.t.(*testing.T).Context(), tables).Rows {
				if err != nil {
					t.Fatalf("%s: %v", text, err)
				}
				kept = append(kept, values)
			}
			var lines []string
			for _, values := range kept {
				lines = append(lines, wayTexts(values))
			}
			slices.Sort(lines)
			return lines
		}
		sql.SetMemory(1 << 30)
		sql.HoldLeft(10_000)
		plain := "SELECT * FROM " + of
		want := rows(plain, false)
		text := rapid.SampledFrom([]string{plain, plain + " ORDER BY " + strings.TrimSuffix(wayColumns, ", st, ar") + " LIMIT 100000", "WITH w AS " + of + " SELECT * FROM w", "FROM " + of + " |> WHERE TRUE",
			"WITH w AS " + of + " SELECT p.* FROM w AS p JOIN (SELECT DISTINCT k FROM w) AS q USING (k)"}).Draw(t, "text")
		for _, memory := range []int{rapid.SampledFrom([]int{1, 500, 5000}).Draw(t, "memory"), 1 << 30} {
			sql.SetMemory(memory)
			sql.HoldLeft(rapid.SampledFrom([]int{0, 3, 10_000}).Draw(t, "left"))
			if got := rows(text, true); !slices.Equal(got, want) {
				t.Fatalf("%s\nwith %d bytes of memory it is\n%s\nand otherwise\n%s", text, memory, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
	})
}
