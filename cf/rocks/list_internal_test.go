//go:build cgo

package rocks

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/smolwc/smolwc/cf"
)

// coldTable is a family of rows of two cells in files that are not in the cache: every
// third key has no row. The directory is opened anew.
func coldTable(t *testing.T, rows int) *Store {
	t.Helper()
	dir := t.TempDir()
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.CreateFamily(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	value := make([]byte, 1000)
	rng := rand.NewChaCha8([32]byte{1})
	for row := range rows {
		if row%3 == 0 {
			continue
		}
		_, _ = rng.Read(value)
		if _, err := s.Write(t.Context(), nil, func(b *cf.Batch) error {
			b.Row(cf.RowID{Space: "t", Row: coldRow(row)})
			b.Put("t", "a", 1, value)
			b.Put("t", "b", int64(row), value[:10])
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if row == rows/2 { // two levels
			if err := s.Compact(t.Context(), "t", cf.Range{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.Flush(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(dir, Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func coldRow(row int) string { return fmt.Sprintf("row%06d", row) }

// readList reads a list of rows with a scan, and reports whether it was divided.
func readList(t *testing.T, s *Store, rows []cf.Range, reverse bool) (keys []string, ahead bool) {
	t.Helper()
	snap, err := s.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	opened, err := snap.Scan(t.Context(), cf.Scan{Family: "t", Rows: rows, Reverse: reverse, Hint: len(rows)})
	if err != nil {
		t.Fatal(err)
	}
	c := opened.(*cursor)
	defer c.Close()
	for {
		b, err := c.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if b == nil {
			return keys, ahead
		}
		ahead = ahead || c.Ahead()
		for i := range b.Rows {
			if b.Rows[i].Len != 2 {
				t.Fatalf("row %s has %d cells", b.RowKey(&b.Rows[i]), b.Rows[i].Len)
			}
			keys = append(keys, b.RowKey(&b.Rows[i]))
		}
	}
}

// Several goroutines read a list of rows that are not in the cache, also with one
// processor. When the rows are in the cache, one goroutine reads them.
func TestAListIsReadAheadFromFiles(t *testing.T) {
	for _, processors := range []int{1, 4} {
		t.Run(fmt.Sprint(processors), func(t *testing.T) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
			s := coldTable(t, 3000)
			var rows []cf.Range
			for row := 1; row < 3000; row += 15 {
				rows = append(rows, cf.Single(coldRow(row)))
			}
			for _, cold := range []bool{true, false} {
				if keys, ahead := readList(t, s, rows, false); ahead != cold || len(keys) != len(rows) {
					t.Errorf("cold %v: %d rows, read ahead: %v", cold, len(keys), ahead)
				}
			}
		})
	}
}

// Random lists of rows give the same rows, cold or not, forward or backward.
func TestListsFromFilesAreComplete(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	const n = 3000
	rng := rand.New(rand.NewPCG(1, 2))
	some := false
	for range 4 {
		s := coldTable(t, n)
		for range 12 {
			var rows []cf.Range
			var want []string
			for row, every := 0, 1+rng.IntN(40); row < n; row += 1 + rng.IntN(every) {
				rows = append(rows, cf.Single(coldRow(row)))
				if row%3 != 0 {
					want = append(want, coldRow(row))
				}
			}
			reverse := rng.IntN(2) == 0
			if reverse {
				slices.Reverse(want)
			}
			keys, ahead := readList(t, s, rows, reverse)
			if some = some || ahead; !slices.Equal(keys, want) {
				t.Fatalf("%d ranges, reverse %v: %d rows, want %d", len(rows), reverse, len(keys), len(want))
			}
		}
	}
	if !some {
		t.Error("no list was read ahead")
	}
}
