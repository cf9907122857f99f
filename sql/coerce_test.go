package sql_test

import (
	"strings"
	"testing"
)

// Structs and arrays are compared with = by their parts, and NULL with everything.
func TestStructsAndArraysAreCompared(t *testing.T) {
	db := openPlanes(t)
	for _, q := range []struct{ sql, want string }{
		{`SELECT STRUCT(1, 'a') = STRUCT(1, 'a'), (1, 2) = (1, 3), (1, 2) != (1, 3), STRUCT(1 AS a) = STRUCT(1.0 AS b), (1, 2) <> (1, 2)`, "true false true true false"},
		{`SELECT STRUCT(1, NULL) = STRUCT(1, NULL), STRUCT(1, NULL) = STRUCT(2, NULL), STRUCT(1, 2) = STRUCT(1, NULL), (1, NULL) != (2, NULL)`, "NULL false NULL true"},
		{`SELECT [1] = [1], [1, 2] = [1], [] = [], [1] = [1.0], [1, NULL] = [1, 2], [1, NULL] = [2, 2], [1, NULL] = [1], [1] != [2]`, "true false true true NULL false false true"},
		{`SELECT ['2024-01-01'] = [DATE '2024-01-01'], (b'a', 1) = ('a', 1), [(1, 'a')] = [(1, 'a')], ([1], 'a') = ([1], 'b'), [] = [1]`, "true true true false false"},
		{`SELECT [CAST('nan' AS FLOAT64)] = [CAST('nan' AS FLOAT64)], STRUCT(CAST('nan' AS FLOAT64)) != STRUCT(CAST('nan' AS FLOAT64)), [-0.0] = [0.0]`, "false true true"},
		{`SELECT (1, 2) IS NOT DISTINCT FROM (1, 2), (1, NULL) IS NOT DISTINCT FROM (1, NULL), [NULL] IS DISTINCT FROM [1], NULL IS NOT DISTINCT FROM [1], [CAST('nan' AS FLOAT64)] IS NOT DISTINCT FROM [CAST('nan' AS FLOAT64)]`, "true true true false true"},
		{`SELECT (1, 2) IN ((3, 4), (1, 2)), (1, 2) IN ((1, NULL), (3, 4)), (1, 2) IN ((3, NULL), (4, 4)), (1, NULL) IN ((1, 2), (3, 4)), (1, NULL) IN ((2, 2), (3, 4)), [1] IN ([2], [1])`, "true NULL false NULL false true"},
		{`SELECT (1, 2) IN UNNEST([STRUCT(1 AS a, 2 AS b), (3, 4)]), (1, 'a') NOT IN (STRUCT(1, 'b'), (2, 'a')), (_key, n['i']) IN ((b'a1', -2), ('c1', 2)) FROM t WHERE _key = 'a1'`, "true true true"},
		{`SELECT CASE (1, 2) WHEN (1, 3) THEN 'a' WHEN (1, 2) THEN 'b' END, NULLIF((1, 2), (1, 2)), NULLIF([1], [2]), CASE [1] WHEN NULL THEN 1 ELSE 2 END`, "b NULL [1] 2"},
		{`SELECT COUNT(DISTINCT (1, e)), COUNT(DISTINCT [e]) FROM UNNEST([1, 2, 1]) AS e`, "2 2"},
		{`SELECT (e, NULL), COUNT(*) FROM UNNEST([1, 2, 1]) AS e GROUP BY 1 ORDER BY 2`, "{:2 :NULL} 1\n{:1 :NULL} 2"},
		{`SELECT DISTINCT [a, 'x,'] FROM UNNEST(['y', 'y']) AS a`, "[y x,]"},
		{`SELECT ARRAY_INCLUDES([(1, 2)], (1, 2)), ARRAY_OFFSET([[1][0], 2], 2), ARRAY_IS_DISTINCT([(1, 2), (1, 2)]), ARRAY_INCLUDES_ANY([(1, 2)], [(1, 2)])`, "true 1 false true"},

		{`SELECT [1] = NULL, NULL = [1], STRUCT(1) = NULL, NULL != (1, 2), NULL = NULL, NULL < 1, 'a' = NULL`, "NULL NULL NULL NULL NULL NULL NULL"},
		{`SELECT f = NULL, NULL != f, NULLIF(f, NULL), f IN (NULL, NULL), f IN UNNEST([NULL]), f IS NOT DISTINCT FROM NULL, CASE f WHEN NULL THEN 1 ELSE 2 END FROM t WHERE _key = 'a1'`, "NULL NULL {model=757} NULL NULL false 2"},
		{`SELECT [1] IN (NULL), [1] IN (NULL, NULL), NULL IN ([1], [2]), [1] IN UNNEST(NULL), NULL IN UNNEST(NULL), NULL BETWEEN 1 AND 2, 1 BETWEEN NULL AND 2, 3 BETWEEN NULL AND 2, NULL BETWEEN NULL AND NULL`, "NULL NULL NULL false false NULL NULL false NULL"},
		{`SELECT NULLIF(NULL, [1]), NULLIF([1], NULL), NULLIF(NULL, NULL), COALESCE(NULL, [1]), IFNULL(NULL, (1, 2)), IF(NULL, [1], NULL), CASE WHEN NULL THEN [1] END, CASE NULL WHEN NULL THEN 1 WHEN [1] THEN 2 ELSE 3 END`, "NULL [1] NULL [1] {:1 :2} NULL NULL 3"},
		{`SELECT COUNT(*) FROM t WHERE [f['model']] = NULL`, "0"},
		{`SELECT COUNT(*) FROM t WHERE [f['model']] = [b'757'] AND (_key, f['model']) = ('a1', '757')`, "1"},
	} {
		got, err := db.run(q.sql)
		if err != nil || got != q.want {
			t.Errorf("%s\ngot  %q, %v\nwant %q", q.sql, got, err, q.want)
		}
	}
}

