package sql_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/sql"
)

func TestFunctions(t *testing.T) {
	db := openPlanes(t)
	for _, q := range []struct{ sql, want string }{
		{`SELECT LENGTH('é!'), BYTE_LENGTH('é!'), LENGTH(b'ab'), UPPER('aé'), LOWER('AÉ')`, "2 3 2 AÉ aé"},
		{`SELECT TRIM('  a '), LTRIM('xxa', 'x'), RTRIM('a  '), REVERSE('abc'), REPEAT('ab', 2)`, "a a a cba abab"},
		{`SELECT SUBSTR('apple', 2), SUBSTR('apple', 2, 2), SUBSTR('apple', -2), SUBSTR('apple', 0, 2), SUBSTR('apple', -9, 2), SUBSTR('apple', 9), SUBSTR(b'apple', 2, 2)`, "pple pp le ap ap  pp"},
		{`SELECT LEFT('abc', 2), RIGHT('abc', 9), LPAD('a', 3, 'xy'), RPAD('a', 2), STRPOS('aéb', 'b'), STRPOS('a', 'z')`, "ab abc xya a  3 0"},
		{`SELECT CONCAT('a', 'b', 'c'), SPLIT('a,b,'), SPLIT('a b', ' '), ARRAY_TO_STRING(['a', NULL, 'b'], '-'), REPLACE('aa', 'a', 'bc')`, "abc [a b ] [a b] a-b bcbc"},
		{`SELECT TO_HEX(b'\xff\x00'), FROM_HEX('4142'), TO_BASE64(b'ab'), FROM_BASE64('YWI='), SAFE_CONVERT_BYTES_TO_STRING(b'a\xff')`, "ff00 AB YWI= ab a�"},
		{`SELECT REGEXP_CONTAINS('foobar', 'o+b'), REGEXP_EXTRACT('a12b', '[0-9]+'), REGEXP_EXTRACT('a12b', 'a([0-9])'), REGEXP_EXTRACT('a', 'b'), REGEXP_EXTRACT_ALL('a1b2', '[0-9]'), REGEXP_REPLACE('a1', '([0-9])', '<\\1>')`, "true 12 1 NULL [1 2] a<1>"},
		{`SELECT ABS(-3), ABS(-2.5), SIGN(-9), ROUND(2.5), FLOOR(-1.5), CEIL(1), MOD(-5, 3), DIV(-5, 3), SQRT(4), POW(2, 10), SAFE_DIVIDE(1, 0), IS_NAN(IEEE_DIVIDE(0, 0))`, "3 2.5 -1 3 -2 1 -2 -1 2 1024 NULL true"},
		{`SELECT JSON_VALUE('{"a": {"b": [1, "x"]}}', '$.a.b[1]'), JSON_VALUE('{"a": 1.5}', '$.a'), JSON_QUERY('{"a": {"b": [1, 2]}}', '$.a'), JSON_VALUE('{', '$.a'), JSON_VALUE('{"a": null}', '$.a'), JSON_QUERY_ARRAY('[1, "a"]')`, `x 1.5 {"b":[1,2]} NULL NULL [1 "a"]`},
		{`SELECT NULLIF(1, 1), NULLIF(1, 2), LENGTH(NULL), SAFE.SQRT(-1)`, "NULL 1 NULL NULL"},
		{`SELECT EXTRACT(YEAR FROM DATE '2024-02-29'), EXTRACT(DAYOFWEEK FROM DATE '2024-02-29'), EXTRACT(HOUR FROM TIMESTAMP '2024-01-01 23:59:00')`, "2024 5 23"},
		{`SELECT ARRAY_FIRST([1, 2]), ARRAY_LAST([1, 2]), ARRAY_REVERSE([1, 2]), ARRAY_INCLUDES([1, 2], 2)`, "1 2 [2 1] true"},
		{`SELECT MAP_CONTAINS_KEY(g, 'even'), MAP_VALUES(g) FROM t WHERE _key < 'b'`, "true [yes]\nfalse []"},
		{`SELECT CAST(1000000.0 AS STRING), CAST(0.1 AS STRING), CAST(1e20 AS STRING), CAST(CAST('inf' AS FLOAT64) AS STRING), CAST(0.1 + 0.2 AS STRING)`, "1000000 0.1 1e+20 inf 0.30000000000000004"},
		{`SELECT DATE_ADD(DATE '2024-01-31', INTERVAL 1 MONTH), DATE_SUB(DATE '2024-03-31', INTERVAL 1 QUARTER), DATE_ADD('2024-02-29', INTERVAL -1 YEAR), DATE_ADD(DATE '2024-02-28', INTERVAL 2 WEEK)`, "2024-02-29 2023-12-31 2023-02-28 2024-03-13"},
		{`SELECT TIMESTAMP_ADD(TIMESTAMP_MICROS(5), INTERVAL 2 SECOND), TIMESTAMP_SUB(TIMESTAMP_MICROS(5), INTERVAL 5 MICROSECOND), TIMESTAMP_MICROS(1) + INTERVAL 1 MILLISECOND, TIMESTAMP_MICROS(1) - INTERVAL 1 DAY`, "2000005 0 1001 -86399999999"},
		{`SELECT DATE '2024-03-01' - 1, DATE '2024-02-28' + 1, DATE '2024-01-01' + NULL`, "2024-02-29 2024-02-29 NULL"},
		{`SELECT DATE_DIFF(DATE '2024-03-01', DATE '2024-02-01', DAY), DATE_DIFF('2017-10-15', '2017-10-14', WEEK), DATE_DIFF('2017-10-15', '2017-10-14', ISOWEEK), DATE_DIFF('2017-12-30', '2014-12-30', YEAR), DATE_DIFF('2017-12-30', '2014-12-30', ISOYEAR), DATE_DIFF('2024-01-31', '2024-02-01', MONTH), DATE_DIFF('2017-12-18', '2017-12-17', WEEK(MONDAY))`, "29 1 0 3 2 -1 1"},
		{`SELECT TIMESTAMP_DIFF(TIMESTAMP_SECONDS(0), TIMESTAMP_SECONDS(90), MINUTE), TIMESTAMP_DIFF(TIMESTAMP_SECONDS(90), TIMESTAMP_SECONDS(0), SECOND)`, "-1 90"},
		{`SELECT DATE_TRUNC('2008-12-25', MONTH), DATE_TRUNC('2017-11-05', WEEK(MONDAY)), DATE_TRUNC('2015-06-15', ISOYEAR), DATE_TRUNC('2024-06-15', QUARTER), TIMESTAMP_TRUNC(TIMESTAMP_MICROS(-1), SECOND), TIMESTAMP_TRUNC(TIMESTAMP '2024-01-01 23:30:00+00', DAY, '+01:00') = TIMESTAMP '2024-01-01 23:00:00'`, "2008-12-01 2017-10-30 2014-12-29 2024-04-01 -1000000 true"},
		{`SELECT LAST_DAY(DATE '2008-11-25'), LAST_DAY('2008-11-25', YEAR), LAST_DAY('2008-11-10', WEEK(MONDAY)), LAST_DAY('2008-11-10', WEEK), LAST_DAY('2015-06-15', ISOYEAR), UNIX_DATE('1969-12-31'), DATE_FROM_UNIX_DATE(-1)`, "2008-11-30 2008-12-31 2008-11-16 2008-11-15 2016-01-03 -1 1969-12-31"},
		{`SELECT FORMAT_DATE('%A %d %b %y, %j %F %U %V %G %Q %%', '2024-02-09'), FORMAT_TIMESTAMP('%c %E3S %E*S %p %l %Z %z %s', TIMESTAMP '2024-02-09 15:04:05.25'), FORMAT_TIMESTAMP('%H:%M %Ez', TIMESTAMP_SECONDS(0), '+02:30')`, "Friday 09 Feb 24, 040 2024-02-09 05 06 2024 1 % Fri Feb  9 15:04:05 2024 05.250 05.25 PM  3 UTC +0000 1707491045 02:30 +02:30"},
		{`SELECT PARSE_DATE('%d/%m/%Y', '9/2/2024'), PARSE_DATE('%b %e %Y', 'Feb 9 2024'), PARSE_TIMESTAMP('%F %T', '1970-01-01 00:00:01'), PARSE_TIMESTAMP('%s', '7'), PARSE_TIMESTAMP('%F %H', '1970-01-01 02', '+02:00'), PARSE_TIMESTAMP('%H:%M', '00:01')`, "2024-02-09 2024-02-09 1000000 7000000 0 60000000"},
		{`SELECT UPPER(b'a\xe9'), LEFT(b'\xffab', 2) = b'\xffa', LPAD(b'a', 3, b'xy'), REPLACE(b'aa', b'a', b'bc'), REVERSE(b'ab'), STRPOS(b'\xff\xfe', b'\xfe'), SPLIT(b'a b', b' '), TRIM(b' a', b' '), ASCII(b'\xff'), TO_CODE_POINTS(b'a\xff')`, "A\xe9 true xya bcbc ba 2 [a b] a 255 [97 255]"},
		{`SELECT REGEXP_EXTRACT(b'\xff12', b'\xff(.)'), REGEXP_CONTAINS(b'\xff', b'^.$'), REGEXP_REPLACE(b'a1', b'[0-9]', b'\xfe') = b'a\xfe', REGEXP_EXTRACT_ALL(b'a1b2', b'[0-9]')`, "1 true true [1 2]"},
		{`SELECT REGEXP_EXTRACT('a1b2', '[0-9]', 1, 2), REGEXP_SUBSTR('xyzabc', '^abc', 4), REGEXP_EXTRACT('abc', '\\bc', 3), REGEXP_INSTR('ab@c', '@[a-z]'), REGEXP_INSTR('ab@c', '@', 1, 1, 1), REGEXP_INSTR('a', 'b')`, "2 NULL NULL 3 4 0"},
		{`SELECT REGEXP_EXTRACT_ALL('aabca', 'a*'), REGEXP_EXTRACT_ALL('baac', 'a*'), REGEXP_REPLACE('baac', 'a*', '-')`, "[aa   a] [ aa ] -b-c-"},
		{`SELECT INSTR('banana', 'an'), INSTR('banana', 'an', 3), INSTR('banana', 'an', -1), INSTR('banana', 'an', 1, 3), INSTR('é!', '!'), INSTR('ab', '')`, "2 4 4 0 2 1"},
		{`SELECT CODE_POINTS_TO_STRING([65, 233]), CODE_POINTS_TO_BYTES([65]), TO_BASE32(b'abc'), FROM_BASE32('MFRGG==='), LENGTH(NORMALIZE('é', NFD)), NORMALIZE_AND_CASEFOLD('ÉA'), SOUNDEX('Ashcraft'), SOUNDEX('1')`, "Aé A MFRGG=== abc 2 éa A261 "},
		{`SELECT INITCAP("it's a-b"), INITCAP('cbac', 'b'), FORMAT('%+x % o', -30, -8), SAFE_CONVERT_BYTES_TO_STRING(b'\xa0\xa1'), ARRAY_TO_STRING(['a', NULL], '-', '?'), ARRAY_TO_STRING([b'a', b'c'], b'b')`, "It's A-B CbAc -1e -10 �� a-? abc"},
		{`SELECT SAFE_MULTIPLY(9223372036854775807, 2), SAFE_MULTIPLY(3, -2), SAFE_ADD(1e308, 1e308), SAFE_MULTIPLY(1.5, 2), ROUND(COT(1), 6), ROUND(SEC(1), 6), ROUND(CSC(1), 6), ROUND(COTH(1), 6), ROUND(SECH(1), 6), ROUND(CSCH(1), 6)`, "NULL -6 NULL 3 0.642093 1.850816 1.188395 1.313035 0.648054 0.850918"},
		{`SELECT ROUND(COSINE_DISTANCE([1.0, 2.0], [3.0, 4.0]), 5), ROUND(EUCLIDEAN_DISTANCE([1.0, 2.0], [3.0, 4.0]), 3), RAND() < 1`, "0.01613 2.828 true"},
		{`SELECT EXTRACT(HOUR FROM TIMESTAMP_SECONDS(0) AT TIME ZONE 'America/New_York'), EXTRACT(DATE FROM TIMESTAMP_SECONDS(-1)), EXTRACT(WEEK(MONDAY) FROM DATE '2017-11-05'), DATE(TIMESTAMP_SECONDS(0), '-01:00'), CURRENT_DATE('Asia/Tokyo') >= CURRENT_DATE()`, "19 1969-12-31 44 1969-12-31 true"},
		{`SELECT TIMESTAMP('1970-01-01 00:00:00', '+01:00'), TIMESTAMP(DATE '1970-01-02', 'UTC'), STRING(TIMESTAMP_MILLIS(500), 'Asia/Kolkata'), TIMESTAMP '1970-01-01 01:00:00 Europe/Paris', TIMESTAMP_FROM_UNIX_SECONDS(TIMESTAMP_MICROS(7))`, "-3600000000 86400000000 1970-01-01 05:30:00.500+05:30 0 7"},
		{`SELECT JSON_VALUE('{"a": 1, "a": 2}', '$.a'), JSON_QUERY('{"b" : [ 1 , {"x" : "}"} ] , "c": 3}', '$.b[1]'), JSON_VALUE('{"\\u0061": 5}', '$.a'), JSON_QUERY_ARRAY('[ 1 , "a,b" , [2] ]'), JSON_QUERY_ARRAY('[]'), JSON_VALUE('{"a": {}}', '$.a.b')`, `1 {"x":"}"} 5 [1 "a,b" [2]] [] NULL`},
		{`SELECT EXTRACT(WEEK FROM DATE '2017-01-01'), EXTRACT(WEEK FROM DATE '2016-01-01'), CURRENT_TIMESTAMP() = CURRENT_TIMESTAMP(), CURRENT_DATE() > '2024-01-01'`, "1 0 true true"},
		{`SELECT ASCII('A'), UNICODE('é'), CHR(233), TO_CODE_POINTS('aé'), INITCAP('ab cD-eF'), TRANSLATE('abc', 'ab', 'x'), TO_HEX(MD5('a')), LENGTH(SHA512(b'a'))`, "65 233 é [97 233] Ab Cd-Ef xc 0cc175b9c0f1b6a831c399e269772661 64"},
		{`SELECT BIT_COUNT(0), BIT_COUNT(5), BIT_COUNT(-2), BIT_COUNT(-9223372036854775808), BIT_COUNT(b'\xff\x01'), BIT_COUNT(b''), BIT_COUNT(NULL)`, "0 2 63 1 9 0 NULL"},
		{`SELECT FARM_FINGERPRINT('1footrue'), FARM_FINGERPRINT(b'2applefalse'), FARM_FINGERPRINT('3true'), FARM_FINGERPRINT(NULL)`, "-1541654101129638711 2794438866806483259 -4880158226897771312 NULL"},
		{`SELECT ROUND(2.5, 0), ROUND(-2.345, 2), ROUND(1.005, 2), ROUND(1234.5, -2), ROUND(55, -1), ROUND(0.5, 400), ROUND(7.0, -9223372036854775808), TRUNC(-2.567, 1), TRUNC(1234.5, -2)`, "3 -2.35 1 1200 60 0.5 0 -2.5 1200"},
		{`SELECT LN(CAST('-inf' AS FLOAT64)), LOG(CAST('-inf' AS FLOAT64), 2), LOG(2, CAST('inf' AS FLOAT64)), SIN(CAST('inf' AS FLOAT64)), ACOS(CAST('-inf' AS FLOAT64))`, "NaN NaN NaN NaN NaN"},
		{`SELECT TRIM('\u2003\u1680a\u3000\t'), FORMAT('%t %T', b'a"\'', b'a"'), FORMAT('%.*f', -9000000000, 1.5), LENGTH(FORMAT('%.99999f', 1.5))`, `a a\"\' b'a"' 1.500000 1076`},
		{`SELECT LOG(8, 2), LOG(1), CBRT(27), ATAN2(0, 1), SIGN(-2.5), SAFE_ADD(9223372036854775807, 1), SAFE_SUBTRACT(-2, 1), SAFE_NEGATE(-9223372036854775808), SAFE.ACOS(2)`, "3 0 3 0 -1 NULL -3 NULL NULL"},
		{`SELECT GENERATE_ARRAY(1, 3), GENERATE_ARRAY(5, 0, -2), GENERATE_ARRAY(1, 0), GENERATE_ARRAY(9223372036854775806, 9223372036854775807)`, "[1 2 3] [5 3 1] [] [9223372036854775806 9223372036854775807]"},
		{`SELECT FORMAT('%d|%5d|%-5d|%05d|%+d|% d|%i|%.4d', 7, 7, 7, 7, 7, 7, -7, 7)`, "7|    7|7    |00007|+7| 7|-7|0007"},
		{`SELECT FORMAT("%'d %'x %'o %x %X %#x %#o %o", 123456789, 123456789, 55555, 255, 255, 255, 8, 8)`, "123,456,789 75b:cd15 15,4403 ff FF 0xff 010 10"},
		{`SELECT FORMAT('%f %.2f %8.3f|%-8.1f|%08.2f %e %.1E %g %G %g %g', 1.5, 2.345, 1.0, 1.0, -1.0, 12345.678, 0.5, 100000.0, 1e20, 1e-5, 1234567.0)`, "1.500000 2.35    1.000|1.0     |-0001.00 1.234568e+04 5.0E-01 100000 1E+20 1e-05 1.23457e+06"},
		{`SELECT FORMAT('%f %F %5e|%g', CAST('nan' AS FLOAT64), CAST('-inf' AS FLOAT64), CAST('inf' AS FLOAT64), 3), FORMAT("%'.2f", 1234567.891), FORMAT('%#g %#.0f', 1.5, 2.0)`, "nan -INF   inf|3 1,234,567.89 1.50000 2."},
		{`SELECT FORMAT('%s %5s|%-5s|%.2s|%*d|%-*d|%.*f', 'é', 'é', 'é', 'éàü', 4, 7, 4, 7, 1, 2.25), FORMAT('100%%'), FORMAT('%*d|', -4, 7)`, "é     é|é    |éà|   7|7   |2.2 100% 7   |"},
		{`SELECT FORMAT('%t %T', 'a"b', 'a"b'), FORMAT('%t %T', b'a\x00é', b'"'), FORMAT('%t %T', 1.0, 2.5), FORMAT('%t %T', CAST('inf' AS FLOAT64), CAST('nan' AS FLOAT64)), FORMAT('%T', "a'b\n")`, `a"b 'a"b' a\x00\xc3\xa9 b'"' 1.0 2.5 inf CAST("nan" AS FLOAT64) "a'b\n"`},
		{`SELECT FORMAT('%t %T %t', DATE '2024-02-29', DATE '2024-02-29', TRUE), FORMAT('%t|%T', TIMESTAMP '2024-02-29 01:02:03.5', TIMESTAMP_SECONDS(0))`, `2024-02-29 DATE "2024-02-29" true 2024-02-29 01:02:03.500+00|TIMESTAMP "1970-01-01 00:00:00+00"`},
		{`SELECT FORMAT('%t %T', ['a', NULL], ['a', NULL]), FORMAT('%t %T %T', STRUCT(1 AS a, 'x' AS b), STRUCT(1, 'x'), STRUCT(1)), FORMAT('%6t|%.2t', 1, 'abc')`, `[a, NULL] ["a", NULL] (1, x) (1, "x") STRUCT(1)      1|ab`},
		{`SELECT FORMAT('%t %T', NULL, NULL), FORMAT('%d', NULL), FORMAT(NULL, 1), FORMAT('%*d', NULL, 1), FORMAT('%s %t', 'a', f['none']) FROM t LIMIT 1`, "NULL NULL NULL NULL NULL a NULL"},
		{`SELECT SAFE.FORMAT('%*d', 2000000000, 1), SAFE.TO_INT64(b'a'), SAFE.TIMESTAMP('x'), SAFE.ARRAY_FIRST(GENERATE_ARRAY(1, 0)), SAFE.DATE(2024, 13, 1), SAFE.TIMESTAMP_SECONDS(9223372036854775807), SAFE.TO_INT64(b'\x00\x00\x00\x00\x00\x00\x00\x01')`, "NULL NULL NULL NULL NULL NULL 1"},
		{`SELECT TO_JSON_STRING(STRUCT(1 AS a, 'é"<' AS b, [1.5, NULL] AS c, NULL)), TO_JSON_STRING(NULL), TO_JSON_STRING(b'ab'), TO_JSON_STRING(9007199254740993), TO_JSON_STRING(-9007199254740992)`, `{"a":1,"b":"é\"<","c":[1.5,null],"_field_4":null} null "YWI=" "9007199254740993" -9007199254740992`},
		{`SELECT TO_JSON_STRING([TIMESTAMP '2024-02-29 01:02:03.5', NULL]), TO_JSON_STRING(DATE '2024-02-29'), TO_JSON_STRING(CAST('-inf' AS FLOAT64)), TO_JSON_STRING(TRUE), TO_JSON_STRING(10.0), TO_JSON_STRING([1], NULL)`, `["2024-02-29T01:02:03.5Z",null] "2024-02-29" "-Infinity" true 10 NULL`},
		{`SELECT TO_JSON_STRING(STRUCT([1, 2] AS a, GENERATE_ARRAY(1, 0) AS b), TRUE)`, "{\n  \"a\": [\n    1,\n    2\n  ],\n  \"b\": []\n}"},
		{`SELECT JSON_VALUE_ARRAY('{"a": [1, "x", null, true]}', '$.a'), JSON_VALUE_ARRAY('[1, {}]'), JSON_VALUE_ARRAY('1')`, "[1 x NULL true] NULL NULL"},
		{`SELECT SAFE.PARSE_DATE('%F', 'x'), SAFE.DATE_ADD('9999-12-31', INTERVAL 1 DAY), DATE_ADD(NULL, INTERVAL 1 DAY)`, "NULL NULL NULL"},
		{`SELECT LENGTH(CAST(f['model'] AS STRING)) AS l, COUNT(*) FROM t GROUP BY l`, "3 6"},
	} {
		got, err := db.run(q.sql)
		if err != nil || got != q.want {
			t.Errorf("%s\ngot  %q, %v\nwant %q", q.sql, got, err, q.want)
		}
	}
}

