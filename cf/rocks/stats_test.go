//go:build cgo && linux && !norocksdb

package rocks_test

import (
	"testing"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/cftest"
	"github.com/smolwc/smolwc/cf/rocks"
)

// TestStatsReadTheEnginesText: the engine has the counters and properties that the
// statistics look up.
func TestStatsReadTheEnginesText(t *testing.T) {
	ctx := t.Context()
	s := open(t, t.TempDir(), rocks.Options{})
	defer s.Close()
	if err := s.CreateFamily(ctx, "t"); err != nil {
		t.Fatal(err)
	}
	for _, row := range []string{"a", "b"} {
		if err := put(s, row+" q@1=v"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Write(ctx, nil, func(b *cf.Batch) error {
		b.Row(cf.RowID{Space: "t", Row: "b"})
		b.DeleteCell("t", "q", 1)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := s.Flush(ctx, "t"); err != nil {
		t.Fatal(err)
	}
	for _, row := range []string{"a", "a", "none"} {
		if err := s.Read(ctx, &cf.Scan{Family: "t", Rows: []cf.Range{cf.Single(row)}}, new(cf.Answer)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Compact(ctx, "t", cf.Range{}); err != nil {
		t.Fatal(err)
	}
	if err := cftest.LoadCell(ctx, s, "t", "c", "q", "v"); err != nil {
		t.Fatal(err)
	}
	stats, err := s.Stats(ctx)
	if err != nil {
		t.Fatal(err)
	}
	e, f := stats.Engine, stats.Families["t"]
	for what, n := range map[string]int64{
		"hits of the cache": e.Cache.Hits, "misses": e.Cache.Misses, "hits of data": e.Cache.DataHits, "misses of data": e.Cache.DataMisses,
		"look-ups in filters": e.Filters.Checked, "useful ones": e.Filters.Useful,
		"bytes logged": e.Log.Written, "syncs": e.Log.Syncs,
		"flushes": e.Work.Flushes, "bytes flushed": e.Work.FlushedBytes, "compactions": e.Work.Compactions, "bytes compacted": e.Work.CompactedBytes,
		"bytes in": e.BytesIn, "bytes out": e.BytesOut,
		"bytes of files": f.FileBytes, "entries": f.Entries,
	} {
		if n <= 0 {
			t.Errorf("%s: %d", what, n)
		}
	}
}
