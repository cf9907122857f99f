package sql_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/sql"
)

// Values that are not from rows: arrays, structs, dates, and queries without a table.
func TestValuesOfEveryType(t *testing.T) {
	db := openPlanes(t)
	for _, q := range []struct{ sql, want string }{
		{`SELECT 1, 'a' AS s`, "1 a"},
		{`SELECT COUNT(*)`, "1"},
		{`SELECT 1 LIMIT 0`, ""},
		{`SELECT 1 AS a ORDER BY a LIMIT 1 OFFSET 1`, ""},
		{`SELECT DATE(2024, 06, 01), DATE '2024-2-29', DATE('0001-01-01'), DATE "9999-12-31"`, "2024-06-01 2024-02-29 0001-01-01 9999-12-31"},
		{`SELECT CAST(DATE '1969-12-31' AS TIMESTAMP), DATE(TIMESTAMP '1969-12-31 23:59:59.999999'), CAST(DATE '1970-01-02' AS STRING)`, "-86400000000 1969-12-31 1970-01-02"},
		{`SELECT DATE '2024-01-31' < DATE '2024-02-01', DATE '2024-01-31' = DATE(2024, 1, 31), CAST(NULL AS DATE), DATE(NULL, 1, 1)`, "true true NULL NULL"},
		{`SELECT TIMESTAMP_FROM_UNIX_MILLIS(1000), TIMESTAMP_SECONDS(-1), TIMESTAMP_FROM_UNIX_MICROS(7)`, "1000000 -1000000 7"},
		{`SELECT UNIX_MILLIS(TIMESTAMP_FROM_UNIX_MICROS(-1)), UNIX_SECONDS(TIMESTAMP '1970-01-01 00:01:00'), UNIX_MICROS(TIMESTAMP_MILLIS(2))`, "-1 60 2000"},
		{`SELECT [1, 2, 3], ['a', NULL], [], [1, 2.5], [b'a', 'b'], ['b', b'a'], ARRAY[TRUE]`, "[1 2 3] [a NULL] [] [1 2.5] [a b] [b a] [true]"},
		{`SELECT [1, 2][0], [1, 2][OFFSET(1)], [1, 2][ORDINAL(2)], [1][SAFE_OFFSET(1)], [1][SAFE_ORDINAL(0)], ARRAY_LENGTH([1, NULL]), ARRAY_LENGTH(NULL)`, "1 2 2 NULL NULL 2 NULL"},
		{`SELECT STRUCT(1 AS a, 'foo' AS b), STRUCT(1 AS a, [2] AS b).B[0], [STRUCT(1 AS x)][0].x`, "{a:1 b:foo} 2 1"},
		{`SELECT COALESCE(NULL, 2, 3), IFNULL(NULL, 'x'), COALESCE(1, 2.5), COALESCE(NULL, [1])[0], COALESCE(NULL)`, "2 x 1 1 NULL"},
		{`SELECT 1 IN UNNEST([1, 2]), 3 IN UNNEST([1, NULL]), 3 IN UNNEST([]), NULL IN UNNEST([1]), 3 NOT IN UNNEST([1.5]), b'a' IN UNNEST(['a'])`, "true NULL false NULL true true"},
		{`SELECT 1 IN UNNEST(IFNULL(NULL, [1])), TRUE IS TRUE, NULL IS TRUE, FALSE IS NOT FALSE, NULL IS NOT TRUE`, "true true false false true"},

		// An expression without a type of its own gets the type of the other operands.
		{`SELECT IFNULL([NULL][0], [1]), COALESCE(COALESCE(NULL), [1]), COALESCE(COALESCE(NULL), STRUCT(1 AS a))`, "[1] [1] {a:1}"},
		{`SELECT COALESCE(COALESCE(NULL), g) FROM t WHERE _key = 'a1'`, "{even=yes}"},
		{`SELECT _key FROM t WHERE _key = [NULL][TO_INT64(f['none'])]`, ""},

		{`SELECT _key FROM t WHERE _key IN UNNEST(['c1', 'a1', NULL, 'nope', 'c1'])`, "a1\nc1"},
		{`SELECT _key FROM t WHERE _key IN UNNEST([])`, ""},
		{`SELECT _key FROM t WHERE _key NOT IN UNNEST(['a1', 'b1', 'c1', b'\xff\xff'])`, "a2\nb2"},
		{`SELECT _key FROM t WHERE f['model'] IN UNNEST(['757', '760'])`, "a1\nb2"},
		{`SELECT _key FROM t WHERE n['i'] IN UNNEST([0, 2, 9])`, "b1\nc1"},
		{`SELECT _key FROM t WHERE n['i'] NOT IN UNNEST([])`, "a1\na2\nb1\nb2\nc1\n\xff\xff"}, // NULL is in no empty array
		{`SELECT _key FROM t WHERE (g['even'] = 'yes') IS NOT TRUE`, "a2\nb2\n\xff\xff"},
		{`SELECT IFNULL(g['even'], 'no') FROM t WHERE _key < 'b'`, "yes\nno"},
		{`SELECT _key FROM t WHERE IFNULL(g['even'], 'no') = 'no' AND _key < 'c'`, "a2\nb2"},
		{`SELECT MAP_KEYS(g), ARRAY_LENGTH(MAP_KEYS(f)) FROM t WHERE _key < 'b'`, "[even] 1\n[] 1"},
		{`SELECT [_key, f['model'], g['even']] FROM t WHERE _key = 'a2'`, "[a2 758 NULL]"},
		{`SELECT ARRAY_LENGTH(f['model']), f['model'][SAFE_OFFSET(5)].value FROM t(with_history => TRUE) WHERE _key = 'a1'`, "2 NULL"},
		{`SELECT f['model'] FROM t(with_history => TRUE, before_or_equal => TIMESTAMP_MILLIS(1)) WHERE _key = 'a1'`, "[{timestamp:1000 value:old}]"},
		{`SELECT p._key AS k, p.f['model'] FROM t AS p ORDER BY k DESC LIMIT 2`, "\xff\xff 762\nc1 761"},
		{`SELECT t._key FROM t(with_history => FALSE) WHERE t.n['i'] = 2`, "c1"},
	} {
		got, err := db.run(q.sql)
		if err != nil || got != q.want {
			t.Errorf("%s\ngot  %q, %v\nwant %q", q.sql, got, err, q.want)
		}
	}
}

