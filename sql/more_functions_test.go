package sql_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/sql"
)

func TestMoreFunctions(t *testing.T) {
	db := openPlanes(t)
	for _, q := range []struct{ sql, want string }{
		{`SELECT EDIT_DISTANCE('kitten', 'sitting'), EDIT_DISTANCE('', 'abc'), EDIT_DISTANCE('é€', 'e€'), EDIT_DISTANCE(b'\xc3\xa9', b'e'), EDIT_DISTANCE('a', NULL), EDIT_DISTANCE('same', 'same')`, "3 3 1 2 NULL 0"},
		{`SELECT EDIT_DISTANCE('abc', '', 2), EDIT_DISTANCE('abc', '', max_distance => 4), EDIT_DISTANCE('abcdef', 'azcyex', max_distance => 2), EDIT_DISTANCE('abc', 'abc', 0), EDIT_DISTANCE('ab', 'ba', 1), EDIT_DISTANCE('abc', 'b', NULL)`, "2 3 2 0 1 NULL"},
		{`SELECT CONTAINS_SUBSTR('the BLUE house', 'Blue h'), CONTAINS_SUBSTR('\u2168', 'IX'), CONTAINS_SUBSTR((1, NULL, 'x'), 'X'), CONTAINS_SUBSTR((1, NULL, 'x'), 'y'), CONTAINS_SUBSTR([12, 34], '23'), CONTAINS_SUBSTR(NULL, 'a'), CONTAINS_SUBSTR(DATE '2024-02-29', '-02-')`, "true true true NULL false NULL true"},
		{`SELECT RANGE_BUCKET(20, [0, 10, 20, 20, 40]), RANGE_BUCKET(25, [0, 10, 20, 30]), RANGE_BUCKET(-1, [0]), RANGE_BUCKET(80, [0, 40]), RANGE_BUCKET(1, []), RANGE_BUCKET(NULL, [1]), RANGE_BUCKET('b', ['a', 'b', 'c']), RANGE_BUCKET(1.2, [1, 1.2]), RANGE_BUCKET(2, CAST(NULL AS ARRAY<INT64>)), RANGE_BUCKET(CAST('nan' AS FLOAT64), [1.0])`, "4 3 0 2 0 NULL 2 2 NULL NULL"},
		{`SELECT DATE_BUCKET(DATE '1949-12-29', INTERVAL 2 DAY), DATE_BUCKET('1950-01-02', INTERVAL 2 DAY), DATE_BUCKET('2000-12-20', INTERVAL 7 DAY, DATE '2000-12-24'), DATE_BUCKET('2024-05-17', INTERVAL 1 WEEK), DATE_BUCKET(NULL, INTERVAL 1 DAY)`, "1949-12-28 1950-01-01 2000-12-17 2024-05-12 NULL"},
		{`SELECT DATE_BUCKET(DATE '2024-05-17', INTERVAL 3 MONTH), DATE_BUCKET('2024-02-29', INTERVAL 1 MONTH, DATE '2023-01-31'), DATE_BUCKET('2024-02-28', INTERVAL 1 MONTH, DATE '2023-01-31'), DATE_BUCKET('2019-06-01', INTERVAL 2 YEAR, DATE '2020-01-01'), DATE_BUCKET('2024-01-14', INTERVAL 1 QUARTER, DATE '2023-01-15')`, "2024-04-01 2024-02-29 2024-01-31 2018-01-01 2023-10-15"},
		{`SELECT STRING(TIMESTAMP_BUCKET(TIMESTAMP '1949-12-30 13:00:00', INTERVAL 12 HOUR)), STRING(TIMESTAMP_BUCKET(TIMESTAMP '2024-02-03 04:05:06.789', INTERVAL 15 MINUTE)), STRING(TIMESTAMP_BUCKET(TIMESTAMP '2024-02-03 04:05:06', INTERVAL 1 DAY, TIMESTAMP '2030-01-01 05:00:00'))`, "1949-12-30 12:00:00+00 2024-02-03 04:00:00+00 2024-02-02 05:00:00+00"},
		{`SELECT JSON_EXTRACT_SCALAR('{"a.b": {"c": 5, "it\'s": "x"}}', "$['a.b'].c"), JSON_EXTRACT_SCALAR('{"a.b": {"it\'s": "x"}}', "$['a.b']['it\\'s']"), JSON_EXTRACT('{"a": [1, {"b": 2}]}', '$.a[1]'), JSON_EXTRACT('null'), JSON_EXTRACT_SCALAR('{"a": [1]}', '$.a'), JSON_EXTRACT_SCALAR('[["x"]]', '$[0][0]')`, `5 x {"b":2} NULL NULL x`},
		{`SELECT JSON_EXTRACT_ARRAY('{"a": [1, "b"]}', '$.a'), JSON_EXTRACT_STRING_ARRAY('[1, "b", null]'), JSON_EXTRACT_STRING_ARRAY('[1, {}]'), JSON_EXTRACT_ARRAY('1')`, `[1 "b"] [1 b NULL] NULL NULL`},
		{`SELECT (1, 'a') = (1, 'a'), (1, 2) IN ((1, 2), (3, 4)), (1, NULL) IN ((1, 2)), STRUCT(1, 2) != (1, 3), STRUCT<x INT64, y STRING>(1, 'a').y, STRUCT<x FLOAT64>(1).x`, "true true NULL true a 1"},
		{`SELECT SAFE.EDIT_DISTANCE('a', 'b', max_distance => -1), SAFE.RANGE_BUCKET(1, [2, 1]), SAFE.DATE_BUCKET(DATE '2024-01-01', INTERVAL 0 DAY), SAFE.JSON_EXTRACT('1', 'x')`, "NULL NULL NULL NULL"},
	} {
		got, err := db.run(q.sql)
		if err != nil || got != q.want {
			t.Errorf("%s\ngot  %q, %v\nwant %q", q.sql, got, err, q.want)
		}
	}
	got, err := db.run(`SELECT GENERATE_UUID() FROM UNNEST([1, 2])`)
	if err != nil || !regexp.MustCompile(`^([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\s?){2}$`).MatchString(got) || got[14] != '4' || got[:36] == got[37:] {
		t.Errorf("UUIDs: %q, %v", got, err)
	}
}

