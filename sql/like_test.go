package sql_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/sql"
)

// A pattern of LIKE can come from the row, or from the row of the query around.
func TestPatternsOfRows(t *testing.T) {
	db := openPlanes(t)
	const pairs = `(FROM UNNEST([STRUCT('abc' AS v, 'a%' AS p), ('abc', 'b%'), ('a_c', r'a\_c'), ('abc', r'a\_c'), ('é', '_'), ('x', NULL), (NULL, '%')]))`
	for _, q := range []struct{ sql, want string }{
		{`SELECT v LIKE p FROM ` + pairs, "true\nfalse\ntrue\nfalse\ntrue\nNULL\nNULL"},
		{`SELECT COUNT(*) FROM ` + pairs + ` WHERE v NOT LIKE p`, "2"},
		{`SELECT _key FROM t WHERE f['model'] LIKE CONCAT(SUBSTR(f['model'], 1, 2), '7')`, "a1"},
		{`SELECT _key FROM t WHERE _key LIKE CONCAT('%', SUBSTR(_key, 2, 1)) AND _key LIKE 'a%'`, "a1\na2"},
		{`SELECT p, (SELECT COUNT(*) FROM t WHERE _key LIKE p) FROM UNNEST([b'a%', b'_1', NULL, b'b2']) AS p`, "a% 2\n_1 3\nNULL 0\nb2 1"},
		{`SELECT p FROM UNNEST(['75%', '76_', '8%']) AS p WHERE EXISTS (SELECT 1 FROM t WHERE CAST(f['model'] AS STRING) LIKE p)`, "75%\n76_"},
		{`SELECT _key FROM t WHERE _key LIKE (SELECT MAX(p) FROM UNNEST([b'a%', b'b%']) AS p)`, "b1\nb2"},
		{`SELECT a._key, b.p FROM t AS a JOIN (SELECT p FROM UNNEST([b'a%', b'c%']) AS p) AS b ON a._key LIKE b.p ORDER BY 1`, "a1 a%\na2 a%\nc1 c%"},
	} {
		got, err := db.run(q.sql)
		if err != nil || got != q.want {
			t.Errorf("%s\ngot  %q, %v\nwant %q", q.sql, got, err, q.want)
		}
	}
	for text, want := range map[string]string{
		`SELECT 'a' LIKE p FROM UNNEST(['a\\']) AS p`:                `the pattern of LIKE ends with \, which stands before the character that it means [at 1:17]`,
		`SELECT 'a' LIKE p FROM UNNEST([1]) AS p`:                    `the second operand of LIKE is INT64`,
		`SELECT 'a' LIKE REPEAT(p, 2000000) FROM UNNEST(['a']) AS p`: `the pattern of LIKE has 2000000 bytes; it may have up to 1048576`,
	} {
		_, err := db.run(text)
		if e, ok := errors.AsType[*sql.Error](err); !ok || !strings.Contains(e.Error(), want) {
			t.Errorf("%s: %v; want %s", text, err, want)
		}
	}
}
