package sql_test

import (
	"context"
	"errors"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/sql"
	"github.com/smolwc/smolwc/sql/value"
)

// Any text is a query or an error.
func FuzzQuery(f *testing.F) {
	f.Add(`SELECT *, CAST(f['x'] AS STRING) AS a FROM t(with_history => TRUE, as_of => @p) WHERE NOT _key IN ('a', b"\xff") AND -1.5e3 < n['y'][0].value ORDER BY _key DESC LIMIT @n`)
	f.Add(`SELECT _key FROM t WHERE _key BETWEEN TIMESTAMP '2024-01-01' AND 0x1F OR STARTS_WITH(_key, r'\') -- x`)
	f.Add(`SELECT [1, NULL], STRUCT(1 AS a).a, DATE '2024-01-01', IFNULL(NULL, 2.5), UNIX_MILLIS(TIMESTAMP_MILLIS(1)), DATE(2024, 1, 2) = @d`)
	f.Add(`SELECT x._key AS k, MAP_KEYS(x.f)[SAFE_OFFSET(0)] FROM t AS x WHERE _key IN UNNEST(@keys) AND (f['a'] = b'a') IS NOT TRUE ORDER BY k`)
	f.Add("SELECT `a` # '\n/* */ FROM t;")
	f.Add(`SELECT f['x'] || 'a' AS k, COUNT(DISTINCT n['y'] + 1), STRING_AGG('a') FROM t, UNNEST([1, 2]) AS u WITH OFFSET GROUP BY k HAVING SUM(u) > 1 ORDER BY 2 DESC NULLS LAST LIMIT 3`)
	f.Add(`FROM t |> EXTEND CASE WHEN n['y'] < 0 THEN LEFT('abc', 2) ELSE REGEXP_REPLACE('a', '(a)', '\\1') END AS c |> AGGREGATE MAX(c) GROUP BY _key |> DROP _key |> DISTINCT`)
	f.Add(`EXPLAIN SELECT DISTINCT * EXCEPT (f, n) REPLACE (SUBSTR('a', -1) AS _key) FROM t |> SET _key = JSON_VALUE('[1]', '$[0]') |> LIMIT 1`)
	f.Add(`SELECT u.f, x FROM UNPACK((SELECT f, n['y'] AS x FROM t(with_history => TRUE, latest_n => 2), UNNEST([1]) AS o)) AS u, UNNEST([x]) AS z WHERE _timestamp > TIMESTAMP_MICROS(1)`)
	f.Add("WITH a AS (SELECT 1 AS x UNION ALL (SELECT 2 EXCEPT DISTINCT SELECT 3) ORDER BY 1 LIMIT 1) SELECT a.x, t.f['q'], b.* FROM a, t LEFT JOIN t AS b USING (_key) FULL JOIN a AS c ON c.x = a.x AND t.n['y'] > 1, UNNEST([c.x]) AS e WHERE EXISTS (SELECT 1) AND a.x IN (SELECT x FROM a) GROUP BY 1")
	f.Add("FROM t |> WHERE n['y'] = (SELECT MAX(n['y']) FROM t) |> JOIN (SELECT _key AS k FROM t) AS b ON b.k = t._key |> AS z |> UNION DISTINCT (SELECT ARRAY(SELECT 1)) |> RIGHT JOIN t ON TRUE")
	f.Add("SELECT NUMERIC '1.5' * 2 - ROUND(CAST('1e9' AS NUMERIC), -1), INTERVAL '1-2 -3' YEAR TO DAY + INTERVAL n['y'] HOUR, MAKE_INTERVAL(1, day => 2), DATE '2024-01-31' - INTERVAL 1 MONTH, SUM(INTERVAL '1.5' SECOND) FROM t GROUP BY ALL")
	f.Add("SELECT JSON '{\"a\": [1.5, {}]}'.a[0], PARSE_JSON(CAST(_key AS STRING), wide_number_mode => 'round')['x'], JSON_SET(TO_JSON(STRUCT(n['y'] AS b)), '$.b[2]', [1], create_if_missing => FALSE), JSON_STRIP_NULLS(JSON '[null]', remove_empty => TRUE), LAX_INT64(JSON_OBJECT('k', 1).k), JSON_KEYS(JSON '{}', mode => 'lax') FROM t")
	params, values := fuzzParams(f)
	f.Fuzz(func(t *testing.T, text string) {
		err := runOnOneRow(text, params, values)
		if _, ok := errors.AsType[*sql.Error](err); err != nil && !ok {
			t.Errorf("%T: %v", err, err)
		}
	})
}

// fuzzParams are parameters without values, and with them.
func fuzzParams(f *testing.F) (params, bound sql.Params) {
	params, err := sql.NewParams(map[string]value.Type{
		"p":    {Kind: value.TypeTimestamp},
		"n":    {Kind: value.TypeInt64},
		"keys": value.ArrayOf(value.Type{Kind: value.TypeBytes}),
		"d":    {Kind: value.TypeDate},
	})
	if err != nil {
		f.Fatal(err)
	}
	day, err := value.NewDate(1, 1, 8)
	if err != nil {
		f.Fatal(err)
	}
	bound, err = params.Bind(map[string]any{"p": cells.Timestamp(5), "n": int64(7), "keys": value.Array{[]byte("a"), nil}, "d": day})
	if err != nil {
		f.Fatal(err)
	}
	return params, bound
}

// runOnOneRow prepares a query and executes it on one row.
func runOnOneRow(text string, params, bound sql.Params) error {
	q, err := sql.Parse(text)
	if err != nil {
		return err
	}
	t := schema.Table{Name: "t", Families: []schema.Family{{Name: "f"}, {Name: "n", Type: cells.TypeI64}}}
	row := query.NewRow("a", []cells.Cell{
		{Family: "f", Qualifier: "x", Timestamp: 9, Value: cells.Bytes([]byte("12345678"))},
		{Family: "n", Qualifier: "y", Timestamp: 9, Value: cells.I64(-3)},
	})
	if q.Table() == "" {
		t, row = schema.Table{}, nil
	}
	if _, err := q.On(t).Plan(params); err != nil {
		return err
	}
	p, err := q.On(t).Plan(bound)
	if err != nil {
		return err
	}
	_ = p.Columns()
	if !p.Streams() {
		rows := func(yield func(*query.Row, error) bool) { yield(row, nil) }
		if q.Table() == "" {
			rows = nil
		}
		return p.Run(context.Background(), sql.Only(someRows{rows}), func([]any) error { return nil })
	}
	if _, _, err := p.Bounds(); err != nil {
		return err
	}
	_, _ = p.Reads("", 1)
	if wanted, err := p.Wants(context.Background(), row); !wanted || err != nil {
		return err
	}
	for _, err := range p.Values(context.Background(), row) {
		if err != nil {
			return err
		}
	}
	return nil
}
