package sql_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/sql"
)

func TestGroupsAndOrder(t *testing.T) {
	db := openPlanes(t)
	for _, q := range []struct{ sql, want string }{
		{`SELECT g['even'], COUNT(*) FROM t GROUP BY g['even']`, "yes 3\nNULL 3"},
		{`SELECT g['even'] AS e, COUNT(*) AS n FROM t GROUP BY e ORDER BY n DESC, e`, "NULL 3\nyes 3"},
		{`SELECT COUNT(*), COUNT(n['i']), SUM(n['i']), MIN(n['i']), MAX(n['i']), AVG(n['i']) FROM t`, "6 3 0 -2 2 0"},
		{`SELECT SUM(n['i']), COUNT(*), MIN(_key), AVG(n['i']) FROM t WHERE _key = 'none'`, "NULL 0 NULL NULL"},
		{`SELECT n['i'] > 0, SUM(n['i'] * 2) + 1 FROM t WHERE n['i'] IS NOT NULL GROUP BY 1`, "false -3\ntrue 5"},
		{`SELECT g['even'] FROM t GROUP BY 1 HAVING COUNT(n['i']) > 0`, "yes"},
		{`SELECT COUNT(DISTINCT g['even']), COUNT(DISTINCT _key), COUNTIF(n['i'] >= 0) FROM t`, "1 6 2"},
		{`SELECT STRING_AGG(CAST(f['model'] AS STRING), '+'), ARRAY_AGG(n['i']) FROM t WHERE _key < 'b2'`, "757+758+759 [-2 NULL 0]"},
		{`SELECT APPROX_COUNT_DISTINCT(x), APPROX_QUANTILES(x, 2), APPROX_QUANTILES(x, 4), APPROX_QUANTILES(DISTINCT x, 1), SUM(DISTINCT x), AVG(DISTINCT x) FROM UNNEST([5, 1, NULL, 3, 3, 2]) AS x`, "4 [1 3 5] [1 2 3 3 5] [1 5] 11 2.75"},
		{`SELECT APPROX_QUANTILES(n['i'], 3), APPROX_COUNT_DISTINCT(n['i']) FROM t WHERE _key = 'none'`, "NULL 0"},
		{`SELECT HLL_COUNT.EXTRACT(HLL_COUNT.INIT(_key)), HLL_COUNT.EXTRACT(HLL_COUNT.INIT(n['i'], 24)), TO_HEX(HLL_COUNT.INIT(1)), HLL_COUNT.INIT(f['none']), HLL_COUNT.EXTRACT(NULL), HLL_COUNT.EXTRACT(HLL_COUNT.INIT(DISTINCT g['even'])) FROM t`, "6 3 01004bb5c1fce0e5922f NULL 0 1"},
		{`FROM t |> AGGREGATE HLL_COUNT.INIT(_key) AS s GROUP BY g['even'] AS e |> AGGREGATE HLL_COUNT.MERGE(s), HLL_COUNT.EXTRACT(HLL_COUNT.MERGE_PARTIAL(s))`, "6 6"},
		{`SELECT HLL_COUNT.MERGE(f['none']), HLL_COUNT.MERGE_PARTIAL(f['none']), hll_count.merge(CAST(NULL AS BYTES)) FROM t`, "0 NULL 0"},
		{`SELECT HLL_COUNT.EXTRACT(HLL_COUNT.INIT(x)) BETWEEN 19000 AND 21000, LENGTH(HLL_COUNT.INIT(x)) FROM UNNEST(GENERATE_ARRAY(1, 20000)) AS x`, "true 16386"},
		{`EXPLAIN SELECT HLL_COUNT.INIT(f['model']) FROM t`, "read all rows of t\n  column f:model\ngroup by 0 keys, 1 aggregate functions; parts of the table on all processors, then merged\nselect 1 columns"},
		{`SELECT LOGICAL_AND(n['i'] < 3), LOGICAL_OR(n['i'] > 3), BIT_OR(n['i']), BIT_XOR(n['i']), ANY_VALUE(g['even']) FROM t WHERE n['i'] >= 0`, "true false 2 2 yes"},
		{`SELECT _key FROM t ORDER BY n['i'] DESC, _key LIMIT 4 OFFSET 1`, "b1\na1\na2\nb2"},
		{`SELECT _key, n['i'] AS i FROM t WHERE i IS NULL ORDER BY _key`, ""},
		{`SELECT n['i'] AS i FROM t ORDER BY i NULLS LAST LIMIT 2`, "-2\n0"},
		{`SELECT DISTINCT g['even'] FROM t ORDER BY 1`, "NULL\nyes"},
		{`SELECT * EXCEPT (f, n) FROM t WHERE _key = 'a1'`, "a1 {even=yes}"},
		{`SELECT * EXCEPT (f, g) REPLACE (n['i'] + 1 AS n) FROM t WHERE _key = 'a1'`, "a1 -1"},
		{`SELECT x, o FROM UNNEST([3, 1, 2]) AS x WITH OFFSET AS o ORDER BY x`, "1 1\n2 2\n3 0"},
		{`SELECT _key, h.value FROM t(with_history => TRUE), UNNEST(f['model']) AS h WHERE _key < 'a2'`, "a1 757\na1 old"},
		{`FROM t |> WHERE n['i'] IS NOT NULL |> AGGREGATE SUM(n['i']) AS s, COUNT(*) AS c GROUP BY n['i'] > 0 AS positive |> ORDER BY positive DESC |> SELECT positive, s, c`, "true 2 1\nfalse -2 2"},
		{`FROM t |> SELECT _key AS k, n['i'] AS i |> EXTEND i * 10 AS ten |> WHERE ten >= 0 |> DROP i |> RENAME ten AS x |> SET x = x + 1 |> LIMIT 1 OFFSET 1`, "c1 21"},
		{`FROM t |> SELECT g['even'] AS e |> DISTINCT |> ORDER BY e`, "NULL\nyes"},
		{`SELECT _key FROM t WHERE _key < 'b' |> AGGREGATE COUNT(*)`, "2"},
		{`SELECT 1, 2, 3 |> DISTINCT |> LIMIT 1`, "1 2 3"},                     // columns without names stay apart
		{`FROM t |> ORDER BY _key |> LIMIT 2 |> AGGREGATE COUNT(*) AS c`, "2"}, // a limit ends the stages before it, not those after
		{`FROM t |> AGGREGATE COUNT(*) AS c GROUP BY _key |> LIMIT 3 |> AGGREGATE SUM(c)`, "3"},
		{`EXPLAIN SELECT f['model'], COUNT(*) FROM t WHERE _key >= 'b' AND f['model'] = 'x' GROUP BY 1`, "read 1 ranges of rows of t\n  from \"b\" to \"\"\n  column f:model\nfilter rows\ngroup by 1 keys, 1 aggregate functions, on disk beyond 96 MiB; parts of the table on all processors, then merged\nselect 2 columns"},
		{`SELECT 1 + 2 * 3, 7 / 2, 1 - -1, 2.5 * 2, 6 & 3 | 8, 1 << 4, ~0, 'a' || 'b', [1] || [2], NULL + 1`, "7 3.5 2 5 10 16 -1 ab [1 2] NULL"},
		{`SELECT CASE WHEN FALSE THEN 1 WHEN TRUE THEN 2 ELSE 1/0 END, CASE 3 WHEN 3 THEN 'x' END, IF(NULL, 1, 2), CASE WHEN FALSE THEN 1 END`, "2 x 2 NULL"},
	} {
		got, err := db.run(q.sql)
		if strings.Contains(q.sql, "WHERE i IS NULL") { // an alias is not a column of the table
			if err == nil {
				t.Errorf("%s: no error", q.sql)
			}
			continue
		}
		if err != nil || got != q.want {
			t.Errorf("%s\ngot  %q, %v\nwant %q", q.sql, got, err, q.want)
		}
	}
}

