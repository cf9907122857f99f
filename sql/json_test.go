package sql_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/sql"
)

// What GoogleSQL says of JSON.
func TestJSON(t *testing.T) {
	db := openPlanes(t)
	for _, q := range []struct{ sql, want string }{
		// In one form: names are sorted and there once, the first counts.
		{`SELECT JSON '{"b" : [ 1 , {"x" : null} ], "a": true, "b": 2}', JSON ' "a\\u00e9\\/" ', JSON 'null' IS NULL, CAST(NULL AS JSON)`, `{"a":true,"b":[1,{"x":null}]} "aé/" false NULL`},
		{`SELECT JSON '{"b":{"d":1,"c":2,"d":3},"a":{"b":{}},"":[]}', JSON '{"a":{"z":1},"a":{"y":1}}', JSON '"\\ud83d\\ude00\\u0001\\n\\u2028"'`, "{\"\":[],\"a\":{\"b\":{}},\"b\":{\"c\":2,\"d\":1}} {\"a\":{\"z\":1}} \"😀\\u0001\\n\u2028\""},
		// Numbers are integers of 64 bits or FLOAT64, and never change.
		{`SELECT JSON '9223372036854775807', JSON '-9223372036854775808', JSON '18446744073709551615', JSON '9007199254740993', JSON '-0', JSON '-0.0'`, "9223372036854775807 -9223372036854775808 18446744073709551615 9007199254740993 0 -0.0"},
		{`SELECT JSON '[1.0, 1e2, 0.1, 1.50, 1e15, 123456789012345.5, 0.0001, 1e-5, 1E+100, 5e-324, 100000000000000000000]'`, "[1.0,100.0,0.1,1.5,1e+15,123456789012345.5,0.0001,1e-05,1e+100,5e-324,1e+20]"},
		{`SELECT PARSE_JSON('2.2412421353246235436', wide_number_mode => 'round'), PARSE_JSON('922337203685477580701', 'round'), PARSE_JSON('[1e-400]', wide_number_mode => 'round'), PARSE_JSON('2.5', wide_number_mode => 'exact'), PARSE_JSON(NULL), SAFE.PARSE_JSON('{')`, "2.2412421353246237 9.223372036854776e+20 [0.0] 2.5 NULL NULL"},

		// Members and elements.
		{`SELECT j.a, j.b[1].c, j['b'][0], j.b[CAST(1 AS INT64)]['c'].d, j.none, j.a.none, j[0], j.b['x'], j.b[-1], j.b[9], j[CONCAT('', 'a')] FROM (SELECT JSON '{"a": 1, "b": ["x", {"c": null}]}' AS j)`, `1 null "x" NULL NULL NULL NULL NULL NULL NULL 1`},
		{"SELECT j.`a b`.`c\"d`, j['a b']['c\"d'], j.A, j[NULL], j[CAST(NULL AS STRING)] FROM (SELECT JSON '{\"a b\": {\"c\\\\\"d\": 2}}' AS j)", "2 2 NULL NULL NULL"},
		{`SELECT (JSON '{"": 1}')[''], (JSON 'null').a, (JSON 'null')[0], CAST(NULL AS JSON).a`, "1 NULL NULL NULL"},
		{`SELECT JSON_QUERY(j, '$.a[1]."b.c"'), JSON_VALUE(j, '$.a[1]."b.c"[0]'), JSON_EXTRACT(j, "$.a[1]['b.c']"), JSON_EXTRACT_SCALAR(j, "$.a[1]['b.c'][1]"), JSON_QUERY(j, '$.n'), JSON_VALUE(j, '$.n'), JSON_VALUE(j), JSON_QUERY(j, '$.z') FROM (SELECT JSON '{"a": [1, {"b.c": [10, "x"]}], "n": null}' AS j)`, `[10,"x"] 10 [10,"x"] x null NULL NULL NULL`},
		{`SELECT JSON_QUERY_ARRAY(JSON '[1, {"c": "foo"}, null]'), JSON_VALUE_ARRAY(JSON '[1, "foo", null, 1.0]'), JSON_EXTRACT_ARRAY(JSON '{"a": [[1]]}', '$.a'), JSON_EXTRACT_STRING_ARRAY(JSON '[true]'), JSON_VALUE_ARRAY(JSON '[[1]]'), JSON_QUERY_ARRAY(JSON 'null')`, `[1 {"c":"foo"} null] [1 foo NULL 1.0] [[1]] [true] NULL NULL`},
		{`SELECT JSON_TYPE(j) FROM UNNEST(JSON_QUERY_ARRAY(JSON '["a", 1, 1.5, null, {}, [], false]')) AS j`, "string\nnumber\nnumber\nnull\nobject\narray\nboolean"},

		// Into SQL.
		{`SELECT BOOL(JSON 'true'), INT64(JSON '-1'), INT64(JSON '10.0'), INT64(JSON '1e3'), FLOAT64(JSON '9.8'), FLOAT64(JSON '18446744073709551615'), FLOAT32(JSON '0.1'), STRING(JSON '"a\\n"'), INT64(NULL)`, "true -1 10 1000 9.8 1.8446744073709552e+19 0.10000000149011612 a\n NULL"},
		{`SELECT BOOL_ARRAY(JSON '[true]'), INT64_ARRAY(JSON '[1, 2.0]'), FLOAT64_ARRAY(JSON '[1, 2.5]', wide_number_mode => 'exact'), FLOAT32_ARRAY(JSON '[]'), STRING_ARRAY(JSON '["a"]'), SAFE.INT64(JSON '1.5'), SAFE.STRING(JSON '1'), SAFE.FLOAT64(JSON '9007199254740993', wide_number_mode => 'exact')`, "[true] [1 2] [1 2.5] [] [a] NULL NULL NULL"},
		{`SELECT LAX_BOOL(JSON '"TRUE"'), LAX_BOOL(JSON '"true "'), LAX_BOOL(JSON '-0.0'), LAX_BOOL(JSON '-1.1'), LAX_BOOL(JSON 'null'), LAX_BOOL(JSON '18446744073709551615')`, "true NULL false true NULL true"},
		{`SELECT LAX_INT64(JSON '3.5'), LAX_INT64(JSON '1e100'), LAX_INT64(JSON 'true'), LAX_INT64(JSON '" +1.5 "'), LAX_INT64(JSON '"1.1e2"'), LAX_INT64(JSON '"-9223372036854775808.4"'), LAX_INT64(JSON '"9223372036854775807.5"'), LAX_INT64(JSON '"0.4999999999999999999999"'), LAX_INT64(JSON '"-0.5"'), LAX_INT64(JSON '"9e18"'), LAX_INT64(JSON '"1e1000000000000000000000"'), LAX_INT64(JSON '"0x10"'), LAX_INT64(JSON '18446744073709551615')`, "4 NULL 1 2 110 -9223372036854775808 NULL 0 -1 9000000000000000000 NULL NULL NULL"},
		{`SELECT LAX_FLOAT64(JSON '9007199254740993'), LAX_FLOAT64(JSON '"-InfiNiTY"'), LAX_FLOAT64(JSON 'true'), LAX_FLOAT64(JSON '"foo"'), LAX_FLOAT32(JSON '1e300'), LAX_STRING(JSON '10.0'), LAX_STRING(JSON '1e100'), LAX_STRING(JSON '18446744073709551615'), LAX_STRING(JSON 'false'), LAX_STRING(JSON '{}')`, "9.007199254740992e+15 -Inf NULL NULL NULL 10 1e+100 18446744073709551615 false NULL"},
		{`SELECT LAX_INT64_ARRAY(JSON '["1", {}, true]'), LAX_STRING_ARRAY(JSON '[1, "a", null]'), LAX_BOOL_ARRAY(JSON '1'), LAX_FLOAT64_ARRAY(JSON '[1]'), LAX_FLOAT32_ARRAY(JSON 'null')`, "[1 NULL 1] [1 a NULL] NULL [1] NULL"},

		// Out of SQL.
		{`SELECT TO_JSON(9007199254740993), TO_JSON(9007199254740993, stringify_wide_numbers => TRUE), TO_JSON(9007199254740992, TRUE), TO_JSON(1.0), TO_JSON(-0.0), TO_JSON(NULL), TO_JSON(NULL) IS NULL, TO_JSON(1, NULL)`, `9007199254740993 "9007199254740993" 9007199254740992 1.0 0.0 null false NULL`},
		{`SELECT TO_JSON(STRUCT(1 AS b, [2.5, NULL] AS a, 'x' AS b, b'ab' AS c)), TO_JSON(CAST('nan' AS FLOAT64)), TO_JSON(CAST(0.1 AS FLOAT32)), TO_JSON([DATE '2024-02-29']), TO_JSON(TIMESTAMP '2024-02-29 01:02:03.5'), TO_JSON(DATETIME '2024-02-29'), TO_JSON(INTERVAL 1 DAY), TO_JSON((1, 2))`, `{"a":[2.5,null],"b":1,"c":"YWI="} "NaN" 0.10000000149011612 ["2024-02-29"] "2024-02-29T01:02:03.5Z" "2024-02-29T00:00:00" "P1D" {"":1}`},
		{`SELECT TO_JSON(NUMERIC '1.5'), TO_JSON(NUMERIC '12345678901234567890'), TO_JSON(NUMERIC '12345678901234567890123456789', TRUE), TO_JSON(NUMERIC '0.123456789'), TO_JSON(NUMERIC '12345678901234567.125', stringify_wide_numbers => TRUE)`, `1.5 12345678901234567890 "12345678901234567890123456789" 0.123456789 "12345678901234567.125"`},
		{`SELECT TO_JSON_STRING(JSON '{"b": 1.0, "a": 9007199254740993}'), TO_JSON_STRING(STRUCT(JSON '[1]' AS j, 2 AS a)), TO_JSON_STRING(JSON '[]', TRUE), TO_JSON_STRING([JSON '{"a":1}'], TRUE)`, "{\"a\":9007199254740993,\"b\":1.0} {\"j\":[1],\"a\":2} [] [\n  {\n    \"a\": 1\n  }\n]"},
		{`SELECT JSON_ARRAY(), JSON_ARRAY(10, 'foo', NULL), JSON_ARRAY(JSON '20', ['a'], STRUCT(1 AS z)), JSON_OBJECT(), JSON_OBJECT('b', 1, 'a', NULL, 'b', 2), JSON_OBJECT(['x', 'y'], [10, NULL])`, `[] [10,"foo",null] [20,["a"],{"z":1}] {} {"a":null,"b":1} {"x":10,"y":null}`},
		{`SELECT FORMAT('%t|%T|%p|%P', j, j, j, j), FORMAT('%t %p', CAST(NULL AS JSON), JSON '1'), FORMAT('%p', CAST(NULL AS JSON)), FORMAT('%t', [JSON '1']) FROM (SELECT JSON '{"a":"b"}' AS j)`, "{\"a\":\"b\"}|JSON '{\"a\":\"b\"}'|{\"a\":\"b\"}|{\n  \"a\": \"b\"\n} NULL 1 NULL [1]"},

		// Changes.
		{`SELECT JSON_SET(j, '$', 1), JSON_SET(j, '$.a', 9, '$.c', [1]), JSON_SET(j, '$.b.x', 1), JSON_SET(j, '$.n.x[1]', TRUE), JSON_SET(j, '$.b[3]', 'e'), JSON_SET(j, '$.z', 1, create_if_missing => FALSE), JSON_SET(j, NULL, 1, '$.a', NULL) FROM (SELECT JSON '{"a": 1, "b": [2], "n": null}' AS j)`, `1 {"a":9,"b":[2],"c":[1],"n":null} {"a":1,"b":[2],"n":null} {"a":1,"b":[2],"n":{"x":[null,true]}} {"a":1,"b":[2,null,null,"e"],"n":null} {"a":1,"b":[2],"n":null} {"a":null,"b":[2],"n":null}`},
		{`SELECT JSON_SET(JSON '{}', '$.b[2].d', 100), JSON_SET(JSON 'null', '$[0][3]', 'x'), JSON_SET(JSON '{"b": 1}', '$.a', 0, '$."c d"', 2), JSON_SET(CAST(NULL AS JSON), '$', 1), JSON_SET(JSON '[1]', '$.a', 1), JSON_SET(JSON '1', '$[0]', 1), JSON_SET(JSON '{"a": 1}', '$.a', 2, create_if_missing => NULL)`, `{"b":[null,null,{"d":100}]} [[null,null,null,"x"]] {"a":0,"b":1,"c d":2} NULL [1] 1 {"a":1}`},
		{`SELECT JSON_REMOVE(JSON '{"a": [1, 2, 3]}', '$.a[0]', '$.a.b', '$.b', '$.a[0]'), JSON_REMOVE(JSON '{"a": 1, "b": 2, "c": 3}', '$.b', '$.c'), JSON_REMOVE(JSON '[1]', '$[0]', '$[0]'), JSON_REMOVE(JSON 'null', '$.a'), JSON_REMOVE(JSON '[1]', NULL), JSON_REMOVE(NULL, '$.a')`, `{"a":[3]} {"a":1} [] null [1] NULL`},
		{`SELECT JSON_ARRAY_APPEND(JSON '["a"]', '$', 1, '$', [2, 3]), JSON_ARRAY_APPEND(JSON '["a", ["b"]]', '$[1]', [1, 2], '$[1][1]', [3], append_each_element => FALSE), JSON_ARRAY_APPEND(JSON '{"a": null, "b": 1, "c": []}', '$.a', 10, '$.b', 1, '$.c', 2, '$.d', 3), JSON_ARRAY_APPEND(JSON '[]', '$', CAST(NULL AS ARRAY<INT64>)), JSON_ARRAY_APPEND(JSON '[]', '$', NULL)`, `["a",1,2,3] ["a",["b",[1,2,[3]]]] {"a":[10],"b":1,"c":[2]} [] [null]`},
		{`SELECT JSON_ARRAY_INSERT(JSON '["a", ["b"], "d"]', '$[1]', 1, '$[2][0]', [2, 3]), JSON_ARRAY_INSERT(JSON '["a"]', '$[3]', 'e'), JSON_ARRAY_INSERT(JSON '{"a": null, "b": {}}', '$.a[2]', 10, '$.b[0]', 1, '$', 2), JSON_ARRAY_INSERT(JSON '[1]', '$[0]', [2, 3], insert_each_element => FALSE), JSON_ARRAY_INSERT(JSON '[]', '$[0]', 1)`, `["a",1,[2,3,"b"],"d"] ["a",null,null,"e"] {"a":[null,null,10],"b":{}} [[2,3],1] [1]`},
		{`SELECT JSON_STRIP_NULLS(j), JSON_STRIP_NULLS(j, include_arrays => FALSE), JSON_STRIP_NULLS(j, remove_empty => TRUE), JSON_STRIP_NULLS(j, include_arrays => FALSE, remove_empty => TRUE), JSON_STRIP_NULLS(j, '$.d'), JSON_STRIP_NULLS(j, remove_empty => NULL) FROM (SELECT JSON '{"a": {"b": {"c": null}}, "d": [null, 1], "e": []}' AS j)`, `{"a":{"b":{}},"d":[1],"e":[]} {"a":{"b":{}},"d":[null,1],"e":[]} {"d":[1]} {"d":[null,1],"e":[]} {"a":{"b":{"c":null}},"d":[1],"e":[]} {"a":{"b":{"c":null}},"d":[null,1],"e":[]}`},
		{`SELECT JSON_STRIP_NULLS(JSON '[1, null, [null]]'), JSON_STRIP_NULLS(JSON '{"a": [null]}', remove_empty => TRUE), JSON_STRIP_NULLS(JSON 'null'), JSON_STRIP_NULLS(JSON '{"a": 1}', '$.b')`, `[1,[]] null null {"a":1}`},
		{`SELECT JSON_KEYS(JSON '{"a": {"b": 1}, "c.d": [{"e": 1}]}'), JSON_KEYS(JSON '{"a": {"b": 1}}', 1), JSON_KEYS(JSON '[{"a": [{"b": 1}]}]', mode => 'lax'), JSON_KEYS(JSON '[[{"a": 1}]]', mode => 'Lax'), JSON_KEYS(JSON '[[{"a": 1}]]', mode => 'lax recursive'), JSON_KEYS(JSON '[]'), JSON_KEYS(JSON '{}', mode => NULL)`, `["c.d" a a.b] [a] [a a.b] [] [a] [] NULL`},

		// As other values.
		{`SELECT COUNT(j), COUNT(DISTINCT STRING(j.a)), ARRAY_AGG(j.b ORDER BY INT64(j.b) DESC), ANY_VALUE(j) IS NULL FROM UNNEST([JSON '{"a": "x", "b": 1}', JSON '{"a": "x", "b": 2}', NULL]) AS j`, "2 1 [2 1 NULL] false"},
		{`SELECT j FROM (SELECT JSON '1' AS j UNION ALL SELECT JSON '{}') ORDER BY TO_JSON_STRING(j)`, "1\n{}"},
		{`SELECT IF(TRUE, JSON '1', NULL), COALESCE(NULL, JSON '2'), CASE WHEN FALSE THEN JSON '3' END, ARRAY<JSON>[JSON '4'], STRUCT<a JSON>(JSON '5'), FIRST_VALUE(JSON '6') OVER ()`, "1 2 NULL [4] {a:5} 6"},
		{`SELECT ARRAY_LENGTH([JSON '1', NULL]), [JSON '1'][0], ARRAY_TRANSFORM([JSON '{"a": 1}'], j -> j.a), ARRAY(SELECT e.x FROM UNNEST([JSON '{"x": 1}']) AS e)`, "2 1 [1] [1]"},
	} {
		got, err := db.run(q.sql)
		if err != nil || got != q.want {
			t.Errorf("%s\ngot  %q, %v\nwant %q", q.sql, got, err, q.want)
		}
	}
}

