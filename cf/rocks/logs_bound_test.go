//go:build cgo && linux && !norocksdb

package rocks_test

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/rocks"
)

// cycle writes a row to a family and flushes it.
func cycle(t *testing.T, s *rocks.Store, i int) {
	t.Helper()
	_, err := s.Write(t.Context(), nil, func(b *cf.Batch) error {
		b.Row(cf.RowID{Space: "t", Row: fmt.Sprintf("%06d", i%100)})
		b.Put("t/busy", "q", 1, []byte("v"))
		return nil
	})
	if err := errors.Join(err, s.Flush(t.Context(), "t/busy")); err != nil {
		t.Fatal(err)
	}
}

// A row that is never flushed kept every later log.
func TestARowInMemoryDoesNotKeepAllLaterLogs(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, rocks.Options{Async: true})
	defer s.Close()
	if err := errors.Join(s.CreateFamily(t.Context(), "t/idle"), s.CreateFamily(t.Context(), "t/busy")); err != nil {
		t.Fatal(err)
	}
	_, err := s.Write(t.Context(), nil, func(b *cf.Batch) error {
		b.Row(cf.RowID{Space: "t", Row: "r"})
		b.Put("t/idle", "q", 1, []byte("v"))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	most := 0
	for i := range 100 {
		cycle(t, s, i)
		logs, _ := filesOf(t, dir, ".log")
		most = max(most, len(logs))
	}
	if most > 24 {
		t.Errorf("%d logs at once; want at most 24", most)
	}
	if n := idleRows(t, s); n != 1 {
		t.Errorf("the family that was idle has %d rows", n)
	}
}

func idleRows(t *testing.T, s *rocks.Store) int {
	snap, err := s.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	return rowsIn(t, snap, "t/idle")
}

// The manifest of a database in memory grew with each flush.
func TestTheManifestInMemoryStaysSmall(t *testing.T) {
	s := open(t, "", rocks.Options{InMemory: true, Memory: 4 << 20})
	defer s.Close()
	if err := s.CreateFamily(t.Context(), "t/busy"); err != nil {
		t.Fatal(err)
	}
	const settled, more = 2000, 4000 // the cache is full by then
	var before int64
	for i := range settled + more {
		if cycle(t, s, i); i == settled {
			before = residentBytes(t)
		}
	}
	if grown := (residentBytes(t) - before) / more; grown > 1500 {
		t.Errorf("each flush takes %d bytes for ever", grown)
	}
}

// residentBytes is the memory of this process.
func residentBytes(t *testing.T) int64 {
	t.Helper()
	rocks.ReleaseMemory()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip("the system does not tell: ", err)
	}
	m := regexp.MustCompile(`VmRSS:\s+(\d+) kB`).FindSubmatch(text)
	n, err := strconv.ParseInt(string(m[1]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n << 10
}