// The casts of GoogleSQL, by its conversion rules:
// https://cloud.google.com/bigtable/docs/reference/sql/conversion_functions
func TestCasts(t *testing.T) {
	db := openPlanes(t)
	for _, c := range []struct{ from, to, want string }{
		{"-0.0", "STRING", "0"}, {"1.0", "STRING", "1"}, {"1e300", "STRING", "1e+300"}, {"CAST('-nan' AS FLOAT64)", "STRING", "nan"}, {"CAST('-INF' AS FLOAT64)", "STRING", "-inf"},
		{"'+nan'", "FLOAT64", "NaN"}, {"'--nan'", "FLOAT64", "NULL"}, {"'Infinity'", "FLOAT64", "+Inf"}, {"'.5'", "FLOAT64", "0.5"}, {"'5.'", "FLOAT64", "5"},
		{"'0x1p4'", "FLOAT64", "NULL"}, {"'1_0'", "FLOAT64", "NULL"}, {"'1.797693134862316e+308'", "FLOAT64", "+Inf"}, {"'-1e400'", "FLOAT64", "-Inf"}, {"''", "FLOAT64", "NULL"},
		{"'1.0000000000000003'", "FLOAT64", "1.0000000000000002"}, {"'\\t1 '", "FLOAT64", "1"}, {"'\u00a01'", "FLOAT64", "NULL"},
		{"1e300", "FLOAT32", "NULL"}, {"'1e39'", "FLOAT32", "+Inf"}, {"'-3.4028236e+38'", "FLOAT32", "-Inf"}, {"'-nan'", "FLOAT32", "NaN"}, {"'1.123456789123456e+25'", "FLOAT32", "1.1234567508822116e+25"},
		{"CAST('0.1' AS FLOAT32)", "FLOAT64", "0.10000000149011612"}, {"CAST(0.123 AS FLOAT32)", "STRING", "0.123"}, {"CAST(-123 AS FLOAT32)", "STRING", "-123"}, {"CAST(1.234e-25 AS FLOAT32)", "STRING", "1.234e-25"},
		{"CAST(3.4028235e38 AS FLOAT32)", "STRING", "3.4028235e+38"}, {"CAST(1.1754944e-38 AS FLOAT32)", "STRING", "1.1754944e-38"}, {"CAST('1e39' AS FLOAT32)", "STRING", "inf"}, {"-CAST(0.0 AS FLOAT32)", "STRING", "0"},
		{"CAST(2.5 AS FLOAT32)", "INT64", "3"}, {"CAST('inf' AS FLOAT32)", "INT64", "NULL"},
		{"1.1234567891234e25", "STRING", "1.1234567891234e+25"}, {"1.7976931348623157e308", "STRING", "1.7976931348623157e+308"}, {"2.2250738585072014e-308", "STRING", "2.2250738585072014e-308"}, {"123456789012345678.0", "STRING", "1.2345678901234568e+17"}, {"CAST('inf' AS FLOAT64)", "FLOAT32", "+Inf"}, {"0.5", "FLOAT32", "0.5"},
		{"'0x1F'", "INT64", "31"}, {"'-0x1f'", "INT64", "-31"}, {"'0x1_f'", "INT64", "NULL"}, {"'1_000'", "INT64", "NULL"}, {"'+7'", "INT64", "7"}, {"'1e5'", "INT64", "NULL"},
		{"'9223372036854775808'", "INT64", "NULL"}, {"2.5", "INT64", "3"}, {"-2.5", "INT64", "-3"}, {"1e19", "INT64", "NULL"}, {"TRUE", "INT64", "1"},
		{"'TRUE'", "BOOL", "true"}, {"'yes'", "BOOL", "NULL"}, {"' true'", "BOOL", "NULL"}, {"-1", "BOOL", "true"}, {"0", "BOOL", "false"},
		{"b'\xff'", "STRING", "NULL"}, {"b'ab'", "STRING", "ab"}, {"'ab'", "BYTES", "ab"},
		{"'2024-2-9'", "DATE", "2024-02-09"}, {"'2024-02-30'", "DATE", "NULL"}, {"TIMESTAMP '2024-02-09 23:59:59'", "DATE", "2024-02-09"},
		{"TIMESTAMP '2024-01-01 00:00:00.5'", "STRING", "2024-01-01 00:00:00.500+00"}, {"TIMESTAMP '2024-01-01 00:00:00.00001'", "STRING", "2024-01-01 00:00:00.000010+00"},
		{"TIMESTAMP '2024-01-01'", "STRING", "2024-01-01 00:00:00+00"}, {"TIMESTAMP '1969-12-31 23:59:59.999'", "STRING", "1969-12-31 23:59:59.999+00"},
	} {
		if got, err := db.run("SELECT SAFE_CAST(" + c.from + " AS " + c.to + ")"); err != nil || got != c.want {
			t.Errorf("%s as %s: %q, %v, want %q", c.from, c.to, got, err, c.want)
		}
	}
	for text, want := range map[string]string{
		"2024-6-1 1:2:3": "2024-06-01 01:02:03+00", "2024-06-01t01:02:03z": "2024-06-01 01:02:03+00", "2024-06-01 01:02:03.25 UTC": "2024-06-01 01:02:03.250+00",
		"2024-06-01 01:02:03+8": "2024-05-31 17:02:03+00", "2024-06-01T01:02:03-08:30": "2024-06-01 09:32:03+00", "2024-06-01+02": "2024-05-31 22:00:00+00",
		"2024-06-01 24:00:00": "NULL", "2024-06-01 01:02": "NULL", "2024-06-01 01:02:03 +08": "NULL", "2024-06-01 01:02:03+15": "NULL", "2024-06-31": "NULL", "24-06-01": "NULL",
	} {
		if got, err := db.run("SELECT CAST(SAFE_CAST('" + text + "' AS TIMESTAMP) AS STRING)"); err != nil || got != want {
			t.Errorf("%s as a timestamp: %q, %v, want %q", text, got, err, want)
		}
	}
}