// What GoogleSQL refuses of JSON, with the reason.
func TestErrorsOfJSON(t *testing.T) {
	db := openPlanes(t)
	const j = `JSON '{"a": 1}'`
	for _, q := range []struct{ sql, want string }{
		{`SELECT JSON '{'`, `"{" is not JSON: unexpected end of JSON input [at 1:8]`},
		{`SELECT JSON '{a: 1}'`, "invalid character 'a'"},
		{`SELECT JSON '123456789012345678901'`, "neither an integer of 64 bits nor a FLOAT64; PARSE_JSON(…, wide_number_mode => 'round')"},
		{`SELECT PARSE_JSON('[0.1, 0.10000000000000000000001]')`, "the number 0.10000000000000000000001 is neither"},
		{`SELECT PARSE_JSON('1e-400')`, "the number 1e-400 is neither"},
		{`SELECT PARSE_JSON('1e999', wide_number_mode => 'round')`, "the number 1e999 is out of the range of FLOAT64"},
		{`SELECT PARSE_JSON('1', wide_number_mode => 'ROUND')`, `"ROUND" is not a wide_number_mode; there are 'exact' and 'round'`},
		{`SELECT PARSE_JSON('"\\ud83d"')`, "one half of a character of two"},
		{`SELECT PARSE_JSON('"\\ude00\\ud83d"')`, "one half of a character of two"},
		{`SELECT PARSE_JSON('"\\ud83d\\u0041"')`, "one half of a character of two"},
		{`SELECT PARSE_JSON('01')`, "is not JSON"},
		{`SELECT PARSE_JSON('')`, "is not JSON"},
		{`SELECT PARSE_JSON(REPEAT('[', 501) || REPEAT(']', 501))`, "up to 500 levels"},
		{`SELECT JSON_ARRAY(PARSE_JSON(REPEAT('[', 500) || REPEAT(']', 500)))`, "more than 500 levels"},
		{`SELECT JSON_SET(PARSE_JSON(REPEAT('[', 500) || REPEAT(']', 500)), '$[1].a', 1, '$[1].a', PARSE_JSON(REPEAT('[', 499) || REPEAT(']', 499)))`, "more than 500 levels"},
		{`SELECT CAST('1' AS JSON)`, "Invalid cast from STRING to JSON; PARSE_JSON reads a text"},
		{`SELECT CAST(1 AS JSON)`, "Invalid cast from INT64 to JSON; TO_JSON makes a JSON"},
		{`SELECT CAST(JSON '1' AS STRING)`, "Invalid cast from JSON to STRING; TO_JSON_STRING writes a JSON"},
		{`SELECT CAST(JSON '1' AS INT64)`, "Invalid cast from JSON to INT64; BOOL, INT64, FLOAT64, STRING"},
		{`SELECT JSON '1' = JSON '1'`, "values of type JSON cannot be compared"},
		{`SELECT JSON '1' < JSON '1'`, "values of type JSON cannot be compared"},
		{`SELECT JSON '1' IN (JSON '1')`, "values of type JSON cannot be compared"},
		{`SELECT JSON '1' BETWEEN JSON '1' AND JSON '2'`, "values of type JSON cannot be compared"},
		{`SELECT JSON '1' IS DISTINCT FROM JSON '1'`, "values of type JSON cannot be compared"},
		{`SELECT NULLIF(JSON '1', JSON '1')`, "values of type JSON cannot be compared"},
		{`SELECT CASE JSON '1' WHEN JSON '1' THEN 1 END`, "values of type JSON cannot be compared"},
		{`SELECT STRUCT(JSON '1') = STRUCT(JSON '1')`, "values of type STRUCT<JSON> cannot be compared"},
		{`SELECT (JSON '1').a = 1`, "JSON = INT64 cannot be compared"},
		{`SELECT ` + j + `.a + 1`, "JSON"},
		{`SELECT 1 FROM t GROUP BY ` + j, "JSON"},
		{`SELECT COUNT(*), j FROM (SELECT JSON '1' AS j) GROUP BY j`, "JSON cannot be grouped [at 1:18]"},
		{`SELECT DISTINCT JSON '1'`, "JSON"},
		{`SELECT DISTINCT STRUCT(JSON '1' AS a) AS s`, "JSON"},
		{`SELECT COUNT(DISTINCT JSON '1') FROM t`, "JSON"},
		{`SELECT JSON '1' AS j ORDER BY j`, "JSON"},
		{`SELECT ARRAY_AGG(1 ORDER BY JSON '1') FROM t`, "JSON"},
		{`SELECT SUM(1) OVER (PARTITION BY JSON '1') FROM t`, "JSON"},
		{`SELECT RANK() OVER (ORDER BY JSON '1') FROM t`, "JSON"},
		{`SELECT JSON '1' UNION DISTINCT SELECT JSON '1'`, "JSON"},
		{`SELECT JSON '1' EXCEPT DISTINCT SELECT JSON '1'`, "JSON"},
		{`SELECT MAX(JSON '1') FROM t`, "MAX cannot compare values of type JSON"},
		{`SELECT GREATEST(JSON '1', JSON '2')`, "JSON"},
		{`SELECT APPROX_COUNT_DISTINCT(JSON '1') FROM t`, "JSON"},
		{`SELECT APPROX_TOP_COUNT(JSON '1', 1) FROM t`, "JSON"},
		{`SELECT HLL_COUNT.INIT(JSON '1') FROM t`, "JSON"},
		{`SELECT ARRAY_INCLUDES([JSON '1'], JSON '1')`, "JSON"},
		{`SELECT ARRAY_IS_DISTINCT([JSON '1'])`, "JSON"},
		{`SELECT RANGE_BUCKET(JSON '1', [JSON '1'])`, "JSON"},
		{`SELECT a.j FROM (SELECT JSON '1' AS j) AS a JOIN (SELECT JSON '1' AS j) AS b USING (j)`, "JSON"},
		{`SELECT JSON '1' IN (SELECT JSON '1')`, "JSON"},
		{`SELECT (JSON '1').*`, "there is no .* of JSON"},
		{`SELECT (JSON '[1]')[OFFSET(0)]`, "OFFSET is for arrays; an element of a JSON has its number from 0 alone"},
		{`SELECT (JSON '[1]')[1.5]`, "a JSON has members by a STRING and elements by an INT64, not by FLOAT64"},
		{`SELECT BOOL(JSON '1')`, "the JSON 1 is not a boolean"},
		{`SELECT BOOL(JSON 'null')`, "the JSON null is not a boolean"},
		{`SELECT INT64(JSON '1.5')`, "the JSON 1.5 is not an INT64"},
		{`SELECT INT64(JSON '18446744073709551615')`, "is not an INT64"},
		{`SELECT INT64(JSON '1e300')`, "is not an INT64"},
		{`SELECT FLOAT64(JSON '9007199254740993', wide_number_mode => 'exact')`, "is not a FLOAT64 without loss"},
		{`SELECT FLOAT32(JSON '0.1', wide_number_mode => 'exact')`, "is not a FLOAT32 without loss"},
		{`SELECT FLOAT32(JSON '1e300')`, "out of range"},
		{`SELECT STRING(JSON '1')`, "the JSON 1 is not a string"},
		{`SELECT STRING_ARRAY(JSON '1')`, "the JSON 1 is not an array"},
		{`SELECT INT64_ARRAY(JSON '[null]')`, "the JSON null is not an INT64"},
		{`SELECT TO_JSON(NUMERIC '12345678901234567890123456789')`, "no number of JSON; TO_JSON(…, stringify_wide_numbers => TRUE)"},
		{`SELECT TO_JSON(f) FROM t`, "TO_JSON does not take MAP<BYTES, BYTES>"},
		{`SELECT JSON_ARRAY(f) FROM t`, "JSON_ARRAY does not take MAP<BYTES, BYTES>"},
		{`SELECT JSON_OBJECT('a')`, "JSON_OBJECT takes names, each followed by a value"},
		{`SELECT JSON_OBJECT(NULL, 1)`, "a name of JSON_OBJECT cannot be NULL"},
		{`SELECT JSON_OBJECT(1, 1)`, "a name of JSON_OBJECT is INT64; it must be STRING"},
		{`SELECT JSON_OBJECT(['a'], [1, 2])`, "JSON_OBJECT has 1 names and 2 values"},
		{`SELECT JSON_OBJECT(['a'], CAST(NULL AS ARRAY<INT64>))`, "the arrays of JSON_OBJECT cannot be NULL"},
		{`SELECT JSON_SET(JSON '1', '$')`, "JSON_SET takes a JSON, and then paths, each followed by a value"},
		{`SELECT JSON_SET(JSON '1', 'a', 1)`, `"a" is not a JSONPath`},
		{`SELECT JSON_SET(JSON '[]', '$[99999999]', 1)`, "more than 1048576 elements"},
		{`SELECT JSON_SET(JSON '[]', '$[99999999999]', 1)`, "which is not the number of an element"},
		{`SELECT JSON_SET(JSON '[]', create_if_missing => FALSE, '$.a', 1)`, "an argument without a name cannot follow one with a name"},
		{`SELECT JSON_SET(JSON '[]', '$', 1, create_if_missing => FALSE, create_if_missing => FALSE)`, "cannot follow one with a name"},
		{`SELECT JSON_REMOVE(JSON '1', '$')`, "JSON_REMOVE cannot remove $"},
		{`SELECT JSON_REMOVE('{}', '$.a')`, "JSON_REMOVE does not take (STRING, STRING); it is JSON_REMOVE(JSON, STRING…) JSON"},
		{`SELECT JSON_KEYS(JSON '{}', 0)`, "max_depth of JSON_KEYS is 0; it is at least 1"},
		{`SELECT JSON_KEYS(JSON '{}', mode => 'x')`, `"x" is not a mode of JSON_KEYS`},
		{`SELECT CONTAINS_SUBSTR(JSON '"a"', 'a')`, "CONTAINS_SUBSTR does not search JSON"},
		{`SELECT FORMAT('%d', JSON '1')`, "argument 2 of FORMAT is JSON; the format needs INT64"},
		{`SELECT FORMAT('%p', '1')`, "argument 2 of FORMAT is STRING; the format needs JSON"},
	} {
		got, err := db.run(q.sql)
		if err == nil || !strings.Contains(err.Error(), q.want) {
			t.Errorf("%s\ngot  %q, %v\nwant an error with %q", q.sql, got, err, q.want)
		}
	}
}

