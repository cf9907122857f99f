package sql_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/sql"
)

func TestQueries(t *testing.T) {
	db := openPlanes(t)
	for _, q := range []struct{ sql, want string }{
		{`SELECT _key FROM t`, "a1\na2\nb1\nb2\nc1\n\xff\xff"},
		{`select _key from t limit 2;`, "a1\na2"},
		{`SELECT _key FROM t LIMIT 0`, ""},
		{`SELECT * FROM t WHERE _key = 'a1'`, "a1 {model=757} {even=yes} {i=-2}"},
		{`SELECT f['model'], g['even'], f['no'] FROM t WHERE _key < 'b'`, "757 yes NULL\n758 NULL NULL"},
		{`SELECT _key AS k, f['model'] m FROM t WHERE STARTS_WITH(_key, 'b')`, "b1 759\nb2 760"},
		{`SELECT _key FROM t WHERE STARTS_WITH(_key, b'\xff')`, "\xff\xff"},
		{`SELECT _key FROM t WHERE STARTS_WITH(_key, '')`, "a1\na2\nb1\nb2\nc1\n\xff\xff"},
		{`SELECT _key FROM t WHERE _key BETWEEN 'a2' AND 'b1'`, "a2\nb1"},
		{`SELECT _key FROM t WHERE _key NOT BETWEEN 'a2' AND 'c1'`, "a1\n\xff\xff"},
		{`SELECT _key FROM t WHERE 'a2' < _key AND _key <= 'b2'`, "b1\nb2"},
		{`SELECT _key FROM t WHERE _key >= 'b2' ORDER BY _key`, "b2\nc1\n\xff\xff"},
		{`SELECT _key FROM t WHERE _key > 'b2' ORDER BY _key DESC LIMIT 1`, "\xff\xff"},
		{`SELECT _key FROM t WHERE _key <= 'b2' ORDER BY _key DESC`, "b2\nb1\na2\na1"},
		{`SELECT _key FROM t WHERE _key IN ('c1', 'a1', 'nope')`, "a1\nc1"},
		{`SELECT _key FROM t WHERE _key NOT IN ('c1', 'a1', 'b1', b'\xff\377')`, "a2\nb2"},
		{`SELECT _key FROM t WHERE _key = 'a1' OR _key = 'c1' AND g['even'] = 'yes' OR STARTS_WITH(_key, 'b')`, "a1\nb1\nb2\nc1"},
		{`SELECT _key FROM t WHERE _key != 'a1' AND _key < 'b2'`, "a2\nb1"},
		{`SELECT _key FROM t WHERE _key = NULL`, ""},
		{`SELECT _key FROM t WHERE _key < ''`, ""},
		{`SELECT _key FROM t WHERE _key = 'a1' AND _key = 'a2'`, ""},
		{`SELECT _key FROM t WHERE g['even'] IS NOT NULL`, "a1\nb1\nc1"},
		{`SELECT _key FROM t WHERE NOT g['even'] = 'yes'`, ""}, // NULL is neither
		{`SELECT _key FROM t WHERE g['even'] IS NULL AND ENDS_WITH(_key, '2')`, "a2\nb2"},
		{`SELECT _key FROM t LIMIT 2 OFFSET 3`, "b2\nc1"},
		{`SELECT _key FROM t ORDER BY _key DESC LIMIT 2 OFFSET 5`, "a1"},
		{`SELECT _key FROM t WHERE g['even'] = 'yes' LIMIT 1 OFFSET 1`, "b1"},
		{`SELECT _key FROM t LIMIT 9 OFFSET 9`, ""},
		{`SELECT COUNT(*) FROM t`, "6"},
		{`SELECT count(*) AS n, COUNT(*) FROM t WHERE g['even'] IS NOT NULL AND _key < 'c'`, "2 2"},
		{`SELECT COUNT(*) FROM t WHERE _key = 'none' AND _key = 'nowhere'`, "0"},
		{`SELECT COUNT(*) FROM t LIMIT 0`, ""},
		{`SELECT COUNT(*) FROM t LIMIT 1 OFFSET 1`, ""},
		{`SELECT _key FROM t WHERE _key LIKE 'a%'`, "a1\na2"},
		{`SELECT _key FROM t WHERE _key LIKE '_1' AND NOT _key LIKE 'b_'`, "a1\nc1"},
		{`SELECT _key FROM t WHERE _key NOT LIKE '%1'`, "a2\nb2\n\xff\xff"},
		{`SELECT _key FROM t WHERE _key LIKE 'c1'`, "c1"},
		{`SELECT _key FROM t WHERE _key LIKE b'\xff_'`, "\xff\xff"},
		{`SELECT _key FROM t WHERE _key LIKE NULL`, ""},
		{`SELECT _key FROM t WHERE CAST(f['model'] AS STRING) LIKE '%6%1%'`, "c1"},
		{`SELECT 'é%x' LIKE '_\\%_', 'é' LIKE '__', '' LIKE '%', '' LIKE '', 'abcab' LIKE '%ab', 'aXbXc' LIKE 'a%X_' FROM t LIMIT 1`, "true false true true true true"},
		{`SELECT g['even'], f['model'] FROM t WHERE n['i'] >= 0`, "yes 759\nyes 761"},
		{`SELECT g, f['model'] FROM t WHERE n['i'] = 2`, "{even=yes} 761"},
		{`SELECT n['i'] FROM t WHERE n['i'] >= 0`, "0\n2"},
		{`SELECT n['i'], -n['i'] FROM t WHERE n['i'] < -1.5`, "-2 2"},
		{`SELECT CAST(n['i'] AS STRING), CAST(n['i'] AS FLOAT64) FROM t WHERE _key = 'c1'`, "2 2"},
		{`SELECT CAST(f['model'] AS STRING) FROM t WHERE CAST(CAST(f['model'] AS STRING) AS INT64) > 760`, "761\n762"},
		{`SELECT SAFE_CAST('x' AS INT64), CAST('0x1f' AS INT64), CAST(TRUE AS INT64), NULL FROM t LIMIT 1`, "NULL 31 1 NULL"},
		{`SELECT TO_INT64(b'\x00\x00\x00\x00\x00\x00\x01\x00') FROM t LIMIT 1`, "256"},
		{`SELECT f['model'][1].value, f['model'][0].timestamp FROM t(with_history => TRUE) WHERE _key = 'a1'`, "old 2000"},
		{`SELECT f['model'][0].value FROM t(with_history => TRUE, latest_n => 1, before => TIMESTAMP '1970-01-01 00:00:00.002+00') LIMIT 1`, "old"},
		{`SELECT f['model'] FROM t(as_of => TIMESTAMP('1970-01-01T00:00:00.001Z')) LIMIT 1`, "old"},
		{`SELECT _key FROM t(with_history => TRUE, after => TIMESTAMP '1970-01-01 00:00:00.002') LIMIT 1`, ""},
		{"SELECT `_key` FROM `t` -- all\n/* but */ WHERE _key > \"b2\" # two", "c1\n\xff\xff"},
		{`SELECT 'it\'s \u00e9\x41\n', r'\n', 1e3, .5, 0x10 FROM t LIMIT 1`, "it's éA\n \\n 1000 0.5 16"},
	} {
		got, err := db.run(q.sql)
		if err != nil || got != q.want {
			t.Errorf("%s\ngot  %q, %v\nwant %q", q.sql, got, err, q.want)
		}
	}
}

