package sql_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/sql"
)

var sorts = []string{
	"SELECT _key, n['i'] FROM t ORDER BY n['kind']",
	"SELECT _key, n FROM t ORDER BY n['kind'] DESC, n['i'] DESC",
	"SELECT _key, [n['i'], NULL], STRUCT(n['kind'] / 7 AS a, 'b'), DATE '2024-02-29', n['i'] > 5 FROM t ORDER BY 3.5 * n['kind'], _key DESC",
	"SELECT JSON_OBJECT('i', n['i'], 'k', [_key]), [TO_JSON(n['kind']), NULL] FROM t ORDER BY n['kind'], _key",
	"SELECT n['none'], n['i'] FROM t ORDER BY 1, 2 DESC LIMIT 200 OFFSET 5",
	"SELECT n['i'], TIMESTAMP '2024-01-01 00:00:00+00' FROM t ORDER BY n['kind'] LIMIT 3",
	"SELECT n['i'] AS i, COUNT(*) FROM t GROUP BY i ORDER BY i DESC",
	"FROM t |> ORDER BY n['kind'] |> WHERE n['i'] > 50 |> LIMIT 10",
	"SELECT 3 FROM t ORDER BY n['kind'] LIMIT 0",
}

// A sort on disk has the result of one in memory, and leaves no file.
func TestSortingOnDisk(t *testing.T) {
	table := parted{400, 3}
	for _, text := range sorts {
		want, err := resultOn(t, table, text)
		if err != nil || want == "" && !strings.HasSuffix(text, "LIMIT 0") {
			t.Fatalf("%s: %q, %v", text, want, err)
		}
		for _, memory := range []int{1, 5_000, 30_000} {
			t.Run("", func(t *testing.T) {
				dir := t.TempDir()
				sql.SortIn(t, memory, 1<<30, dir)
				if got, err := resultOn(t, table, text); got != want || err != nil {
					t.Errorf("%s: with %d bytes of memory it is\n%s, %v\nand in memory\n%s", text, memory, got, err, want)
				}
				isEmpty(t, dir)
			})
		}
	}
}

var groupings = []string{
	"SELECT n['i'], COUNT(*), SUM(n['i']), MIN(_key), AVG(n['i']) FROM t GROUP BY n['i']",
	"SELECT MOD(n['i'], 97) AS m, COUNT(DISTINCT n['kind']), SUM(n['i'] / 3), ANY_VALUE(n['kind']) FROM t GROUP BY m",
	"SELECT MOD(n['i'], 97) AS m, n['kind'] AS k, ARRAY_AGG(n['i']), STRING_AGG(CAST(n['i'] AS STRING), '-'), ARRAY_AGG(DISTINCT n['kind']) FROM t GROUP BY m, k",
	"SELECT MOD(n['i'], 97) AS m, APPROX_QUANTILES(n['i'], 4), HLL_COUNT.INIT(n['i']), COUNT(n['none']), MAX(n['none']) FROM t GROUP BY m HAVING m > 3",
	"SELECT MOD(n['i'], 97) AS m, ANY_VALUE(JSON_OBJECT('m', MOD(n['i'], 97))), ARRAY_AGG(TO_JSON(n['i'])) FROM t GROUP BY m",
	"SELECT COUNT(DISTINCT n['i']), SUM(DISTINCT n['kind']), ARRAY_AGG(DISTINCT MOD(n['i'], 3)), COUNT(*) FROM t",
	"SELECT NULLIF(MOD(n['i'], 5), 2) AS g, COUNT(*), AVG(n['i']) FROM t GROUP BY g ORDER BY g DESC LIMIT 3",
	"SELECT DISTINCT MOD(n['i'], 97), n['kind'], [1, 2] IS NULL FROM t",
	"SELECT DISTINCT n['none'], n['i'] / 2, CAST(n['i'] AS STRING), _key, TIMESTAMP_SECONDS(n['kind']) FROM t ORDER BY _key DESC",
	"FROM t |> SELECT n['kind'] AS k, n['i'] AS i |> DISTINCT |> AGGREGATE COUNT(*) AS c, MAX(i) GROUP BY k |> WHERE c > 1 |> ORDER BY k",
	"SELECT AVG(1) FROM t GROUP BY n['i'] HAVING COUNT(*) > 1",
}