// A JSON in any place of a call of any function is a value or an error of the query.
func TestEveryFunctionTakesOrRefusesJSON(t *testing.T) {
	db := openPlanes(t)
	others := []string{"JSON '{\"a\": [1]}'", "'$.a'", "1", "[JSON '1']", "NULL", "e -> e", "STRUCT(JSON '1' AS a)"}
	for _, f := range sql.Functions() {
		call := f.Name + "(%s)"
		if f.Window {
			call += " OVER (ORDER BY _key)"
		}
		for _, args := range []string{"%s", "%s, %s", "%s, %s, %s"} {
			for at := range 3 {
				all := args
				for i := range strings.Count(args, "%s") {
					of := others[0]
					if i != at {
						of = others[(i+at+len(f.Name))%len(others)]
					}
					all = strings.Replace(all, "%s", of, 1)
				}
				text := "SELECT " + fmt.Sprintf(call, all) + " FROM t"
				_, err := db.run(text)
				if _, ok := errors.AsType[*sql.Error](err); err != nil && !ok {
					t.Errorf("%s: %T: %v", text, err, err)
				}
			}
		}
	}
}

// jsonMaker draws documents that two engines write alike: with integers, short texts, and names in
// their order.
type jsonMaker struct{ *rapid.T }

func (m jsonMaker) document(depth int) string {
	switch n := rapid.IntRange(0, 7).Draw(m.T, "kind"); {
	case n == 0:
		return rapid.SampledFrom([]string{"null", "true", "false"}).Draw(m.T, "word")
	case n == 1 || depth == 0:
		return fmt.Sprint(rapid.IntRange(-1000, 1000).Draw(m.T, "number"))
	case n == 2:
		return `"` + rapid.StringMatching("[a-z ]{0,5}").Draw(m.T, "text") + `"`
	case n < 5:
		all := make([]string, rapid.IntRange(0, 3).Draw(m.T, "elements"))
		for i := range all {
			all[i] = m.document(depth - 1)
		}
		return "[" + strings.Join(all, ",") + "]"
	}
	var all []string
	for _, name := range []string{"a", "b", "c d"} {
		if rapid.Bool().Draw(m.T, name) {
			all = append(all, `"`+name+`":`+m.document(depth-1))
		}
	}
	return "{" + strings.Join(all, ",") + "}"
}

