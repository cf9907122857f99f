package sql_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/sql"
)

func TestPercentiles(t *testing.T) {
	db := openPlanes(t)
	for _, q := range []struct{ sql, want string }{
		{`SELECT PERCENTILE_CONT(x, 0) OVER (), PERCENTILE_CONT(x, 0.01) OVER (), PERCENTILE_CONT(x, 0.5) OVER (), PERCENTILE_CONT(x, 0.9) OVER (), PERCENTILE_CONT(x, 1) OVER () FROM UNNEST([0, 3, NULL, 1, 2]) AS x LIMIT 1`, "0 0.03 1.5 2.7 3"},
		{`SELECT PERCENTILE_CONT(x, 0 RESPECT NULLS) OVER (), PERCENTILE_CONT(x, 0.01 RESPECT NULLS) OVER (), PERCENTILE_CONT(x, 0.5 RESPECT NULLS) OVER (), PERCENTILE_CONT(x, 0.9 IGNORE NULLS) OVER () FROM UNNEST([0, 3, NULL, 1, 2]) AS x LIMIT 1`, "NULL 0 1 2.7"},
		{`SELECT PERCENTILE_DISC(x, 0) OVER (), PERCENTILE_DISC(x, 0.25) OVER (), PERCENTILE_DISC(x, 0.2500001) OVER (), PERCENTILE_DISC(x, 1) OVER (), PERCENTILE_DISC(x, 0.375 RESPECT NULLS) OVER (), PERCENTILE_DISC(x, 0.125 RESPECT NULLS) OVER () FROM UNNEST(['c', NULL, 'b', 'a', 'd']) AS x LIMIT 1`, "a a b d a NULL"},
		{`SELECT PERCENTILE_CONT(x, 0.5) OVER (), PERCENTILE_CONT(x, NUMERIC '0.333333333') OVER (), PERCENTILE_CONT(x, CAST('0.5' AS FLOAT64)) OVER (), PERCENTILE_DISC(x, NUMERIC '0.5') OVER () FROM UNNEST([NUMERIC '1', NUMERIC '2.000000001']) AS x LIMIT 1`, "1.500000001 1.333333333 1.5000000005 1"},
		{`SELECT k, x, PERCENTILE_CONT(x, 0.5) OVER (PARTITION BY k) FROM (SELECT MOD(x, 2) AS k, x FROM UNNEST([1, 2, 3, 4, 6, 9]) AS x) ORDER BY x`, "1 1 3\n0 2 4\n1 3 3\n0 4 4\n0 6 4\n1 9 3"},
		{`SELECT PERCENTILE_DISC(x, 0) OVER (), PERCENTILE_DISC(x, 1) OVER () FROM UNNEST([1.5, CAST('nan' AS FLOAT64)]) AS x LIMIT 1`, "NaN 1.5"},
		{`SELECT PERCENTILE_CONT(x, 0.5) OVER (), PERCENTILE_DISC(x, 0.5 RESPECT NULLS) OVER () FROM UNNEST([CAST(NULL AS INT64), NULL]) AS x LIMIT 1`, "NULL NULL"},
		{`SELECT PERCENTILE_DISC(x, 0.5) OVER w FROM UNNEST([DATE '2024-01-02', DATE '2024-01-01']) AS x WINDOW w AS () LIMIT 1`, "2024-01-01"},
		{`SELECT DISTINCT PERCENTILE_DISC(COUNT(*), 0.5) OVER () FROM UNNEST([1, 1, 2, 3, 3, 3]) AS x GROUP BY x`, "2"},
	} {
		got, err := db.run(q.sql)
		if err != nil || got != q.want {
			t.Errorf("%s\ngot  %q, %v\nwant %q", q.sql, got, err, q.want)
		}
	}
	for text, want := range map[string]string{
		`PERCENTILE_CONT(x, 1.1) OVER ()`:                         `argument 2 of PERCENTILE_CONT must be from 0 to 1, and not NULL [at 1:27]`,
		`PERCENTILE_DISC(x, CAST(NULL AS FLOAT64)) OVER ()`:       `must be from 0 to 1, and not NULL`,
		`PERCENTILE_DISC(x, x) OVER ()`:                           `argument 2 of PERCENTILE_DISC must be the same for every row`,
		`PERCENTILE_DISC(x, 'a') OVER ()`:                         `argument 2 of PERCENTILE_DISC is STRING; it must be a number from 0 to 1`,
		`PERCENTILE_CONT('a', 0.5) OVER ()`:                       `PERCENTILE_CONT takes numbers, not STRING; PERCENTILE_DISC takes others`,
		`PERCENTILE_DISC([x], 0.5) OVER ()`:                       `PERCENTILE_DISC cannot compare values of type ARRAY<INT64>`,
		`PERCENTILE_CONT(x, 0.5) OVER (ORDER BY x)`:               `the window of PERCENTILE_CONT cannot have ORDER BY; the function sorts its first argument`,
		`PERCENTILE_CONT(x, 0.5) OVER (ROWS UNBOUNDED PRECEDING)`: `cannot have ROWS or RANGE`,
		`PERCENTILE_CONT(x, 0.5)`:                                 `PERCENTILE_CONT needs OVER (…) after it`,
	} {
		_, err := db.run("SELECT " + text + " FROM UNNEST([1]) AS x")
		if e, ok := errors.AsType[*sql.Error](err); !ok || !strings.Contains(e.Error(), want) {
			t.Errorf("%s: %v; want %s", text, err, want)
		}
	}
}

// Percentiles of a partition on disk are those of one in memory, and the values that they hold are
// counted.
func TestPercentilesOnDisk(t *testing.T) {
	db := openPlanes(t)
	const text = `SELECT PERCENTILE_CONT(x, 0.3) OVER (), PERCENTILE_DISC(CAST(x AS STRING), 0.7) OVER (PARTITION BY MOD(x, 3)) FROM UNNEST(GENERATE_ARRAY(1, 300)) AS x ORDER BY x`
	want, err := db.run(text)
	if err != nil {
		t.Fatal(err)
	}
	sql.SortIn(t, 2_000, 1<<30, t.TempDir())
	if got, err := db.run(text); err != nil || got != want {
		t.Errorf("on disk the result differs: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	plan, err := db.plan(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := plan.Run(ctx, sql.Only(db.db.Table("t")), func([]any) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("after the context ended: %v", fmt.Sprint(err))
	}
}