// A query with a condition returns exactly the rows for which the condition, as a
// column of a query without it, is true.
func TestRowsThatAreReadAreThoseThatAreWanted(t *testing.T) {
	db := openPlanes(t)
	rapid.Check(t, func(t *rapid.T) {
		cond := conditions(3).Draw(t, "condition")
		all, err := db.run("SELECT _key, " + cond + " FROM t")
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for line := range strings.SplitSeq(all, "\n") {
			if key, ok := strings.CutSuffix(line, " true"); ok {
				want = append(want, key)
			}
		}
		order := rapid.SampledFrom([]string{"ASC", "DESC"}).Draw(t, "order")
		if order == "DESC" {
			slices.Reverse(want)
		}
		got, err := db.run("SELECT _key FROM t WHERE " + cond + " ORDER BY _key " + order)
		if err != nil || got != strings.Join(want, "\n") {
			t.Fatalf("%s: got %q, %v; want %q", cond, got, err, want)
		}
	})
}

// conditions are those on row keys, nested so deep.
func conditions(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		key := rapid.SampledFrom([]string{"''", "'a'", "'a1'", "'a2'", "'b1'", "'b9'", "'c1'", `b'\xff'`, `b'\xff\xff'`, "NULL"})
		kind := rapid.IntRange(0, 9).Draw(t, "kind")
		if depth == 0 && kind < 8 {
			kind %= 4
		}
		switch kind {
		case 8:
			return rapid.SampledFrom([]string{"g['even'] = 'yes'", "g['even'] IS NULL", "f['no'] IS NOT NULL", "n['i'] > -1", "CAST(n['i'] AS STRING) = '2'",
				"g['even'] LIKE 'y%'", "f['model'] != g['even']", "n['i'] IN UNNEST([0, NULL])", "n['i'] IN UNNEST([])", "(n['i'] = 0) IS TRUE", "IFNULL(n['i'], 1) = 1", "f['model'] IN UNNEST([g['even'], '760'])", "n['i'] BETWEEN -2 AND 0", "SAFE_CAST(CAST(f['model'] AS STRING) AS INT64) > 758"}).Draw(t, "column")
		case 9:
			return "_key LIKE " + rapid.SampledFrom([]string{"'%'", "'a%'", "'_1'", "'b2'", `b'\xff%'`, "''", "NULL"}).Draw(t, "pattern")
		case 0, 1:
			return "_key " + rapid.SampledFrom([]string{"=", "!=", "<", "<=", ">", ">="}).Draw(t, "op") + " " + key.Draw(t, "key")
		case 2:
			return key.Draw(t, "key") + " " + rapid.SampledFrom([]string{"<", "<=", ">", ">="}).Draw(t, "op") + " _key"
		case 3:
			if rapid.Bool().Draw(t, "unnest") {
				return "_key IN UNNEST([" + strings.Join(rapid.SliceOfN(key, 0, 3).Draw(t, "keys"), ", ") + "])"
			}
			return "STARTS_WITH(_key, " + key.Draw(t, "prefix") + ")"
		case 4:
			return "NOT (" + conditions(depth-1).Draw(t, "negated") + ")"
		}
		word := rapid.SampledFrom([]string{"AND", "OR"}).Draw(t, "word")
		return "(" + conditions(depth-1).Draw(t, "left") + ") " + word + " (" + conditions(depth-1).Draw(t, "right") + ")"
	})
}