// Parts of documents, their types, numbers of elements, and documents that are made, are as in DuckDB.
func TestJSONIsAsInDuckDB(t *testing.T) {
	db := openPlanes(t)
	ask := startDuckDB(t)
	rapid.Check(t, func(t *rapid.T) {
		m := jsonMaker{t}
		doc := m.document(4)
		path, member := "$", "j"
		for range rapid.IntRange(0, 3).Draw(t, "steps") {
			step := rapid.SampledFrom([][2]string{{".a", ".a"}, {".b", "['b']"}, {`."c d"`, ".`c d`"}, {"[0]", "[0]"}, {"[1]", "[1]"}}).Draw(t, "step")
			path, member = path+step[0], member+step[1]
		}
		here := "SELECT IFNULL(TO_JSON_STRING(" + member + "), ''), " + member + " IS NULL, JSON_TYPE(" + member + "), TO_JSON_STRING(JSON_QUERY(j, '" + path + "')), JSON_VALUE(j, '" + path + "'), ARRAY_LENGTH(JSON_QUERY_ARRAY(j, '" + path + "')), " +
			"TO_JSON_STRING(JSON_OBJECT('x', j, 'y', [1, 2])), TO_JSON_STRING(JSON_ARRAY(j, 'z', NULL)) FROM (SELECT PARSE_JSON('" + doc + "') AS j)"
		part := "json_extract(j, '" + path + "')"
		kind := "json_type(" + part + ")"
		duck := "SELECT IFNULL(CAST(" + part + " AS VARCHAR), 'null'), " + part + " IS NULL, CASE " + kind + " WHEN 'VARCHAR' THEN 'string' WHEN 'UBIGINT' THEN 'number' WHEN 'BIGINT' THEN 'number' ELSE lower(" + kind + ") END, " +
			"IFNULL(CAST(" + part + " AS VARCHAR), 'null'), CASE WHEN " + kind + " NOT IN ('OBJECT', 'ARRAY', 'NULL') THEN json_extract_string(j, '" + path + "') END, " +
			"CASE " + kind + " WHEN 'ARRAY' THEN json_array_length(" + part + ") END, CAST(json_object('x', j, 'y', [1, 2]) AS VARCHAR), CAST(json_array(j, 'z', NULL) AS VARCHAR) FROM (SELECT CAST('" + doc + "' AS JSON) AS j)"
		got, err := db.run(here)
		want := ask(duck)
		if err != nil || want.Error != "" || len(want.Rows) != 1 {
			t.Fatalf("%s\n%s\nhere   %q, %v\nDuckDB %q, %s", here, duck, got, err, want.Rows, want.Error)
		}
		if line := strings.Join(want.Rows[0], " "); got != line {
			t.Fatalf("%s\n%s\nhere   %q\nDuckDB %q", here, duck, got, line)
		}
	})
}