// The elements of an array, and all else that must be of one type, take it from each other.
func TestTypesAreTakenFromEachOther(t *testing.T) {
	db := openPlanes(t)
	for _, q := range []struct{ sql, want string }{
		{`SELECT * FROM UNNEST([STRUCT(1 AS a, 2 AS b), (3, 4)])`, "1 2\n3 4"},
		{`SELECT a, b FROM UNNEST([STRUCT(1 AS a, 2 AS b), (3.5, NULL), NULL])`, "1 2\n3.5 NULL\nNULL NULL"},
		{`SELECT [STRUCT(1 AS x), STRUCT(2)], [(1, 'a'), (2.5, NULL)], [NULL, (1, [2])], [(NULL, 1), STRUCT('a' AS x, 2 AS y)]`, "[{x:1} {x:2}] [{:1 :a} {:2.5 :NULL}] [NULL {:1 :[2]}] [{:NULL :1} {:a :2}]"},
		{`SELECT [('2024-01-01', 1), (DATE '2024-01-02', 2)][0], ['2024-01-01', DATE '2024-01-02'], [('a', 1), (b'b', 2)][0]`, "{:2024-01-01 :1} [2024-01-01 2024-01-02] {:a :1}"},
		{`SELECT IF(FALSE, STRUCT(1 AS a), STRUCT(2.5 AS z)).a, IFNULL([1], [2.5]), IF(TRUE, [], [1]), CASE 1 WHEN 1 THEN (1, NULL) ELSE (NULL, 2) END`, "2.5 [1] [] {:1 :NULL}"},
		{`SELECT ARRAY<FLOAT32>[1.1], ARRAY<FLOAT32>[1, CAST(2 AS FLOAT32)][0], ARRAY<FLOAT64>[1], ARRAY<STRUCT<a INT64, b STRING>>[(1, 'x'), NULL], ARRAY<STRUCT<FLOAT32>>[STRUCT(1.5)], ARRAY<DATE>['2024-01-01']`, "[1.100000023841858] 1 [1] [{a:1 b:x} NULL] [{:1.5}] [2024-01-01]"},
		{`SELECT STRUCT<INT64, STRING>(1, 'a'), STRUCT<a FLOAT32, b ARRAY<INT64>>(1.5, []).b, STRUCT<x DATE>('2024-01-01').x, STRUCT<a STRUCT<b INT64>>(STRUCT(1)).a.b, STRUCT<a INT64>(NULL)`, "{:1 :a} [] 2024-01-01 1 {a:NULL}"},
		{`SELECT CAST((1, '2') AS STRUCT<a STRING, b INT64>), CAST([(1, 2)] AS ARRAY<STRUCT<x FLOAT64, y STRING>>), SAFE_CAST(('x', 1) AS STRUCT<INT64, INT64>), CAST(NULL AS STRUCT<a INT64>), CAST([1, NULL] AS ARRAY<STRING>)`, "{a:1 b:2} [{x:1 y:2}] NULL NULL [1 NULL]"},
		{`SELECT x FROM (SELECT STRUCT(1 AS a) AS x UNION ALL SELECT STRUCT(0.5 AS a)) ORDER BY x.a`, "{a:0.5}\n{a:1}"},
		{`SELECT x.a / 2, COUNT(*) FROM (SELECT STRUCT(1 AS a) AS x UNION ALL SELECT STRUCT(NUMERIC '1' AS a)) GROUP BY x`, "0.5 2"},
		{`SELECT COUNT(*) FROM UNNEST(ARRAY<STRUCT<k BYTES, v INT64>>[('a1', 1), ('c1', 2)]) AS u`, "2"},
	} {
		got, err := db.run(q.sql)
		if err != nil || got != q.want {
			t.Errorf("%s\ngot  %q, %v\nwant %q", q.sql, got, err, q.want)
		}
	}
	for _, q := range []struct{ sql, want string }{
		{`SELECT STRUCT(1) < STRUCT(2)`, "values of type STRUCT<INT64> have no order; they are compared with = and !="},
		{`SELECT [1] BETWEEN [1] AND [2]`, "values of type ARRAY<INT64> have no order"},
		{`SELECT f = f FROM t`, "values of type MAP<BYTES, BYTES> cannot be compared"},
		{`SELECT [1] = ['a']`, "ARRAY<INT64> = ARRAY<STRING> cannot be compared; CAST"},
		{`SELECT (1, 2) = (1, 2, 3)`, "cannot be compared"},
		{`SELECT [STRUCT(1), (1, 2)]`, "the elements of an array are of types STRUCT<INT64> and STRUCT<INT64, INT64>"},
		{`SELECT STRUCT<INT64>(1, 2)`, "STRUCT<INT64> has 1 fields, and 2 are given"},
		{`SELECT STRUCT<INT64>('a')`, "a field is of type STRING; it must be INT64"},
		{`SELECT STRUCT<a INT64(1)`, "Syntax error"},
		{`SELECT CAST((1, 2) AS STRUCT<INT64>)`, "Invalid cast from STRUCT<INT64, INT64> to STRUCT<INT64>"},
		{`SELECT ARRAY<FLOAT32>['a']`, "an element is of type STRING; it must be FLOAT32"},
		{`SELECT MAX([1])`, "MAX cannot compare values of type ARRAY<INT64>"},
		{`SELECT 1 AS a ORDER BY [1]`, "rows cannot be ordered by ARRAY<INT64>"},
		{`SELECT ARRAY<STRUCT<a ARRAY<ARRAY<INT64>>>>[]`, "an array cannot have elements of type"},
	} {
		if _, err := db.run(q.sql); err == nil || !strings.Contains(err.Error(), q.want) {
			t.Errorf("%s: %v; want %s", q.sql, err, q.want)
		}
	}
}