var update = flag.Bool("update", false, "write the lists of docs/sql-functions.md")

// withOptions are signatures in which the last argument of a form is optional where the form before
// lacks only it.
func withOptions(signatures []string) (all []string) {
	for _, s := range signatures {
		args, result, _ := strings.Cut(s, ") ")
		if last := len(all) - 1; last >= 0 {
			before, same, _ := strings.Cut(all[last], ") ")
			if more, ok := strings.CutPrefix(args, before+", "); ok && same == result && !strings.ContainsAny(more, "[,") {
				all[last] = before + " [, " + more + "]) " + result
				continue
			}
		}
		all = append(all, s)
	}
	return all
}

// folded are signatures in which TEXT stands for two of STRING and BYTES, FLOAT for two of FLOAT64
// and FLOAT32, NUMBER for two of INT64 and FLOAT64, and DOC for two of STRING and JSON.
func folded(signatures []string) (all []string) {
	for i := 0; i < len(signatures); i++ {
		name, rest, ok := strings.Cut(signatures[i], "(STRING")
		arg, result, _ := strings.Cut(rest, ") ")
		for _, of := range [][2]string{{"JSON", "DOC"}, {"STRING", "STRING"}} { // the result, too, or not
			twin := func(doc, to string) string {
				return name + "(" + doc + arg + ") " + strings.Replace(result, "STRING", to, 1)
			}
			if at := slices.Index(signatures, twin("JSON", of[0])); ok && at >= 0 {
				signatures[i] = twin("DOC", of[1])
				signatures = slices.Delete(signatures, at, at+1)
				break
			}
		}
	}
	for _, f := range [][3]string{{"STRING", "BYTES", "TEXT"}, {"FLOAT64", "FLOAT32", "FLOAT"}, {"INT64", "FLOAT64", "NUMBER"}} {
		all = nil
		replaced := func(s, from, to string) string {
			name := strings.Index(s, "(")
			return s[:name] + strings.ReplaceAll(s[name:], from, to)
		}
		gone := map[string]bool{}
		for _, s := range signatures {
			if twin := replaced(s, f[0], f[1]); twin != s && slices.Contains(signatures, twin) {
				s, gone[twin] = replaced(s, f[0], f[2]), true
			}
			all = append(all, s)
		}
		all = slices.DeleteFunc(all, func(s string) bool { return gone[s] })
		signatures = all
	}
	return withOptions(all)
}