func TestErrorsOfTypes(t *testing.T) {
	db := openPlanes(t)
	for _, q := range []struct{ sql, want string }{
		{`SELECT *`, `SELECT * must have a FROM clause [at 1:8]`},
		{`SELECT SECONDS(5)`, `Function not found: SECONDS`},
		{`SELECT TIMESTAMP_FROM_UNIX_TIMESTAMP_MILLIS(5)`, `Function not found: TIMESTAMP_FROM_UNIX_TIMESTAMP_MILLIS`},
		{`SELECT TIMESTAMP '0000-01-01'`, `the year 0 is not a TIMESTAMP: years go from 1 to 9999`},
		{`SELECT TIMESTAMP '9999-12-31 23:59:59-10:00'`, `the year 10000 is not a TIMESTAMP`},
		// Each level doubles the number of comparisons.
		{`SELECT 1` + strings.Repeat(", 1", 9_000) + strings.Repeat(` |> SELECT *`, 120), `the query is too large`},
		{`SELECT _key`, `Unrecognized name: _key; the query has no FROM clause [at 1:8]`},
		{`SELECT 1 WHERE TRUE`, `expected FROM but got "WHERE"`},
		{`SELECT DATE(2023, 2, 29)`, `2023-2-29 is not a DATE [at 1:8]`},
		{`SELECT DATE(9999999999, 1, 1)`, `is not a DATE`},
		{`SELECT CAST('x' AS DATE)`, `"x" cannot be cast to DATE`},
		{`SELECT 1 FROM t(as_of => 'x')`, `"x" cannot be cast to TIMESTAMP`},
		{`SELECT DATE '10000-01-01'`, `cannot be cast to DATE`},
		{`SELECT TIMESTAMP_FROM_UNIX_SECONDS(9223372036854775807)`, `is not a TIMESTAMP`},
		{`SELECT [1, 'a']`, `the elements of an array are of types INT64 and STRING`},
		{`SELECT [[1]]`, `an array cannot have elements of type ARRAY<INT64>`},
		{`SELECT [1][1]`, `index 1 is out of range: the array has 1 elements`},
		{`SELECT [1][ORDINAL(0)]`, `index 0 is out of range`},
		{`SELECT STRUCT(1 AS a).b`, `STRUCT<a INT64> has no field "b"`},
		{`SELECT 1 IN UNNEST(2)`, `UNNEST takes an array, not INT64`},
		{`SELECT 1 IN UNNEST(['a'])`, `INT64 cannot be among ARRAY<STRING>`},
		{`SELECT IFNULL(1, 'a')`, `the arguments of IFNULL are of types INT64 and STRING`},
		{`SELECT IFNULL(1)`, `IFNULL takes other arguments`},
		{`SELECT MAP_KEYS(_key) FROM t`, `the argument of MAP_KEYS is BYTES`},
		{`SELECT x._key FROM t AS p`, `Unrecognized name: x`},
		{`SELECT _key FROM t ORDER BY k`, `Unrecognized name: k`},
		{`SELECT ` + strings.Repeat("[", 200), `nested too deeply`},
	} {
		_, err := db.run(q.sql)
		if e, ok := errors.AsType[*sql.Error](err); !ok || !strings.Contains(e.Error(), q.want) {
			t.Errorf("%.80s: %v; want %s", q.sql, err, q.want)
		}
	}
}

