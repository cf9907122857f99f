//go:build cgo && linux && !norocksdb

package rocks_test

import (
	"crypto/rand"
	"fmt"
	"testing"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/cftest"
	"github.com/smolwc/smolwc/cf/rocks"
)

// Data that fits into the cache is read from there, even if the cache was full of
// blocks that a compaction has replaced.
func TestReplacedBlocksLeaveTheCache(t *testing.T) {
	s := open(t, "", rocks.Options{InMemory: true, Memory: 64 << 20}) // 48 MiB of it are the cache
	defer s.Close()
	if err := s.CreateFamily(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	const rows, size = 28_000, 1000
	value := make([]byte, size)
	for r := 0; r < rows; r += 1000 {
		_, err := s.Write(t.Context(), nil, func(b *cf.Batch) error {
			for i := range 1000 {
				_, _ = rand.Read(value)
				b.Row(cf.RowID{Space: "t", Row: fmt.Sprintf("%06d", r+i)})
				b.Put("t", "q", 1, value)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Flush(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	scan := func() (missed, blocks int64) {
		t.Helper()
		before, err := s.Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		snap, err := s.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer snap.Close()
		if got, _, err := cftest.Collect(t.Context(), snap, cf.Scan{Family: "t", Rows: []cf.Range{{}}}); err != nil || len(got) != rows {
			t.Fatal(len(got), err)
		}
		after, err := s.Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		missed = after.Engine.Cache.DataMisses - before.Engine.Cache.DataMisses
		return missed, missed + after.Engine.Cache.DataHits - before.Engine.Cache.DataHits
	}
	for range 3 {
		scan()
	}
	if err := s.Compact(t.Context(), "t", cf.Range{}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		scan()
	}
	if missed, blocks := scan(); missed > blocks/4 {
		t.Errorf("%d of %d blocks were not in the cache", missed, blocks)
	}
}
