package sql_test

import (
	"strings"
	"testing"
)

// A mistake after NOT is an error, of whatever follows NOT.
func TestAMistakeAfterNotIsAnError(t *testing.T) {
	db := openPlanes(t)
	for _, of := range []string{"IN (SELECT)", "IN (", "IN UNNEST(", "BETWEEN 1", "BETWEEN 1 AND", "LIKE", "LIKE ("} {
		if _, err := db.run("SELECT 1 NOT " + of); err == nil {
			t.Errorf("NOT %s has no error", of)
		}
	}
}

func TestLambdas(t *testing.T) {
	db := openPlanes(t)
	for _, q := range []struct{ sql, want string }{
		{`SELECT ARRAY_FILTER([1, 2, 3], e -> e > 1), ARRAY_FILTER([5, 6, 7], (e, i) -> i != 1), ARRAY_FILTER([1, NULL], e -> e > 0)`, "[2 3] [5 7] [1]"},
		{`SELECT ARRAY_TRANSFORM([1, 2], (e, i) -> e * 10 + i), ARRAY_TRANSFORM(['a'], e -> STRUCT(e AS x))`, "[10 21] [{x:a}]"},
		{`SELECT ARRAY_TRANSFORM([1, 2], x -> ARRAY_LENGTH(ARRAY_FILTER([1, 2, 3], y -> y > x)))`, "[2 1]"},
		{`SELECT ARRAY_INCLUDES([1, 2, NULL], 1), ARRAY_INCLUDES([NULL], 1), ARRAY_INCLUDES([1], NULL), ARRAY_INCLUDES([1, 2], e -> e > 1)`, "true false NULL true"},
		{`SELECT ARRAY_OFFSET([1, 4, 4], 4), ARRAY_OFFSET([1, 4, 4], 4, 'LAST'), ARRAY_OFFSET([1], 3), ARRAY_OFFSETS([1, 4, 4], e -> e = 4)`, "1 2 NULL [1 2]"},
		{`SELECT _key, ARRAY_TRANSFORM(MAP_KEYS(g), k -> LENGTH(k) + LENGTH(_key)) FROM t WHERE _key < 'b'`, "a1 [6]\na2 []"},
		{`SELECT x, ARRAY_TRANSFORM(ARRAY_AGG(y), e -> e + x) FROM UNNEST([1, 1, 2]) AS x WITH OFFSET y GROUP BY x`, "1 [1 2]\n2 [4]"},
	} {
		if got, err := db.run(q.sql); err != nil || got != q.want {
			t.Errorf("%s: got %q, %v, want %q", q.sql, got, err, q.want)
		}
	}
	for text, want := range map[string]string{
		`SELECT ARRAY_TRANSFORM([1], (a, b, c) -> a)`: "the lambda has 3 arguments",
		`SELECT ARRAY_TRANSFORM([1], e -> SUM(e))`:    "SUM cannot take an argument of a lambda",
		`SELECT ARRAY_TRANSFORM([1], e -> [e])`:       "an array cannot have elements",
		`SELECT ARRAY_FILTER([1], e -> e)`:            "it must be BOOL",
		`SELECT ARRAY_FILTER([1], 1)`:                 "takes a lambda",
		`SELECT ABS(e -> e)`:                          "-> can only stand",
	} {
		if _, err := db.run(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestArrays(t *testing.T) {
	db := openPlanes(t)
	for _, q := range []struct{ sql, want string }{
		{`SELECT ARRAY<INT64>[], ARRAY<FLOAT64>[1, NULL], ARRAY<BYTES>['a'], CAST([1, 2] AS ARRAY<STRING>), CAST([] AS ARRAY<DATE>)`, "[] [1 NULL] [a] [1 2] []"},
		{`SELECT 1 NOT IN UNNEST(CAST(NULL AS ARRAY<INT64>)), SAFE_CAST(['a'] AS ARRAY<INT64>), (1, 'a')`, "true NULL {:1 :a}"},
		{`SELECT ARRAY_CONCAT([1], [2, 3], [4]), ARRAY_SLICE([1, 2, 3, 4], 1, 2), ARRAY_SLICE([1, 2, 3, 4], -2, -1), ARRAY_SLICE([1], 3, 9), ARRAY_LAST_N([1, 2, 3], 2)`, "[1 2 3 4] [2 3] [3 4] [] [2 3]"},
		{`SELECT ARRAY_INCLUDES_ANY([1, 2], [2, 3]), ARRAY_INCLUDES_ALL([1, 2], [2, 3]), ARRAY_INCLUDES_ALL([1], []), ARRAY_IS_DISTINCT([1, 1]), ARRAY_IS_DISTINCT([1, NULL])`, "true false true false true"},
		{`SELECT MAP_EMPTY(g), MAP_ENTRIES(g) FROM t WHERE _key < 'b'`, "false [{key:even value:yes}]\ntrue []"},
		{`SELECT GENERATE_ARRAY(1.5, 3.5), GENERATE_DATE_ARRAY('2020-01-31', '2020-03-31', INTERVAL 1 MONTH), GENERATE_TIMESTAMP_ARRAY(TIMESTAMP_SECONDS(0), TIMESTAMP_SECONDS(3), INTERVAL 2 SECOND)`, "[1.5 2.5 3.5] [2020-01-31 2020-02-29 2020-03-31] [0 2000000]"},
		{`SELECT GREATEST(1, 2.5), LEAST('b', 'a'), GREATEST(1, NULL), IS_NAN(LEAST(1.0, CAST('nan' AS FLOAT64)))`, "2.5 a NULL true"},
		{`SELECT 1 IS DISTINCT FROM NULL, NULL IS NOT DISTINCT FROM NULL, 1 IS NOT DISTINCT FROM 2, NULL IS UNKNOWN, TRUE IS NOT UNKNOWN`, "true true false true true"},
	} {
		if got, err := db.run(q.sql); err != nil || got != q.want {
			t.Errorf("%s: got %q, %v, want %q", q.sql, got, err, q.want)
		}
	}
}

func TestStatistics(t *testing.T) {
	db := openPlanes(t)
	const from = ` FROM UNNEST([3, 1, 2, 2]) AS x WITH OFFSET AS y`
	for _, q := range []struct{ sql, want string }{
		{`SELECT VAR_POP(x), VAR_SAMP(x) = VARIANCE(x), STDDEV_POP(x) = SQRT(0.5), STDDEV(DISTINCT x), COVAR_POP(x, y)` + from, "0.5 true true 1 -0.25"},
		{`SELECT ROUND(CORR(x, y), 6), ROUND(COVAR_SAMP(x, y), 6)` + from, "-0.316228 -0.333333"},
		{`SELECT VAR_POP(x), VARIANCE(x), CORR(x, x), STDDEV(NULL) FROM UNNEST([1]) AS x`, "0 NULL NULL NULL"},
		{`SELECT APPROX_TOP_COUNT(x, 1), APPROX_TOP_SUM(x, y, 2), APPROX_TOP_COUNT(NULLIF(x, 2), 1)` + from, "[{value:2 count:2}] [{value:2 sum:5} {value:1 sum:1}] [{value:NULL count:2}]"},
		{`SELECT ARRAY_CONCAT_AGG([x, y])` + from, "[3 0 1 1 2 2 2 3]"},
		{`SELECT ARRAY_AGG(x ORDER BY x DESC, y DESC LIMIT 2), STRING_AGG(CAST(x AS STRING), '-' ORDER BY x), ARRAY_AGG(NULLIF(x, 2) IGNORE NULLS), ARRAY_AGG(DISTINCT x ORDER BY x), ARRAY_AGG(x LIMIT 1), ARRAY_AGG(x)` + from, "[3 2] 1-2-2-3 [3 1] [1 2 3] [3] [3 1 2 2]"},
		{`SELECT ARRAY_AGG(y ORDER BY NULLIF(x, 3) NULLS LAST)` + from, "[1 2 3 0]"},
	} {
		if got, err := db.run(q.sql); err != nil || got != q.want {
			t.Errorf("%s: got %q, %v, want %q", q.sql, got, err, q.want)
		}
	}
	for text, want := range map[string]string{
		`SELECT ARRAY_AGG(DISTINCT x ORDER BY -x)` + from: "takes the argument itself",
		`SELECT SUM(x ORDER BY x)` + from:                 "SUM takes no ORDER BY",
		`SELECT SUM(x IGNORE NULLS)` + from:               "does not take IGNORE NULLS",
		`SELECT ABS(1 LIMIT 2)`:                           "are for aggregate functions",
		`SELECT APPROX_TOP_COUNT(x, 0)` + from:            "must be from 1 to",
	} {
		if _, err := db.run(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// An argument of a lambda is not a column of its name, in a key of GROUP BY and in an alias.
func TestArgumentsOfLambdasHideColumns(t *testing.T) {
	db := openPlanes(t)
	for _, q := range []struct{ sql, want string }{
		{`SELECT ARRAY_TRANSFORM([10], e -> e + 1), e + 1 FROM UNNEST([1, 1]) AS e GROUP BY e + 1`, "[11] 2"},
		{`SELECT COUNT(*) AS e FROM t HAVING ARRAY_INCLUDES([100], e -> e = 100)`, "6"},
		{`SELECT COUNT(*) AS e FROM t HAVING ARRAY_INCLUDES([100], x -> e = 6)`, "6"},
		{`SELECT x AS e FROM UNNEST([3, 1]) AS x ORDER BY ARRAY_FILTER([2, 1], e -> e = 2)[0] * e`, "1\n3"},
		{`SELECT COUNT(*) FROM UNNEST([3, 1]) AS x GROUP BY ARRAY_TRANSFORM([5], x -> x)[0]`, "2"},
	} {
		if got, err := db.run(q.sql); err != nil || got != q.want {
			t.Errorf("%s: got %q, %v, want %q", q.sql, got, err, q.want)
		}
	}
	for text, want := range map[string]string{
		`SELECT ARRAY_TRANSFORM([1], e -> SUM(e)) FROM UNNEST([7]) AS e`: "SUM cannot take an argument of a lambda",
		`SELECT ARRAY_TRANSFORM([1], (e, E) -> e)`:                       "both arguments of the lambda are named",
	} {
		if _, err := db.run(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// SAFE. makes the errors of a function of arrays NULL, but takes no lambda.
func TestSafeFunctionsOfArrays(t *testing.T) {
	db := openPlanes(t)
	if got, err := db.run(`SELECT SAFE.ARRAY_OFFSET([1, 1], 1, LAST), SAFE.ARRAY_LAST_N([1], -1)`); err != nil || got != "1 NULL" {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := db.run(`SELECT SAFE.ARRAY_FILTER([1], e -> e > 0)`); err == nil || !strings.Contains(err.Error(), "SAFE. cannot precede ARRAY_FILTER with a lambda") {
		t.Errorf("%v", err)
	}
}

// A struct in brackets has an expression after each comma, and no names.
func TestStructsInBrackets(t *testing.T) {
	db := openPlanes(t)
	if got, err := db.run(`SELECT (1, 'a', 2)`); err != nil || got != "{:1 :a :2}" {
		t.Errorf("got %q, %v", got, err)
	}
	for _, text := range []string{`SELECT (1,)`, `SELECT (1, 2,)`, `SELECT (1, 2 AS x)`} {
		if got, err := db.run(text); err == nil {
			t.Errorf("%s is %s", text, got)
		}
	}
}

// Each array of ARRAY_CONCAT was copied for each later one, which made more than a row may.
func TestArrayConcatOfManyArrays(t *testing.T) {
	db := openPlanes(t)
	arrays := strings.TrimSuffix(strings.Repeat("[1, 2], ", 3000), ", ")
	got, err := db.run("SELECT ARRAY_LENGTH(ARRAY_CONCAT(" + arrays + "))")
	if err != nil || got != "6000" {
		t.Errorf("%.200s, %v", got, err)
	}
}