// A FLOAT32 has the text of a FLOAT32, and not that of the FLOAT64 of the same value.
func TestTextOfFloat32(t *testing.T) {
	db := openPlanes(t)
	const tenth = "CAST(0.1 AS FLOAT32)"
	for q, want := range map[string]string{
		"FORMAT('%t %T', " + tenth + ", " + tenth + ")":                                 "0.1 0.1",
		"FORMAT('%t', [" + tenth + "])":                                                 "[0.1]",
		"FORMAT('%T', CAST('-inf' AS FLOAT32))":                                         `CAST("-inf" AS FLOAT32)`,
		"FORMAT('%.3f %t', " + tenth + ", CAST(2 AS FLOAT32))":                          "0.100 2.0",
		"FORMAT('%f %+e %g', -0.0, -0.0, -0.0)":                                         "0.000000 +0.000000e+00 0",
		"TO_JSON_STRING(STRUCT(" + tenth + " AS a, 0.1 AS b))":                          `{"a":0.1,"b":0.1}`,
		"TO_JSON_STRING([CAST('nan' AS FLOAT32), CAST(3.4028235e38 AS FLOAT32)])":       `["NaN",3.4028235e+38]`,
		"CAST(IF(TRUE, " + tenth + ", 0.5) AS STRING)":                                  "0.10000000149011612", // both are FLOAT64
		"CAST(MAX(x) AS STRING) FROM UNNEST([" + tenth + ", CAST('nan' AS FLOAT32)]) x": "nan",
		"CAST(MIN(x) AS STRING) FROM UNNEST([" + tenth + ", CAST(2 AS FLOAT32)]) x":     "0.1",
		"CAST(-" + tenth + " AS STRING)":                                                "-0.1",
		"CAST(" + tenth + " + " + tenth + " AS STRING)":                                 "0.20000000298023224",
		"CAST(ABS(-" + tenth + ") AS STRING)":                                           "0.1",
		"CAST(ROUND(" + tenth + " * 10) AS STRING)":                                     "1",
		"CAST(SQRT(" + tenth + ") AS STRING)":                                           "0.31622776837291838",
		"CAST(FLOOR(CAST(1e10 AS FLOAT32)) AS STRING)":                                  "1e+10",
		tenth + " = 0.1": "false",
		tenth + " IN UNNEST([CAST('0.1' AS FLOAT32)])":                                                         "true",
		"CAST(x AS STRING), COUNT(*) FROM UNNEST([" + tenth + ", " + tenth + ", 2.0]) x GROUP BY x ORDER BY x": "0.10000000149011612 2\n2 1",
	} {
		if got, err := db.run("SELECT " + q); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", q, got, err, want)
		}
	}
}

