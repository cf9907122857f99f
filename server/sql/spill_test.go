package sql_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/server/sql"
)

var sorts = []string{
	"SELECT _key, n['i'] FROM t ORDER BY n['kind']",
	"SELECT _key, n FROM t ORDER BY n['kind'] DESC, n['i'] DESC",
	"SELECT _key, [n['i'], NULL], STRUCT(n['kind'] / 7 AS a, 'b'), DATE '2024-02-29', n['i'] > 5 FROM t ORDER BY 3.5 * n['kind'], _key DESC",
	"SELECT n['none'], n['i'] FROM t ORDER BY 1, 2 DESC LIMIT 200 OFFSET 5",
	"SELECT n['i'], TIMESTAMP '2024-01-01 00:00:00+00' FROM t ORDER BY n['kind'] LIMIT 3",
	"SELECT n['i'] AS i, COUNT(*) FROM t GROUP BY i ORDER BY i DESC",
	"FROM t |> ORDER BY n['kind'] |> WHERE n['i'] > 50 |> LIMIT 10",
}

// A sort on disk has the result of one in memory, and leaves no file.
func TestSortingOnDisk(t *testing.T) {
	table := parted{400, 3}
	for _, text := range sorts {
		want, err := resultOn(t, table, text)
		if err != nil || want == "" {
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
	plan, err := q.Plan(numbers, none)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	rows := 0
	for _, err = range plan.Result(ctx, parted{2000, 1}).Rows {
		if rows++; rows == 10 {
			cancel()
		}
	}
	if err != context.Canceled || rows > 12 {
		t.Errorf("after %d rows: %v", rows, err)
	}
	for range plan.Result(t.Context(), parted{2000, 1}).Rows {
		break
	}
	isEmpty(t, dir)

	sql.SortIn(t, 1000, 10_000, dir)
	if _, err := resultOn(t, parted{2000, 1}, sorts[0]); err == nil || !strings.Contains(err.Error(), "on disk") {
		t.Errorf("beyond the bound of the disk: %v", err)
	}
	isEmpty(t, dir)

	sql.SortIn(t, 1000, 10_000, filepath.Join(dir, "nowhere"))
	if _, err := resultOn(t, parted{2000, 1}, sorts[0]); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without the directory: %v", err)
	}
}

// In memory a sort writes no file, whatever its size.
func TestSortsInMemoryWriteNoFiles(t *testing.T) {
	sql.SortIn(t, 1000, 1<<30, filepath.Join(t.TempDir(), "nowhere"))
	q, err := sql.Parse(sorts[0])
	if err != nil {
		t.Fatal(err)
	}
	none, _ := sql.Params{}.Bind(nil)
	plan, err := q.InMemory().Plan(numbers, none)
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for _, err := range plan.Result(t.Context(), parted{2000, 1}).Rows {
		if err != nil {
			t.Fatal(err)
		}
		rows++
	}
	if rows != 2000 {
		t.Errorf("%d of 2000 rows", rows)
	}
}