// What GoogleSQL allows in its grammar: a comma after the last column, functions without
// brackets, and a DATE of a text with a time.
func TestLenientGrammar(t *testing.T) {
	db := openPlanes(t)
	for _, q := range []struct{ sql, want string }{
		{`SELECT 1, 2, FROM UNNEST([1])`, "1 2"},
		{`SELECT 1,`, "1"},
		{`SELECT _key, FROM t WHERE _key < 'a2'`, "a1"},
		{`SELECT _key, COUNT(*), FROM t WHERE _key < 'a2' GROUP BY _key ORDER BY _key`, "a1 1"},
		{`FROM UNNEST([1]) AS x |> SELECT x, |> EXTEND 2 AS y, |> SET x = 5, |> RENAME y AS z, |> AGGREGATE SUM(z) AS s, GROUP BY x, |> DROP x,`, "2"},
		{`SELECT DISTINCT 1, LIMIT 1`, "1"},
		{`SELECT CURRENT_DATE = CURRENT_DATE(), current_timestamp = CURRENT_TIMESTAMP(), Current_Date > '2024-01-01'`, "true true true"},
		{`FROM UNNEST([1]) AS x |> SELECT x AS current_date |> SELECT current_date`, "1"},
		{`SELECT COUNT(*) FROM t WHERE CURRENT_DATE > '2024-01-01'`, "6"},
		{`SELECT DATE('2020-09-01 12:34:56.789-08'), DATE('2020-09-01 23:34:56-08'), DATE('2020-09-01'), DATE('2020-09-01T00:00:00Z'), DATE(CAST(NULL AS STRING))`, "2020-09-01 2020-09-02 2020-09-01 2020-09-01 NULL"},
		{`SELECT STARTS_WITH(NULL, 'a'), STARTS_WITH('a', NULL), ENDS_WITH(NULL, NULL), STARTS_WITH(NULL, b'a'), NULL LIKE 'a', 'a' LIKE NULL, NULL LIKE NULL, NULL NOT LIKE b'a'`, "NULL NULL NULL NULL NULL NULL NULL NULL"},
		{`SELECT -NULL, ~NULL, NULL + 1, NULL + INTERVAL 1 DAY, NULL || NULL, ARRAY_FIRST(NULL), ARRAY_CONCAT(NULL), ARRAY_INCLUDES_ANY(NULL, NULL), MAP_VALUES(NULL), MAP_ENTRIES(NULL), STRING_AGG(NULL), HLL_COUNT.INIT(NULL)`, strings.TrimSpace(strings.Repeat("NULL ", 12))},
		{`SELECT UPPER('straße ŉ ﬁ'), LOWER('ΣΑΣ İ'), UPPER('abc'), LOWER(UPPER('ß'))`, "STRASSE ʼN FI σας i̇ ABC ss"},
	} {
		got, err := db.run(q.sql)
		if err != nil || got != q.want {
			t.Errorf("%s\ngot  %q, %v\nwant %q", q.sql, got, err, q.want)
		}
	}
	for _, q := range []struct{ sql, want string }{
		{`SELECT CURRENT_TIME`, "there is no TIME"},
		{`SELECT current_datetime(1, 2)`, "CURRENT_DATETIME takes no argument but a time zone"},
		{`SELECT current_dte`, "Unrecognized name: current_dte"},
		{`SELECT , FROM t`, "expected an expression"},
		{`SELECT 1,, 2`, "expected an expression"},
		{`SELECT ABS(1,)`, "expected an expression"},
		{`SELECT DATE('2020-13-01 00:00:00')`, "cannot be cast to"},
	} {
		if _, err := db.run(q.sql); err == nil || !strings.Contains(err.Error(), q.want) {
			t.Errorf("%s: %v; want %s", q.sql, err, q.want)
		}
	}
}
