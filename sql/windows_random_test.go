package sql_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/sql"
)

// Random queries with window functions have the rows that DuckDB has. DuckDB is Python's module;
// without it the test is skipped.
func TestWindowsAreThoseOfDuckDB(t *testing.T) {
	m, setup := openTiny(t)
	ask := startDuckDB(t)
	for _, statement := range setup {
		if answer := ask(statement); answer.Error != "" {
			t.Fatalf("DuckDB refuses %s: %s", statement, answer.Error)
		}
	}
	sql.SortIn(t, 0, 1<<30, t.TempDir())
	rapid.Check(t, func(t *rapid.T) {
		sql.SetMemory(rapid.SampledFrom([]int{1, 500, 1 << 20}).Draw(t, "memory"))
		q := windower{maker{t}}.query()
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

// A windower draws queries of window functions of the columns k, which is unique, v and w.
type windower struct{ maker }

// function is a window function. Where its value depends on the order of peers, there are none.
func (w windower) function() twin {
	column := w.word("v", "w")
	partition := w.word("", "", "PARTITION BY w ", "PARTITION BY v, w > 1 ")
	direction := func() twin { return w.word("ASC NULLS FIRST", "DESC NULLS LAST", "NULLS LAST", "DESC NULLS FIRST") }
	all := alike("%sORDER BY %s %s, k %s", partition, w.word("v", "w"), direction(), direction())
	peers := alike("%sORDER BY %s %s", partition, w.word("v", "w", "v NULLS FIRST, w"), direction())
	nulls := w.word("", " IGNORE NULLS", " RESPECT NULLS")
	aggregate := alike("%s(%s)", w.word("SUM", "COUNT", "MIN", "MAX", "AVG", "BIT_XOR"), column)
	switch w.upTo(5) {
	case 0:
		aggregate = twin{"COUNT(*)", "COUNT(*)"}
	case 1:
		aggregate = differ("STRING_AGG(CAST(%s AS STRING), '-')", "STRING_AGG(CAST(%s AS VARCHAR), '-')", column)
	case 2:
		aggregate = differ("SUM(CAST(%s AS FLOAT64) / 4)", "SUM(CAST(%s AS DOUBLE) / 4)", column)
	}
	switch w.upTo(8) {
	case 0:
		return alike("%s OVER (%s)", w.word("ROW_NUMBER()", "NTILE(1)", "NTILE(2)", "NTILE(4)", "NTILE(1000000000)"), all)
	case 1:
		return alike("%s() OVER (%s)", w.word("RANK", "DENSE_RANK", "PERCENT_RANK", "CUME_DIST"), peers)
	case 2:
		return alike("%s(%s%s) OVER (%s)", w.word("LAG", "LEAD"), column, w.word("", ", 0", ", 2", ", 3, -1", ", 1000, 7"), all)
	case 3:
		return alike("%s(%s%s) OVER (%s %s)", w.word("FIRST_VALUE", "LAST_VALUE"), column, nulls, all, w.frame())
	case 4:
		return alike("NTH_VALUE(%s, %s%s) OVER (%s %s)", column, w.word("1", "2", "4", "100"), nulls, all, w.frame())
	case 5: // peers of one number
		by := alike("%sORDER BY %s %s", partition, w.word("v", "w"), direction())
		if strings.HasPrefix(aggregate.here, "STRING_AGG") {
			aggregate = twin{"COUNT(*)", "COUNT(*)"}
		}
		return alike("%s OVER (%s RANGE BETWEEN %s)", aggregate, by, w.word("UNBOUNDED PRECEDING AND 1 FOLLOWING", "1 PRECEDING AND CURRENT ROW", "2 PRECEDING AND 1 PRECEDING",
			"CURRENT ROW AND UNBOUNDED FOLLOWING", "1 PRECEDING AND 3 FOLLOWING", "1 FOLLOWING AND 2 FOLLOWING", "3 PRECEDING AND UNBOUNDED FOLLOWING", "CURRENT ROW AND CURRENT ROW"))
	case 6:
		if w.upTo(2) == 0 && !strings.HasPrefix(aggregate.here, "STRING_AGG") {
			return alike("%s OVER (%s)", aggregate, partition)
		}
	}
	return alike("%s OVER (%s %s)", aggregate, all, w.frame())
}

func (w windower) frame() twin {
	return w.word("", "ROWS UNBOUNDED PRECEDING", "ROWS 2 PRECEDING", "ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING", "ROWS BETWEEN 2 FOLLOWING AND 4 FOLLOWING",
		"ROWS BETWEEN 3 PRECEDING AND 2 PRECEDING", "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING", "ROWS BETWEEN 2 PRECEDING AND UNBOUNDED FOLLOWING",
		"ROWS BETWEEN 1000000000000000000 PRECEDING AND 0 FOLLOWING", "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING", "RANGE UNBOUNDED PRECEDING")
}

func (w windower) query() twin {
	table := w.word("b", "c", "d", "d").here
	from := twin{"(SELECT _key AS k, n['x'] AS v, n['y'] AS w FROM " + table + ") AS t", "(SELECT _key AS k, x AS v, y AS w FROM " + table + ") AS t"}
	switch w.upTo(6) {
	case 0:
		of := w.function()
		if strings.HasPrefix(of.here, "STRING_AGG") { // a text is no number
			of = alike("LENGTH(%s)", of)
		}
		return alike("SELECT k, v FROM %s WHERE w IS NOT NULL QUALIFY %s %s 2", from, of, w.word("<", ">=", "!="))
	case 1:
		return alike("SELECT v, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*), v NULLS LAST) AS r, SUM(MAX(w)) OVER (ORDER BY v NULLS FIRST) AS s FROM %s GROUP BY v", from)
	case 2:
		return alike("SELECT k, a + w AS b, w FROM (SELECT k, w, %s AS a FROM %s) AS q WHERE w > 0", w.word("RANK() OVER (ORDER BY v NULLS FIRST)", "COUNT(v) OVER (PARTITION BY w)"), from)
	case 3:
		return alike("SELECT k, SUM(v) OVER (a ROWS 1 PRECEDING) AS x, MIN(w) OVER a AS y, %s AS z FROM %s WINDOW a AS (PARTITION BY w ORDER BY k)", w.function(), from)
	}
	return alike("SELECT k, v, w, %s AS x, %s AS y FROM %s", w.function(), w.function(), from)
}

// A windowed is a row of the model of window functions: i is unique, part is of PARTITION BY, and x,
// of ORDER BY, is a float64 or nil for NULL, and v an int64 or nil.
type windowed struct {
	i, part int
	x, v    any
}

// Window functions over frames are those of loops over all rows, also with NULL, NaN and infinities
// in the order, with frames far away, in memory and on disk.
func TestWindowsAreThoseOfLoops(t *testing.T) {
	db := openPlanes(t)
	sql.SortIn(t, 0, 1<<30, t.TempDir())
	numbers := []any{nil, math.NaN(), math.Inf(-1), -1e300, -1.5, -0.25, 0.0, 0.25, 1.0, 1.0, 2.5, 1e300, math.Inf(1)}
	rapid.Check(t, func(t *rapid.T) {
		sql.SetMemory(rapid.SampledFrom([]int{1, 700, 1 << 20}).Draw(t, "memory"))
		var rows []windowed
		var texts []string
		for i := range rapid.IntRange(1, 24).Draw(t, "rows") {
			r := windowed{i: i, part: rapid.IntRange(0, 1).Draw(t, "part"), x: rapid.SampledFrom(numbers).Draw(t, "x")}
			x, v := "CAST(NULL AS FLOAT64)", "CAST(NULL AS INT64)"
			if r.x != nil {
				x = fmt.Sprintf("CAST('%v' AS FLOAT64)", r.x)
			}
			if n := rapid.IntRange(-1, 9).Draw(t, "v"); n >= 0 {
				r.v, v = int64(n), fmt.Sprint(n)
			}
			rows = append(rows, r)
			texts = append(texts, fmt.Sprintf("STRUCT(%d AS i, %d AS part, %s AS x, %s AS v)", i, r.part, x, v))
		}
		desc := rapid.Bool().Draw(t, "desc")
		last := rapid.Bool().Draw(t, "nulls last")
		byRows := rapid.Bool().Draw(t, "ROWS")
		bounds := drawBounds(t, byRows)
		order := "x"
		if desc {
			order += " DESC"
		}
		order += map[bool]string{true: " NULLS LAST", false: " NULLS FIRST"}[last]
		unit := "RANGE"
		if byRows {
			order, unit = order+", i", "ROWS"
		}
		over := fmt.Sprintf("OVER (PARTITION BY part ORDER BY %s %s BETWEEN %s AND %s)", order, unit, bounds[0].text, bounds[1].text)
		list := ""
		if byRows { // with RANGE, the order of peers is any
			list = ", ARRAY_AGG(v) " + over
		}
		text := fmt.Sprintf("SELECT i, COUNT(*) %[1]s, SUM(v) %[1]s, MIN(v) %[1]s, CAST(FLOOR(AVG(v) %[1]s * 1000 + 0.01) AS INT64), CAST(FLOOR(VAR_POP(v) %[1]s * 1000 + 0.01) AS INT64), CAST(ROUND(SUM(v / 8) %[1]s * 8) AS INT64)%[2]s FROM UNNEST([%[3]s]) ORDER BY i", over, list, strings.Join(texts, ", "))
		got, err := db.run(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		compare := func(a, b windowed) int { return compareFloats(a.x, b.x, desc, last) }
		var want []string
		for _, r := range rows {
			part := slices.DeleteFunc(slices.Clone(rows), func(o windowed) bool { return o.part != r.part })
			slices.SortStableFunc(part, compare)
			at := slices.IndexFunc(part, func(o windowed) bool { return o.i == r.i })
			var frame []windowed
			for i, o := range part {
				inside := false
				if byRows {
					inside = bounds[0].rows(at, i) <= 0 && bounds[1].rows(at, i) >= 0
				} else {
					inside = bounds[0].within(r, o, desc, compare, true) && bounds[1].within(r, o, desc, compare, false)
				}
				if inside {
					frame = append(frame, o)
				}
			}
			want = append(want, r.line(frame, byRows))
		}
		lines := strings.Split(got, "\n")
		for i := range want {
			if i >= len(lines) || lines[i] != want[i] {
				t.Fatalf("%s\nrow %d\ngot  %q\nwant %q", text, i, lines[min(i, len(lines)-1)], want[i])
			}
		}
	})
}

// line is the result of a row with a frame.
func (r windowed) line(frame []windowed, list bool) string {
	sum, least, n := int64(0), int64(math.MaxInt64), int64(0)
	square := 0.0
	var all []string
	for _, o := range frame {
		if o.v == nil {
			all = append(all, "NULL")
			continue
		}
		v := o.v.(int64)
		all = append(all, fmt.Sprint(v))
		sum, least, n, square = sum+v, min(least, v), n+1, square+float64(v*v)
	}
	array := ""
	if list {
		if array = " [" + strings.Join(all, " ") + "]"; len(all) == 0 {
			array = " NULL"
		}
	}
	if n == 0 {
		return fmt.Sprintf("%d %d NULL NULL NULL NULL NULL%s", r.i, len(frame), array)
	}
	mean := float64(sum) / float64(n)
	return fmt.Sprintf("%d %d %d %d %.0f %.0f %d%s", r.i, len(frame), sum, least, math.Floor(mean*1000+0.01), math.Floor((square/float64(n)-mean*mean)*1000+0.01), sum, array)
}

// A modelBound is a bound of a frame.
type modelBound struct {
	text string
	kind int // -2 UNBOUNDED PRECEDING, -1 PRECEDING, 0, 1, 2
	by   float64
}

func drawBounds(t *rapid.T, byRows bool) (all [2]modelBound) {
	kinds := []int{rapid.IntRange(-2, 1).Draw(t, "start"), rapid.IntRange(-1, 2).Draw(t, "end")}
	slices.Sort(kinds)
	for i, kind := range kinds {
		b := modelBound{kind: kind}
		by := rapid.SampledFrom([]string{"0", "1", "2", "3", "1000000000000000000"}).Draw(t, "by")
		if !byRows {
			by = rapid.SampledFrom([]string{"0.0", "0.5", "1", "1e300", "1e308"}).Draw(t, "by")
		}
		_, _ = fmt.Sscan(by, &b.by)
		b.text = map[int]string{-2: "UNBOUNDED PRECEDING", -1: by + " PRECEDING", 0: "CURRENT ROW", 1: by + " FOLLOWING", 2: "UNBOUNDED FOLLOWING"}[kind]
		all[i] = b
	}
	return all
}

// rows compares the bound of the row at with the row i.
func (b modelBound) rows(at, i int) int {
	switch b.kind {
	case -2:
		return -1
	case 2:
		return 1
	}
	return cmp.Compare(float64(at)+float64(b.kind)*b.by, float64(i))
}

// within reports whether a row is not before the start, or not after the end, of the frame of r.
func (b modelBound) within(r, o windowed, desc bool, compare func(a, b windowed) int, start bool) bool {
	special := func(x any) bool { return x == nil || math.IsNaN(x.(float64)) }
	c := compare(o, r)
	switch {
	case b.kind == -2 || b.kind == 2:
		return true
	case b.kind == 0 || special(r.x) || special(o.x):
	default:
		by := float64(b.kind) * b.by
		if desc {
			by = -by
		}
		c = cmp.Compare(o.x.(float64), r.x.(float64)+by)
		if desc {
			c = -c
		}
	}
	if start {
		return c >= 0
	}
	return c <= 0
}

// compareFloats orders NULL, NaN and numbers.
func compareFloats(a, b any, desc, last bool) int {
	rank := func(x any) int {
		switch {
		case x == nil && last:
			return 3
		case x == nil:
			return 0
		case math.IsNaN(x.(float64)) == desc:
			return 2
		}
		return 1
	}
	if c := cmp.Compare(rank(a), rank(b)); c != 0 || a == nil || math.IsNaN(a.(float64)) {
		return c
	}
	if desc {
		a, b = b, a
	}
	return cmp.Compare(a.(float64), b.(float64))
}
