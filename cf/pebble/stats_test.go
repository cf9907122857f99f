package pebble_test

import (
	"testing"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/cftest"
	"github.com/smolwc/smolwc/cf/pebble"
)

// The store counts what the engine does. Pebble does not say which blocks of the cache have
// cells, and which are held.
func TestFiguresOfTheEngine(t *testing.T) {
	s := open(t, newDisk(), false)
	defer s.Close()
	create(t, s, "t/a")
	for i := range 2 {
		if err := putRow(t.Context(), s, i); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Flush(t.Context(), "t/a"); err != nil {
		t.Fatal(err)
	}
	read := func(rows ...string) {
		t.Helper()
		for _, row := range rows {
			if err := s.Read(t.Context(), &cf.Scan{Family: "t/a", Rows: []cf.Range{cf.Single(row)}}, new(cf.Answer)); err != nil {
				t.Fatal(err)
			}
		}
	}
	read("r000001", "r000001", "none")
	if err := putRow(t.Context(), s, 1); err != nil {
		t.Fatal(err)
	}
	if err := s.Compact(t.Context(), "t/a", cf.Range{}); err != nil {
		t.Fatal(err)
	}
	if err := cftest.LoadCell(t.Context(), s, "t/a", "s", "q", "v"); err != nil {
		t.Fatal(err)
	}
	read("r000001") // opens a file
	figures := func() cf.EngineStats {
		t.Helper()
		st, err := s.Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return st.Engine
	}
	e := figures()
	for what, n := range map[string]int64{
		"capacity of the cache": e.Cache.Capacity, "bytes in it": e.Cache.Used, "hits": e.Cache.Hits, "misses": e.Cache.Misses,
		"look-ups in filters": e.Filters.Checked, "useful ones": e.Filters.Useful,
		"bytes of logs": e.Log.Bytes, "bytes logged": e.Log.Written, "syncs": e.Log.Syncs,
		"memory of memtables": e.Memory.Memtables, "of the cache": e.Memory.Cache, "of readers": e.Memory.Readers,
		"flushes": e.Work.Flushes, "bytes flushed": e.Work.FlushedBytes, "compactions": e.Work.Compactions, "bytes compacted": e.Work.CompactedBytes,
		"bytes in": e.BytesIn, "bytes out": e.BytesOut,
	} {
		if n <= 0 {
			t.Errorf("%s: %d", what, n)
		}
	}
	// Bytes read are those that any read passes, and remain when the family is gone.
	snap, err := s.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	c, err := snap.Scan(t.Context(), cf.Scan{Family: "t/a", Rows: []cf.Range{{}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := new(cf.Answer).ReadAll(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if err := s.DropFamily(t.Context(), "t/a"); err != nil {
		t.Fatal(err)
	}
	if now := figures().BytesOut; now < e.BytesOut+200 {
		t.Errorf("%d bytes are read after %d", now, e.BytesOut)
	}
}

// A reader counts what it has in memory: it writes no files.
func TestAReaderCountsItsMemtables(t *testing.T) {
	dir := t.TempDir()
	w, err := pebble.Open(dir, pebble.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	create(t, w, "t/a", "t/b")
	for i := range 100 {
		if err := putRow(t.Context(), w, i); err != nil {
			t.Fatal(err)
		}
		if i == 49 {
			if err := w.Flush(t.Context(), "t/a"); err != nil {
				t.Fatal(err)
			}
		}
	}
	r, err := pebble.OpenFollower(dir, pebble.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for range 2 {
		st, err := r.Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if a, b := st.Families["t/a"], st.Families["t/b"]; a.Cells() != 100 || b.Cells() != 0 {
			t.Errorf("%d and %d cells, want 100 and 0", a.Cells(), b.Cells())
		}
	}
}
