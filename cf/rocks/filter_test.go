//go:build cgo && linux && !norocksdb

package rocks

import (
	"fmt"
	"testing"

	"github.com/smolwc/smolwc/cf"
)

// The filter of a file with many small rows is larger than a shard of the cache. It is
// still cached, in parts: a repeated get reads nothing.
func TestFiltersLargerThanTheCacheAreCachedInParts(t *testing.T) {
	s, err := Open(t.TempDir(), Options{Memory: 512 << 10, Async: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.CreateFamily(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	const rows, atOnce = 700_000, 10_000 // filters of some 600 kB
	key := func(i int) string { return fmt.Sprintf("%09d", i) }
	for from := 0; from < rows; from += atOnce {
		_, err := s.Write(t.Context(), nil, func(b *cf.Batch) error {
			for i := from; i < from+atOnce; i++ {
				b.Row(cf.RowID{Space: "t", Row: key(i)})
				b.Put("t", "", 1, nil)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Compact(t.Context(), "t", cf.Range{}); err != nil {
		t.Fatal(err)
	}
	misses := func() int64 {
		t.Helper()
		stats, err := s.Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return stats.Engine.Cache.Misses
	}
	before := int64(0)
	for range 2 {
		before = misses()
		for i := range 200 {
			missing := key(rows/2+i) + "x"
			var a cf.Answer
			err := s.Read(t.Context(), &cf.Scan{Family: "t", Rows: []cf.Range{cf.Single(missing)}}, &a)
			if err != nil || len(a.First.Rows) > 0 {
				t.Fatalf("row %s: %d rows, %v", missing, len(a.First.Rows), err)
			}
		}
	}
	if got := misses() - before; got > 20 {
		t.Errorf("200 gets that were made before missed the cache %d times", got)
	}
}