func TestErrorsOfGroups(t *testing.T) {
	db := openPlanes(t)
	for _, q := range []struct{ sql, want string }{
		{`SELECT HLL_COUNT.INIT(1.5)`, "HLL_COUNT.INIT takes INT64, STRING or BYTES, not FLOAT64 [at 1:23]"},
		{`SELECT HLL_COUNT.INIT(1, 9)`, "the precision of HLL_COUNT.INIT must be a number from 10 to 24 [at 1:26]"},
		{`SELECT HLL_COUNT.MERGE(b'x')`, "HLL_COUNT.MERGE: the BYTES are not a sketch of HLL_COUNT.INIT: it has 1 bytes, and a sketch 10 or more [at 1:8]"},
		{`SELECT HLL_COUNT.EXTRACT(b'12345678901')`, "HLL_COUNT.EXTRACT: the BYTES are not a sketch of HLL_COUNT.INIT: its version is 49; want 1 [at 1:8]"},
		{`SELECT HLL_COUNT.MERGED(b'x')`, "Function not found: HLL_COUNT.MERGED; did you mean HLL_COUNT.MERGE? [at 1:8]"},
		{`SELECT 9223372036854775807 + 1`, `int64 overflow: 9223372036854775807 + 1 [at 1:28]`},
		{`SELECT -9223372036854775807 - 2`, `int64 overflow`},
		{`SELECT 4611686018427387904 * -4`, `int64 overflow`},
		{`SELECT 1 / 0`, `division by zero`},
		{`SELECT 1e308 * 10`, `Floating point overflow`},
		{`SELECT SUM(x) FROM UNNEST([9223372036854775807, 1]) AS x`, `INT64 overflow in SUM [at 1:8]`},
		{`SELECT 'a' + 1`, `+ cannot be computed of STRING and INT64 [at 1:12]`},
		{`SELECT APPROX_QUANTILES(x, 0) FROM UNNEST([1]) AS x`, `the last argument of APPROX_QUANTILES must be from 1 to 100000 [at 1:28]`},
		{`SELECT APPROX_QUANTILES(x) FROM UNNEST([1]) AS x`, `APPROX_QUANTILES takes an expression, and an INT64`},
		{`SELECT COUNT(*) FROM t GROUP BY f`, `MAP<BYTES, BYTES> cannot be grouped`},
		{`SELECT f, COUNT(*) FROM t GROUP BY _key`, `the column f is neither grouped nor aggregated [at 1:8]`},
		{`SELECT SUM(COUNT(*)) FROM t`, `cannot be the argument of another`},
		{`SELECT COUNT(*) FROM t HAVING f['x'] = 'y'`, `neither grouped nor aggregated`},
		{`SELECT _key FROM t HAVING TRUE`, `HAVING must have GROUP BY`},
		{`SELECT x FROM t, u`, `Unrecognized name: x; the sources of FROM have`},
		{`SELECT * EXCEPT (nope) FROM t`, `* has no such column`},
		{`SELECT DISTINCT f FROM t`, `DISTINCT cannot compare`},
		{`FROM t |> JOIN u`, `expected ON or USING`},
		{`FROM t |> AND u`, `expected SELECT, WHERE, EXTEND`},
		{`SELECT 1` + strings.Repeat(" + 1", 2000), `too many operands`},
		{`SELECT STARTS_WITH(DISTINCT 'a', 'b')`, `DISTINCT is for aggregate functions`},
		{`SELECT COUNT(*) FROM ` + product(6), `UNNEST makes more than`},
	} {
		_, err := db.run(q.sql)
		if e, ok := errors.AsType[*sql.Error](err); !ok || !strings.Contains(e.Error(), q.want) {
			t.Errorf("%.80s: %v; want %s", q.sql, err, q.want)
		}
	}
}

// product joins arrays of 100 elements: each one makes a hundred times the rows.
func product(n int) string {
	array := "UNNEST([1" + strings.Repeat(",1", 99) + "])"
	return array + strings.Repeat(", "+array, n-1)
}
