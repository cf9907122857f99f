package pebble_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/pebble"
)

// A compaction copies large values out of files in which some were deleted.
func TestCompactFreesLargeValues(t *testing.T) {
	s := open(t, newDisk(), false)
	defer s.Close()
	create(t, s, "t/a")
	if err := s.SetTuning("t/a", cf.Tuning{BlobMinSize: 1024, Compression: "none"}); err != nil {
		t.Fatal(err)
	}
	random := rand.NewChaCha8([32]byte{})
	change := func(i int, fn func(*cf.Batch)) {
		t.Helper()
		_, err := s.Write(t.Context(), nil, func(b *cf.Batch) error {
			b.Row(cf.RowID{Space: "t", Row: fmt.Sprintf("r%06d", i)})
			fn(b)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	const values = 100
	for i := range values {
		value := make([]byte, 10_000)
		_, _ = random.Read(value)
		change(i, func(b *cf.Batch) { b.Put("t/a", "q", 1, value) })
	}
	compact := func() int64 {
		t.Helper()
		if err := s.Compact(t.Context(), "t/a", cf.Range{}); err != nil {
			t.Fatal(err)
		}
		return stats(t, s).Families["t/a"].BlobBytes
	}
	before := compact()
	for i := range values {
		if i%10 == 0 {
			change(i, func(b *cf.Batch) { b.DeleteCell("t/a", "q", 1) })
		}
	}
	if after := compact(); after > before*91/100 {
		t.Errorf("%d bytes of large values, %d after a tenth was deleted", before, after)
	}
	if n := cellsOf(t, s, "t/a"); n != values*9/10 {
		t.Errorf("%d cells are left", n)
	}
}

// A compaction rewrites each file once, among them files that families share, and leaves no tombstone. A range has its own files rewritten, and no others.
func TestCompactRewritesEachFile(t *testing.T) {
	for _, size := range []int{0, 1 << 10} {
		s, err := pebble.Open("db", pebble.Options{FS: newDisk(), Memory: 8 << 20, FileSize: size})
		if err != nil {
			t.Fatal(err)
		}
		create(t, s, "t/a", "t/b")
		const n = 300
		for i := range n {
			putAt(t, s, "t/a", i, 1, 2)
			putAt(t, s, "t/b", i, 1)
		}
		for _, family := range []string{"t/a", "t/b"} {
			if err := s.Compact(t.Context(), family, cf.Range{}); err != nil {
				t.Fatal(err)
			}
		}
		names := tables(t, s)
		for _, r := range []cf.Range{{}, {Start: "r000100", End: "r000101"}} {
			if err := s.Compact(t.Context(), "t/a", r); err != nil {
				t.Fatal(err)
			}
			for family, cells := range map[string]int64{"t/a": 2 * n, "t/b": n} {
				f := stats(t, s).Families[family]
				if f.Entries != cells || f.Tombstones != 0 || int64(cellsOf(t, s, family)) != cells {
					t.Errorf("files of %d bytes, range %v: %s has %d entries, %d of them tombstones, for %d cells", size, r, family, f.Entries, f.Tombstones, cells)
				}
			}
			again := tables(t, s)
			kept := 0
			for name := range names {
				if again[name] {
					kept++
				}
			}
			if whole := r == (cf.Range{}); whole && size == 0 && kept > 0 || !whole && size > 0 && kept < len(names)/2 {
				t.Errorf("files of %d bytes, range %v: %d of %d are as they were", size, r, kept, len(names))
			}
			names = again
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// tables are the names of the table files that the store uses.
func tables(t *testing.T, s *pebble.Store) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	if err := s.CheckFiles(t.Context(), func(f cf.CheckedFile) error {
		if strings.HasSuffix(f.Name, ".sst") {
			names[f.Name] = true
		}
		return f.Err
	}); err != nil {
		t.Fatal(err)
	}
	return names
}

// A compaction that meets damage says so, and is not repeated at once; the store goes on and closes.
func TestCompactMeetsDamage(t *testing.T) {
	d := newDisk()
	s := open(t, d, false)
	create(t, s, "t/a")
	for i := range 100 {
		if _, err := s.Write(t.Context(), nil, func(b *cf.Batch) error {
			b.Row(cf.RowID{Space: "t", Row: fmt.Sprintf("r%06d", i)})
			b.Put("t/a", "q", 1, bytes.Repeat([]byte{byte(i)}, 1000))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Flush(t.Context(), "t/a"); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	flip(t, d, ".sst")
	s = open(t, d, false)
	if err := s.Compact(t.Context(), "t/a", cf.Range{}); !errors.Is(err, cf.ErrCorrupt) {
		t.Errorf("%v", err)
	}
	if err := putRow(t.Context(), s, 1000); err != nil {
		t.Errorf("a write after it: %v", err)
	}
	time.Sleep(pebble.Patience / 2)
	if n := stats(t, s).Engine.Work.Errors; n > 5 {
		t.Errorf("the compaction was tried %d times", n)
	}
	if err := s.Close(); err != nil {
		t.Errorf("%v", err)
	}
}

// A compaction that finds no room says so, and another one is made once there is room.
func TestCompactOnAFullDisk(t *testing.T) {
	d := newDisk()
	s := open(t, d, false)
	defer s.Close()
	create(t, s, "t/a")
	putAt(t, s, "t/a", 1, 1)
	if err := s.Flush(t.Context(), "t/a"); err != nil {
		t.Fatal(err)
	}
	var made atomic.Int64
	fault := func(op errorfs.Op) error {
		if op.Kind == errorfs.OpCreate && strings.HasSuffix(op.Path, ".sst") && made.Add(1) > 1 { // the flush has room
			return syscall.ENOSPC
		}
		return nil
	}
	d.fault.Store(&fault)
	if err := s.Compact(t.Context(), "t/a", cf.Range{}); !errors.Is(err, syscall.ENOSPC) || !errors.Is(err, cf.ErrUnavailable) {
		t.Errorf("%v", err)
	}
	d.heal()
	err := s.Compact(t.Context(), "t/a", cf.Range{})
	for errors.Is(err, syscall.ENOSPC) { // of a repetition that Pebble had begun before
		err = s.Compact(t.Context(), "t/a", cf.Range{})
	}
	if err != nil {
		t.Error(err)
	}
	if f := stats(t, s).Families["t/a"]; f.Entries != 1 || f.Tombstones != 0 {
		t.Errorf("%+v", f)
	}
}

// The end of the context ends a compaction.
func TestCompactEndsWithItsContext(t *testing.T) {
	s := open(t, newDisk(), false)
	defer s.Close()
	create(t, s, "t/a")
	putAt(t, s, "t/a", 1, 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Compact(ctx, "t/a", cf.Range{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
