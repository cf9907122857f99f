package sql_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// exactMaker makes expressions of NUMERIC and INTERVAL for both engines. DuckDB's DECIMAL keeps more
// digits of a product, its quotients are FLOAT64, and its intervals divide otherwise: these are
// left out.
type exactMaker struct{ *rapid.T }

func (m exactMaker) numeric(depth int) twin {
	switch n := rapid.IntRange(0, 7).Draw(m.T, "numeric"); {
	case n < 3 || depth == 0:
		text := rapid.StringMatching(`-?[0-9]{1,12}(\.[0-9]{1,9})?`).Draw(m.T, "digits")
		return pair("NUMERIC '"+text+"'", "CAST('"+text+"' AS DECIMAL(38,9))")
	case n == 3:
		return pair("x.n", "x.n")
	case n == 4:
		return alike("ABS(%s)", m.numeric(depth-1))
	case n == 5: // CAST, since DuckDB's ROUND has fewer digits
		of := m.numeric(depth - 1)
		return pair("ROUND("+of.here+", 2)", "CAST(ROUND("+of.duck+", 2) AS DECIMAL(38,9))")
	}
	return alike(rapid.SampledFrom([]string{"(%s + %s)", "(%s - %s)", "GREATEST(%s, %s)", "IF(%s > 0, %s, 1.5)"}).Draw(m.T, "of two"), m.numeric(depth-1), m.numeric(depth-1))
}

func (m exactMaker) interval(depth int) twin {
	switch n := rapid.IntRange(0, 6).Draw(m.T, "interval"); {
	case n < 3 || depth == 0:
		number := func(name string, most int) int { return rapid.IntRange(-most, most).Draw(m.T, name) }
		months, days, seconds := number("months", 50), number("days", 90), number("seconds", 200_000)
		return pair(fmt.Sprintf("MAKE_INTERVAL(month => %d, day => %d, second => %d)", months, days, seconds),
			fmt.Sprintf("(to_months(%d) + to_days(%d) + to_seconds(%d))", months, days, seconds))
	case n == 3:
		return pair("x.i", "x.i")
	case n == 4:
		return alike("(-%s)", m.interval(depth-1))
	case n == 5:
		return alike("(%s * 3)", m.interval(depth-1))
	}
	return alike(rapid.SampledFrom([]string{"(%s + %s)", "(%s - %s)"}).Draw(m.T, "of two"), m.interval(depth-1), m.interval(depth-1))
}

// column is a column of the result, as text that both engines write alike.
func (m exactMaker) column() twin {
	switch rapid.IntRange(0, 4).Draw(m.T, "column") {
	case 0:
		return alike("%s < %s", m.numeric(2), m.numeric(2))
	case 1:
		of := m.numeric(3)
		return pair("FORMAT('%.9f', "+of.here+")", "CAST(CAST("+of.duck+" AS DECIMAL(38,9)) AS VARCHAR)")
	case 2:
		return alike(rapid.SampledFrom([]string{"%s = %s", "%s < %s", "%s >= %s"}).Draw(m.T, "comparison"), m.interval(2), m.interval(2))
	case 3:
		part := rapid.SampledFrom([]string{"YEAR", "MONTH", "DAY", "HOUR", "MINUTE"}).Draw(m.T, "part")
		return alike("EXTRACT("+part+" FROM %s)", m.interval(2))
	}
	day := rapid.SampledFrom([]string{"2024-01-31", "2023-02-28", "1970-01-01", "2000-12-31"}).Draw(m.T, "day")
	of := m.interval(1)
	return pair("FORMAT_DATETIME('%F %T', DATETIME '"+day+"' + "+of.here+")", "strftime(TIMESTAMP '"+day+"' + "+of.duck+", '%Y-%m-%d %H:%M:%S')")
}

// Random expressions of NUMERIC and INTERVAL, groups, sums, ranks and frames of them have the result that
// DuckDB has.
func TestExactTypesAreThoseOfDuckDB(t *testing.T) {
	db := openPlanes(t)
	ask := startDuckDB(t)
	rapid.Check(t, func(t *rapid.T) {
		m := exactMaker{t}
		var here, duck []string
		for range rapid.IntRange(1, 5).Draw(t, "rows") {
			n, i := m.numeric(0), m.interval(0)
			here = append(here, "STRUCT("+n.here+" AS n, "+i.here+" AS i)")
			duck = append(duck, "("+n.duck+", "+i.duck+")")
		}
		columns, from := m.column(), pair("FROM UNNEST(["+strings.Join(here, ", ")+"]) AS x", "FROM (VALUES "+strings.Join(duck, ", ")+") AS x(n, i)")
		for _, form := range []string{"SELECT %s", "SELECT FORMAT('%%.9f', SUM(x.n)), COUNT(DISTINCT x.n), COUNT(DISTINCT x.i), MAX(%s)",
			"SELECT RANK() OVER (ORDER BY x.n DESC), DENSE_RANK() OVER (PARTITION BY x.n > 0 ORDER BY x.i), COUNT(*) OVER (ORDER BY x.n RANGE BETWEEN 1.5 PRECEDING AND 1000.25 FOLLOWING), %s"} {
			duckForm := strings.ReplaceAll(form, "FORMAT('%%.9f', SUM(x.n))", "CAST(SUM(x.n) AS VARCHAR)")
			q := pair(fmt.Sprintf(form, columns.here)+" "+from.here, fmt.Sprintf(duckForm, columns.duck)+" "+from.duck)
			got, err := db.run(q.here)
			want := ask(q.duck)
			if (err != nil) != (want.Error != "") && !known.MatchString(fmt.Sprint(err)+want.Error) {
				t.Fatalf("%s\n%s\nhere   %q, %v\nDuckDB %q, %s", q.here, q.duck, got, err, want.Rows, want.Error)
			}
			if err != nil || want.Error != "" {
				continue
			}
			var lines []string
			for _, row := range want.Rows {
				lines = append(lines, strings.Join(row, " "))
			}
			all := strings.Split(got, "\n")
			slices.Sort(all)
			slices.Sort(lines)
			if !slices.Equal(all, lines) {
				t.Fatalf("%s\n%s\nhere   %q\nDuckDB %q", q.here, q.duck, all, lines)
			}
		}
	})
}

func pair(here, duck string) twin { return twin{here, duck} }