func TestErrorsOfMoreFunctions(t *testing.T) {
	db := openPlanes(t)
	for _, q := range []struct{ sql, want string }{
		{`SELECT EDIT_DISTANCE('abc', '', -3)`, "the max_distance of EDIT_DISTANCE must not be negative [at 1:8]"},
		{`SELECT EDIT_DISTANCE(REPEAT('a', 30000), REPEAT('b', 30000))`, "EDIT_DISTANCE of texts of 30000 and 30000 takes more than 268435456 steps; max_distance makes them fewer"},
		{`SELECT EDIT_DISTANCE('a', b'a', 1.5)`, "EDIT_DISTANCE does not take"},
		{`SELECT CONTAINS_SUBSTR(b'a', 'a')`, "CONTAINS_SUBSTR does not search BYTES; CAST(… AS STRING) makes a text of it [at 1:24]"},
		{`SELECT CONTAINS_SUBSTR(f, 'a') FROM t`, "CONTAINS_SUBSTR does not search MAP<BYTES, BYTES>"},
		{`SELECT RANGE_BUCKET(1, [2, 1])`, "the bounds of RANGE_BUCKET must be sorted, without NULL and NaN [at 1:24]"},
		{`SELECT RANGE_BUCKET(80, [NULL, 10])`, "must be sorted, without NULL"},
		{`SELECT RANGE_BUCKET('a', [1])`, "cannot be among"},
		{`SELECT DATE_BUCKET(DATE '2024-01-01', INTERVAL 0 DAY)`, "the width of a bucket must be positive"},
		{`SELECT DATE_BUCKET(DATE '2024-01-01', INTERVAL 1 HOUR)`, "HOUR is not a part of the width of a DATE_BUCKET"},
		{`SELECT DATE_BUCKET(DATE '0001-01-01', INTERVAL 3660000 DAY)`, "years go from 1 to 9999"},
		{`SELECT TIMESTAMP_BUCKET(TIMESTAMP_SECONDS(0), INTERVAL 1 MONTH)`, "MONTH is not a part of a TIMESTAMP"},
		{`SELECT JSON_EXTRACT('{}', "$['a")`, "a name in ['…'] does not end"},
		{`SELECT JSON_EXTRACT('{}', '$."a b"')`, "is not a path of JSON_EXTRACT"},

		{`SELECT GENERATE_UUID(1)`, "GENERATE_UUID takes no arguments"},
	} {
		_, err := db.run(q.sql)
		if e, ok := errors.AsType[*sql.Error](err); !ok || !strings.Contains(e.Error(), q.want) {
			t.Errorf("%s: %v; want %s", q.sql, err, q.want)
		}
	}
}

// Long texts take no more than the steps that their largest distance allows.
func TestEditDistanceIsBounded(t *testing.T) {
	db := openPlanes(t)
	got, err := db.run(`SELECT EDIT_DISTANCE(REPEAT('ab', 500000), CONCAT('x', REPEAT('ab', 500000)), max_distance => 10), EDIT_DISTANCE(REPEAT('ab', 100000), REPEAT('ba', 100000), max_distance => 5)`)
	if got != "1 2" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}