// A family without a type may have cells of any type. In SQL they are BYTES, the same
// as in reads without SQL.
func TestBytesOfCellsOfEveryType(t *testing.T) {
	db := openPlanes(t)
	m := write.NewMutation()
	for qualifier, v := range map[string]cells.Value{
		"bytes": cells.Bytes([]byte("\x00\xff")), "string": cells.String("é"), "bool": cells.Bool(true), "byte": cells.Byte(200),
		"i32": cells.I32(-2), "i64": cells.I64(-3), "f32": cells.F32(1.5), "f64": cells.F64(-1.5), "empty": cells.Bytes(nil),
	} {
		m.SetAt("f", qualifier, 1, v)
	}
	if err := db.db.Table("t").Apply(context.Background(), "all", m); err != nil {
		t.Fatal(err)
	}
	for qualifier, want := range map[string]string{
		"bytes": "\x00\xff", "string": "é", "bool": "\x01", "byte": "\x00\x00\x00\x00\x00\x00\x00\xc8", "empty": "",
		"i32": "\xff\xff\xff\xff\xff\xff\xff\xfe", "i64": "\xff\xff\xff\xff\xff\xff\xff\xfd", "f32": "\x3f\xc0\x00\x00", "f64": "\xbf\xf8\x00\x00\x00\x00\x00\x00",
	} {
		got, err := db.run("SELECT f['" + qualifier + "'] FROM t WHERE _key = 'all'")
		if err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", qualifier, got, err, want)
		}
	}
}
