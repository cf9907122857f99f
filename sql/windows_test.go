package sql_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/sql"
)

// Window functions of many rows end: with their deadline, and at the bound of memory of the
// connection. They leave no files.
func TestLargeWindowsEnd(t *testing.T) {
	const sum = "SELECT SUM(n['i']) OVER (ORDER BY n['i'] DESC) FROM a"
	for _, text := range []string{
		sum,
		"SELECT COUNT(*) FROM (SELECT NTILE(9223372036854775807) OVER (PARTITION BY n['k'] ORDER BY -n['i']) AS x FROM a) WHERE x < 0",
		"SELECT ARRAY_LENGTH(ARRAY_AGG(n['i']) OVER (ROWS BETWEEN 1000 PRECEDING AND CURRENT ROW)) FROM a",
	} {
		for _, memory := range []int{100_000, 1 << 30} {
			t.Run("", func(t *testing.T) {
				dir := t.TempDir()
				sql.SortIn(t, memory, 1<<30, dir)
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				defer cancel()
				if _, err := joinNumbers(ctx, t, 10_000_000, text); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%s: %v", text, err)
				}
				isEmpty(t, dir)
			})
		}
	}
	sql.SortIn(t, 1<<30, 1<<30, t.TempDir())
	if n, err := joinNumbers(cf.WithHolding(t.Context(), new(little)), t, 30_000, sum); n != 30_000 || err != nil {
		t.Errorf("with little room, rows go to a file: %d rows, %v", n, err)
	}
	if _, err := joinNumbers(cf.WithHolding(t.Context(), new(little)), t, 30_000, strings.Replace(sum, "DESC", "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING", 1)); !errors.Is(err, errFull) {
		t.Errorf("a frame that does not fit: %v", err)
	}
}

// A server of Bigtable's queries refuses window functions, at their place.
func TestWindowsAreNotBigtables(t *testing.T) {
	for text, want := range map[string]string{
		"SELECT _key, RANK() OVER (ORDER BY _key) FROM t":      "Bigtable does not have window functions, and this server takes queries of Bigtable only [at 1:14]",
		"SELECT _key FROM t QUALIFY TRUE":                      "Bigtable does not have QUALIFY, and this server takes queries of Bigtable only [at 1:20]",
		"SELECT _key FROM t WINDOW w AS (ORDER BY _key)":       "Bigtable does not have WINDOW, and this server takes queries of Bigtable only [at 1:20]",
		"SELECT SUM(1) FROM t |> EXTEND COUNT(*) OVER () AS n": "Bigtable does not have window functions, and this server takes queries of Bigtable only [at 1:32]",
	} {
		q, err := sql.Parse(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if err := q.ForBigtable(); err == nil || err.Error() != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}