// A JSON that is written is read again as itself, whatever made it.
func TestJSONThatIsWrittenIsReadAgain(t *testing.T) {
	db := openPlanes(t)
	rapid.Check(t, func(t *rapid.T) {
		m := jsonMaker{t}
		doc := "PARSE_JSON('" + m.document(3) + "')"
		path := func() string {
			return "'$" + strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{".a", ".b", `."c d"`, "[0]", "[2]"}), 0, 3).Draw(t, "path"), "") + "'"
		}
		for range rapid.IntRange(1, 3).Draw(t, "changes") {
			form := rapid.SampledFrom([]string{
				"JSON_SET(%[1]s, %[2]s, %[3]s)", "JSON_SET(%[1]s, %[2]s, 1.5, create_if_missing => FALSE)", "JSON_REMOVE(%[1]s, '$.z', %[2]s)", "JSON_ARRAY_APPEND(%[1]s, %[2]s, [%[3]s, NULL])",
				"JSON_ARRAY_INSERT(%[1]s, %[2]s, %[3]s)", "JSON_ARRAY_INSERT(%[1]s, %[2]s, ARRAY<INT64>[])", "JSON_STRIP_NULLS(%[1]s, %[2]s, remove_empty => TRUE)", "JSON_STRIP_NULLS(%[1]s, include_arrays => FALSE)",
				"JSON_OBJECT('k', %[1]s, 'a', %[3]s)", "TO_JSON(STRUCT(%[1]s AS z, [%[3]s] AS a))",
			}).Draw(t, "form")
			p := path()
			if strings.Contains(form, "REMOVE(") && p == "'$'" {
				p = "'$.a'"
			}
			doc = strings.NewReplacer("%[1]s", doc, "%[2]s", p, "%[3]s", "JSON '"+m.document(1)+"'").Replace(form)
		}
		text := "SELECT TO_JSON_STRING(j) = TO_JSON_STRING(PARSE_JSON(TO_JSON_STRING(j))), TO_JSON_STRING(j) = FORMAT('%p', PARSE_JSON(TO_JSON_STRING(j, TRUE))) FROM (SELECT " + doc + " AS j)"
		if got, err := db.run(text); got != "true true" || err != nil {
			t.Fatalf("%s: %q, %v", text, got, err)
		}
	})
}