// The error of a wrong query has its place.
func TestErrorsHaveTheirPlace(t *testing.T) {
	db := openPlanes(t)
	deep := strings.Repeat("(", 200) + "1" + strings.Repeat(")", 200)
	for _, q := range []struct{ sql, want string }{
		{``, `expected SELECT but got the end of the query [at 1:1]`},
		{"SELECT _key\nFRO t", `expected FROM but got "t" [at 2:5]`},
		{`SELECT é FROM t`, `unexpected 'é' [at 1:8]`},
		{`SELECT _key FROM nope`, `Table not found: nope [at 1:18]`},
		{`SELECT _key FROM T1`, `Table not found: T1; did you mean "t"? [at 1:18]`},
		{`SELECT nn FROM t`, `table t has _key and its column families; did you mean "n"? [at 1:8]`},
		{`FROM t |> SELECT _key AS alpha |> SELECT alhpa`, `the stage before has alpha; did you mean "alpha"?`},
		{`FROM t |> SELECT _key AS alpha |> DROP alhpa`, `there is no column alhpa; did you mean "alpha"?`},
		{`SELECT * EXCEPT (_kye) FROM t`, `did you mean "_key"?`},
		{`SELECT STRUCT(1 AS alpha).alhpa`, `has no field "alhpa"; did you mean "alpha"?`},
		{`SELECT nope['x'] FROM t`, `Unrecognized name: nope; table t has _key and its column families [at 1:8]`},
		{`SELECT _key FROM t WHERE`, `expected an expression but got the end of the query [at 1:25]`},
		{`SELECT _key FROM t WHERE _key`, `a condition is BYTES; it must be BOOL [at 1:26]`},
		{`SELECT _key FROM t WHERE _key = 1`, `BYTES = INT64 cannot be compared; TO_INT64 and TO_FLOAT64 read numbers`},
		{`SELECT f.model FROM t`, `MAP<BYTES, BYTES> has no field "model"; brackets take a column, as in ['model']`},
		{`SELECT NOW()`, `Function not found: NOW; CURRENT_TIMESTAMP() does it`},
		{`SELECT _key FROM t WHERE f = 'x'`, `MAP<BYTES, BYTES> = `},
		{`SELECT CAST(_key AS INT64) FROM t`, `Invalid cast from BYTES to INT64; CAST(CAST(`},
		{`SELECT CAST('x' AS INT64) FROM t`, `"x" cannot be cast to INT64 [at 1:8]`},
		{`SELECT CAST(_key AS UUID) FROM t`, `type UUID is not one of`},
		{`SELECT CAST(_key AS STRING) FROM t`, `not valid UTF-8`},
		{`SELECT f['model'][7] FROM t(with_history => TRUE)`, `index 7 is out of range`},
		{`SELECT f['model'][0] FROM t`, `BYTES has no elements`},
		{`SELECT _key FROM t(with_history => 1)`, `with_history is INT64; it must be BOOL`},
		{`SELECT _key FROM t(latest_n => 2)`, `latest_n wants with_history => TRUE [at 1:20]`},
		{`SELECT _key FROM t(newest => 2)`, `unknown option newest`},
		{`SELECT _key FROM t ORDER BY f`, `rows cannot be ordered by MAP<BYTES, BYTES> [at 1:29]`},
		{`SELECT _key FROM t LIMIT x`, `expected a number of rows but got "x"`},
		{`SELECT _key FROM t LIMIT 99999999999999999999`, `not an INT64`},
		{`SELECT @p FROM t`, `@p has no type`},
		{`SELECT _key, COUNT(*) FROM t`, `the column _key is neither grouped nor aggregated [at 1:8]`},
		{`SELECT SUM(_key) FROM t`, `SUM takes numbers, not BYTES; TO_INT64 and TO_FLOAT64 read numbers`},
		{`SELECT TIMESTAMP('a', 'b') FROM t`, `"b" is not a time zone; there are names such as Europe/Paris, and offsets such as +02:00 [at 1:8]`},
		{`SELECT _key FROM t WHERE COUNT(*) > 1 GROUP BY _key`, `WHERE cannot have an aggregate function; HAVING can [at 1:35]`},
		{`SELECT 'x FROM t`, `the literal does not end [at 1:8]`},
		{`SELECT '\q' FROM t`, `illegal escape sequence [at 1:9]`},
		{`SELECT _key /* FROM t`, `the comment does not end`},
		{`SELECT ` + deep + ` FROM t`, `nested too deeply`},
		{`SELECT f` + strings.Repeat("['x']", 200) + ` FROM t`, `nested too deeply`},
	} {
		_, err := db.run(q.sql)
		if e, ok := errors.AsType[*sql.Error](err); !ok || !strings.Contains(e.Error(), q.want) {
			t.Errorf("%.80s: %v; want %s", q.sql, err, q.want)
		}
	}
}