// The lists on the page of functions are the list of functions.
func TestPageOfFunctions(t *testing.T) {
	const name = "../docs/sql-functions.md"
	page, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	intro, _, _ := strings.Cut(string(page), "\n## ")
	want.WriteString(intro)
	for _, heading := range []string{"Functions of a row", "Aggregate functions", "Window functions"} {
		fmt.Fprintf(&want, "\n## %s\n", heading)
		var lines []string
		lineOf := map[string]int{} // the line of functions that are alike
		for _, f := range sql.Functions() {
			if f.Aggregate != (heading == "Aggregate functions") || f.Window != (heading == "Window functions") {
				continue
			}
			if len(f.Signatures) == 0 {
				t.Errorf("%s has no signature", f.Name)
			}
			all := folded(f.Signatures)
			alike := strings.ReplaceAll(strings.Join(all, "; "), f.Name+"(", "(")
			if at, ok := lineOf[alike]; ok {
				lines[at] += ", `" + f.Name + "`"
				continue
			}
			lineOf[alike] = len(lines)
			lines = append(lines, "\n- `"+strings.Join(all, "`, `")+"`")
		}
		want.WriteString(strings.Join(lines, "") + "\n")
	}
	if *update {
		if err := os.WriteFile(name, []byte(want.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(page) != want.String() {
		t.Errorf("%s is not the list of functions; go test ./sql -run TestPageOfFunctions -update writes it", name)
	}
}

func TestErrorsOfFunctions(t *testing.T) {
	db := openPlanes(t)
	for _, q := range []struct{ sql, want string }{
		{`SELECT LENGHT('a')`, `Function not found: LENGHT; did you mean LENGTH? [at 1:8]`},
		{`SELECT COUTN(1)`, `did you mean COUNT?`},
		{`SELECT LENGTH(1)`, `LENGTH does not take (INT64); it is LENGTH(STRING) INT64, or LENGTH(BYTES) INT64 [at 1:8]`},
		{`SELECT LENGTH()`, `LENGTH does not take ()`},
		{`SELECT REPEAT('abc', 9223372036854775807)`, `larger than 16 MiB`},
		{`SELECT LPAD('a', 9223372036854775807)`, `larger than 16 MiB`},
		{`SELECT REPEAT(REPEAT('a', 16000000), 2)`, `larger than 16 MiB`},
		{`SELECT SUBSTR('a', 1, -1)`, `must not be negative`},
		{`SELECT SUBSTR('a', -9223372036854775808, 9223372036854775807), REGEXP_CONTAINS('a', '(')`, `Cannot parse regular expression`},
		{`SELECT REGEXP_REPLACE(REPEAT('a', 10000), 'a', REPEAT('b', 10000))`, `larger than 16 MiB`},
		{`SELECT MOD(1, 0)`, `division by zero`},
		{`SELECT DIV(-9223372036854775808, -1)`, `int64 overflow`},
		{`SELECT SQRT(-1)`, `SQRT(-1) is not defined [at 1:8]`},
		{`SELECT JSON_VALUE('{}', 'a')`, `is not a JSONPath`},
		{`SELECT EXTRACT(HOUR FROM DATE '2024-01-01')`, `EXTRACT takes no HOUR of DATE`},
		{`SELECT GENERATE_ARRAY(1, 9223372036854775807)`, `GENERATE_ARRAY makes more than 1048576 elements [at 1:8]`},
		{`SELECT GENERATE_ARRAY(1, 2, 0)`, `must not be 0`},
		{`SELECT CHR(55296)`, `55296 is not the code of a character`},
		{`SELECT COUNT(*) FROM UNNEST(GENERATE_ARRAY(1, 1000000)), UNNEST(GENERATE_ARRAY(1, 1000000))`, `UNNEST makes more than`},
		{`SELECT DATE_ADD('2024-01-01', INTERVAL 9223372036854775807 YEAR)`, `years 1 to 9999`},
		{`SELECT TIMESTAMP_ADD(TIMESTAMP_SECONDS(0), INTERVAL -9223372036854775808 DAY)`, `years 1 to 9999`},
		{`SELECT TIMESTAMP_ADD(TIMESTAMP_SECONDS(0), INTERVAL 1 MONTH)`, `MONTH is not a part of a TIMESTAMP`},
		{`SELECT DATE_TRUNC('2024-01-01', FORTNIGHT)`, `FORTNIGHT is not a part`},
		{`SELECT 1 + INTERVAL 1 DAY`, `+ cannot be computed of INT64 and INTERVAL`},
		{`SELECT DATE_DIFF('2024-01-01', 1, DAY)`, `DATE_DIFF does not take (STRING, INT64, STRING); it is DATE_DIFF(DATE, DATE, PART) INT64`},
		{`SELECT PARSE_DATE('%?', '2024-01-01')`, `%? in the format "%?" is not an element that times are read by`},
		{`SELECT PARSE_DATE('%F %H', '2024-01-01 00')`, `%H in the format "%F %H" is not an element of a DATE`},
		{`SELECT PARSE_DATE('%F', '2024-01-32')`, `"2024-01-32" is not a time in the format "%F": %F does not read "2024-01-32"`},
		{`SELECT PARSE_TIMESTAMP('%Y at %H', '2024 at 7h')`, `at its end is "h"`},
		{`SELECT FORMAT_DATE('%9999999Y', '2024-01-01')`, `a width of 9999999; it may have up to 100`},
		{`SELECT FORMAT_DATE(REPEAT('%c', 3000), '2024-01-01')`, `the format has 6000 bytes`},
		{`SELECT FORMAT_TIMESTAMP('%c', TIMESTAMP_SECONDS(0), '../etc')`, `is not a time zone`},
		{`SELECT PARSE_TIMESTAMP('%F', 'x')`, `"x" is not a time in the format "%F"`},
		{`SELECT TIMESTAMP_SECONDS(0)` + strings.Repeat(` + INTERVAL 1 DAY`, 999) + ` + 1`, `cannot be computed`},
		{`SELECT ARRAY_FIRST([1][SAFE_OFFSET(2)])`, `the argument of ARRAY_FIRST is INT64`},
	} {
		_, err := db.run(q.sql)
		if e, ok := errors.AsType[*sql.Error](err); !ok || !strings.Contains(e.Error(), q.want) {
			t.Errorf("%.80s: %v; want %s", q.sql, err, q.want)
		}
	}
}

// Mistakes in FORMAT and its like are found before a row is read, if the format is known.
func TestErrorsOfFormats(t *testing.T) {
	db := openPlanes(t)
	for _, q := range []struct{ sql, want string }{
		{`SELECT FORMAT('%q', 1) FROM t WHERE FALSE`, `"%q" does not begin with a specifier of FORMAT`},
		{`SELECT FORMAT('a %')`, `"%" does not begin`},
		{`SELECT FORMAT('%d')`, `argument 2 is missing`},
		{`SELECT FORMAT('%d %*d', 1, 2)`, `argument 4 is missing`},
		{`SELECT FORMAT('%d', 1, 2)`, `argument 3 is not used`},
		{`SELECT FORMAT('%d', 1.5)`, `argument 2 of FORMAT is FLOAT64; the format needs INT64`},
		{`SELECT FORMAT('%s', f['model']) FROM t`, `argument 2 of FORMAT is BYTES; the format needs STRING`},
		{`SELECT FORMAT('%s', 1)`, `the format needs STRING`},
		{`SELECT FORMAT('%f', 'x')`, `the format needs FLOAT64`},
		{`SELECT FORMAT('%t', f) FROM t`, `argument 2 of FORMAT is MAP<BYTES, BYTES>`},
		{`SELECT FORMAT('%99999999999d', 1)`, `does not begin with a specifier`},
		{`SELECT FORMAT('%*d', 9223372036854775807, 1)`, `larger than 16 MiB`},
		{`SELECT FORMAT('%16000000d%16000000d', 1, 1)`, `larger than 16 MiB`},
		{`SELECT FORMAT('%.99999d', 1)`, `a precision of FORMAT is 99999; it may be up to 10000`},
		{`SELECT FORMAT('%.*f', 2147483648, 1.5)`, `a precision of FORMAT is 2147483648; it may be up to 2147483647`},
		{`SELECT ROUND(1.7e308, -308)`, `Floating point overflow in ROUND`},
		{`SELECT FORMAT()`, `FORMAT takes a format and its arguments`},
		{`SELECT FORMAT(CONCAT('%', CAST(f['model'] AS STRING)), 1) FROM t`, `does not begin with a specifier`},
		{`SELECT TO_JSON_STRING(f) FROM t`, `TO_JSON_STRING does not take MAP<BYTES, BYTES>`},
		{`SELECT TO_JSON_STRING([STRUCT(f)]) FROM t`, `does not take MAP`},
		{`SELECT TO_JSON_STRING(1, 'x')`, `the second argument of TO_JSON_STRING is STRING; it must be BOOL`},
		{`SELECT TO_JSON_STRING()`, `TO_JSON_STRING takes a value`},
		{`SELECT SAFE.TO_INT64(FROM_HEX('x'))`, `hexadecimal`},
		{`SELECT SAFE.IF(TRUE, 1, 2)`, `SAFE. cannot precede IF`},
		{`SELECT SAFE.SUM(1)`, `SAFE. cannot precede SUM`},
		{`SELECT SAFE.FORMATT('%d', 1)`, `did you mean FORMAT?`},
	} {
		if got, err := db.run(q.sql); err == nil || !strings.Contains(err.Error(), q.want) {
			t.Errorf("%s\ngot  %q, %v\nwant %s", q.sql, got, err, q.want)
		}
	}
}

// A nil query stays nil.
func TestNilQueries(t *testing.T) {
	var none *sql.Query
	if none.At(time.Now()) != nil || none.InMemory() != nil {
		t.Error("a query was made of nothing")
	}
}

// What a message says that functions take, and which functions materialized views can have,
// is what the list of functions says.
func TestMessagesListFunctions(t *testing.T) {
	for text, want := range map[string]string{
		"SELECT STRING_AGG('a' IGNORE NULLS) FROM t":                         "STRING_AGG does not take IGNORE NULLS",
		"SELECT SUM(n['i'] RESPECT NULLS) FROM t":                            "SUM does not take RESPECT NULLS; ARRAY_AGG does",
		"SELECT SUM(n['i'] LIMIT 2) FROM t":                                  "SUM takes no ORDER BY and no LIMIT; ARRAY_AGG, STRING_AGG and ARRAY_CONCAT_AGG do",
		"SELECT CURRENT_TIME":                                                "Function not found: CURRENT_TIME; there is no TIME; CURRENT_DATETIME has the time too",
		"SELECT SAFE.SESSION_USER()":                                         "Function not found: SAFE.SESSION_USER",
		"SELECT SAFE.COUNT(1)":                                               "SAFE. cannot precede COUNT",
		"SELECT SAFE.CAST(1)":                                                "SAFE. cannot precede CAST",
		"SELECT _key, COUNTIF(TRUE) AS c FROM t GROUP BY _key":               "a materialized view cannot have COUNTIF; it can have COUNT, SUM, MIN, MAX, AVG, ANY_VALUE, BIT_AND, BIT_OR, BIT_XOR, and those of HLL_COUNT",
		"SELECT _key, SESSION_USER() AS c FROM t ORDER BY _key":              "a materialized view cannot have SESSION_USER, whose value is not the same in every call",
		"SELECT _key, COUNT(*) AS c FROM t GROUP BY ALL":                     "a materialized view cannot have GROUP BY ALL and grouping sets",
		"SELECT _key, COUNT(*) AS c FROM t GROUP BY ROLLUP(_key)":            "a materialized view cannot have GROUP BY ALL and grouping sets",
		"SELECT _key, DATETIME '2024-01-01' AS c FROM t ORDER BY _key":       "the column c is DATETIME; a column of a materialized view can be",
		"SELECT _key, NUMERIC '1' AS c FROM t ORDER BY _key":                 "the column c is NUMERIC; a column of a materialized view can be",
		"SELECT _key, INTERVAL 1 DAY AS c FROM t ORDER BY _key":              "the column c is INTERVAL; a column of a materialized view can be",
		"SELECT _key, RANK() OVER (ORDER BY _key) AS c FROM t ORDER BY _key": "window",
		"SELECT _key, COUNT(*) AS c FROM t GROUP BY _key QUALIFY TRUE":       "QUALIFY",
		"SELECT _key, CURRENT_DATETIME() AS c FROM t ORDER BY _key":          "a materialized view cannot have CURRENT_DATETIME, whose value is not the same in every call",
	} {
		q, err := sql.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		table := schema.Table{Families: []schema.Family{{Name: "n", Type: cells.TypeI64}}}
		if strings.Contains(text, " AS c ") {
			_, err = q.On(table).Materialized()
		} else {
			_, err = q.On(table).Plan(sql.Params{})
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