// Groups and distinct rows on disk are those in memory, in any order, and leave no file.
func TestGroupingOnDisk(t *testing.T) {
	lines := func(result string) []string { return slices.Sorted(strings.SplitSeq(result, "\n")) }
	for _, text := range groupings {
		table := parted{250, 3}
		want, err := resultOn(t, table, text)
		if err != nil || want == "" && !strings.Contains(text, "HAVING COUNT") {
			t.Fatalf("%s: %q, %v", text, want, err)
		}
		for _, memory := range []int{1, 3_000, 30_000} {
			t.Run("", func(t *testing.T) {
				dir := t.TempDir()
				sql.SortIn(t, memory, 1<<30, dir)
				got, err := resultOn(t, table, text)
				if same := got == want || !strings.Contains(text, "ORDER BY") && slices.Equal(lines(got), lines(want)); !same || err != nil {
					t.Errorf("%s: with %d bytes of memory it is\n%s, %v\nand in memory\n%s", text, memory, got, err, want)
				}
				isEmpty(t, dir)
			})
		}
	}
}

// Groups that do not fit when parts of the table are grouped at the same time are grouped
// in one part, on disk.
func TestPartsThatDoNotFitAreGroupedOnDisk(t *testing.T) {
	const text = "SELECT _key, COUNT(*), MAX(n['i']) FROM t GROUP BY _key ORDER BY _key DESC"
	table := parted{20_000, 3}
	want, err := resultOn(t, table, text)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	sql.SortIn(t, 1<<20, 1<<30, dir)
	room := &room{left: 6 << 20}
	got, err := resultIn(cf.WithHolding(t.Context(), room), t, table, text)
	if got != want || err != nil {
		t.Errorf("it has %d bytes, and in memory %d: %v", len(got), len(want), err)
	}
	if room.refused == 0 {
		t.Error("everything fitted")
	}
	isEmpty(t, dir)
}

// A room has place for some bytes.
type room struct {
	mu            sync.Mutex
	left, refused int
}

func (r *room) Hold(n int, _ bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n > r.left {
		r.refused++
		return errFull
	}
	r.left -= n
	return nil
}

func (r *room) Room() (int, bool) { return r.left, false }

func (r *room) Refusal(int) error { return errFull }

func isEmpty(t *testing.T, dir string) {
	t.Helper()
	if files, _ := filepath.Glob(filepath.Join(dir, "*")); len(files) > 0 {
		t.Errorf("there are files: %q", files)
	}
}

// A query that ends early leaves no file either, and what it writes is bounded.
func TestSortsOnDiskEnd(t *testing.T) {
	dir := t.TempDir()
	sql.SortIn(t, 1000, 1<<30, dir)
	q, err := sql.Parse(sorts[0])
	if err != nil {
		t.Fatal(err)
	}
	none, _ := sql.Params{}.Bind(nil)
	plan, err := q.On(numbers).Plan(none)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	rows := 0
	for _, err = range plan.Result(ctx, sql.Only(parted{2000, 1})).Rows {
		if rows++; rows == 10 {
			cancel()
		}
	}
	if err != context.Canceled || rows > 12 {
		t.Errorf("after %d rows: %v", rows, err)
	}
	for range plan.Result(t.Context(), sql.Only(parted{2000, 1})).Rows {
		break
	}
	isEmpty(t, dir)

	sql.SortIn(t, 1000, 10_000, dir)
	if _, err := resultOn(t, parted{2000, 1}, sorts[0]); err == nil || !strings.Contains(err.Error(), "on disk") {
		t.Errorf("beyond the bound of the disk: %v", err)
	}
	isEmpty(t, dir)

	if _, err := resultOn(t, parted{2000, 1}, groupings[0]); err == nil || !strings.Contains(err.Error(), "on disk") {
		t.Errorf("groups beyond the bound of the disk: %v", err)
	}
	isEmpty(t, dir)

	sql.SortIn(t, 1000, 10_000, filepath.Join(dir, "nowhere"))
	if _, err := resultOn(t, parted{2000, 1}, sorts[0]); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without the directory: %v", err)
	}
}

// In memory a query writes no file, whatever its size.
func TestSortsInMemoryWriteNoFiles(t *testing.T) {
	sql.SortIn(t, 1000, 1<<30, filepath.Join(t.TempDir(), "nowhere"))
	for _, text := range append([]string{sorts[0]}, groupings...) {
		q, err := sql.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		none, _ := sql.Params{}.Bind(nil)
		plan, err := q.InMemory().On(numbers).Plan(none)
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range plan.Result(t.Context(), sql.Only(parted{2000, 1})).Rows {
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
		}
	}
}
