package pebble_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/pebble"
)

// files is the number of files of a kind.
func files(t *testing.T, d *disk, suffix string) (n int) {
	t.Helper()
	names, err := d.files.List("db")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, suffix) {
			n++
		}
	}
	return n
}

// Large values of a family that wants it lie apart, those of another one do not, and both
// are read, checked and copied.
func TestBlobs(t *testing.T) {
	d := newDisk()
	s := open(t, d, false)
	create(t, s, "t/a", "t/b")
	put := func(s *pebble.Store, family string) {
		t.Helper()
		for i := range 20 {
			_, err := s.Write(t.Context(), nil, func(b *cf.Batch) error {
				b.Row(cf.RowID{Space: "t", Row: fmt.Sprintf("r%06d", i)})
				b.Put(family, "q", 1, bytes.Repeat([]byte{byte(i)}, 10_000))
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Flush(t.Context(), family); err != nil {
			t.Fatal(err)
		}
	}
	tune := func(s *pebble.Store) {
		t.Helper()
		if err := s.SetTuning("t/a", cf.Tuning{BlobMinSize: 4096, Compression: "none"}); err != nil {
			t.Fatal(err)
		}
	}
	tune(s)
	put(s, "t/b")
	if n := files(t, d, ".blob"); n > 0 {
		t.Errorf("%d files of large values of a family that wants none", n)
	}
	put(s, "t/a")
	if n := files(t, d, ".blob"); n != 1 {
		t.Errorf("%d files of large values", n)
	}
	if all := stats(t, s).Families; all["t/a"].BlobBytes == 0 || all["t/b"].BlobBytes != 0 {
		t.Errorf("bytes of large values: %+v", all)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, d, false) // without a tuning it reads them too, and a compaction takes them back
	defer s.Close()
	for _, family := range []string{"t/a", "t/b"} {
		if found := rows(t, s, family); len(found) != 20 {
			t.Errorf("%s has rows %v", family, found)
		}
	}
	tune(s) // or the flush of the copy, and a compaction after it, take them back
	if _, err := s.Checkpoint(t.Context(), "copy"); err != nil {
		t.Fatal(err)
	}
	other, err := pebble.OpenFollower("copy", pebble.Options{FS: d, Memory: 8 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if found := rows(t, other, "t/a"); len(found) != 20 {
		t.Errorf("the copy has rows %v", found)
	}
	checked := 0
	if err := s.CheckFiles(t.Context(), func(f cf.CheckedFile) error {
		if strings.HasSuffix(f.Name, ".blob") {
			checked++
		}
		return f.Err
	}); err != nil || checked != 1 {
		t.Errorf("%d files of large values were checked: %v", checked, err)
	}
	flip(t, d, ".blob")
	damaged := 0
	if err := s.CheckFiles(t.Context(), func(f cf.CheckedFile) error {
		if errors.Is(f.Err, cf.ErrCorrupt) && strings.HasSuffix(f.Name, ".blob") {
			damaged++
		}
		return nil
	}); err != nil || damaged != 1 {
		t.Errorf("a check finds %d damaged files of large values: %v", damaged, err)
	}
}

// A family's figures are its own, although families share files.
func TestStatsOfFamilies(t *testing.T) {
	s := open(t, newDisk(), false)
	defer s.Close()
	create(t, s, "t/a", "t/b", "t/none")
	for i := range 30 {
		putAt(t, s, "t/a", i, 1, 2)
		if i < 10 {
			putAt(t, s, "t/b", i, 1)
		}
	}
	if err := s.Flush(t.Context(), "t/a"); err != nil {
		t.Fatal(err)
	}
	all := stats(t, s).Families
	for name, want := range map[string]int64{"t/a": 60, "t/b": 10, "t/none": 0} {
		f := all[name]
		if f.Entries != want || f.Tombstones != 0 || (f.FileBytes > 0) != (want > 0) || (f.Files() > 0) != (want > 0) {
			t.Errorf("%s, of %d cells: %+v", name, want, f)
		}
	}
	_, err := s.Write(t.Context(), nil, func(b *cf.Batch) error {
		b.Row(cf.RowID{Space: "t", Row: "r000001"})
		b.DeleteCell("t/a", "q", 1)
		return nil
	})
	if err = errors.Join(err, s.Flush(t.Context(), "t/a")); err != nil {
		t.Fatal(err)
	}
	if f := stats(t, s).Families["t/a"]; f.Entries-f.Tombstones > 60 || f.Entries < 59 {
		t.Errorf("with a tombstone: %+v", f)
	}
	if e := stats(t, s).Engine; e.Cache.Capacity == 0 || e.Work.Flushes < 2 || e.Work.FlushedBytes == 0 || e.Log.Written == 0 || e.Work.Refused != nil {
		t.Errorf("%+v", e)
	}
}

// A bound of the background's rate slows nothing down at the end of a store.
func TestBackgroundRate(t *testing.T) {
	d := newDisk()
	s, err := pebble.Open("db", pebble.Options{FS: d, Memory: 8 << 20, BackgroundRate: 1})
	if err != nil {
		t.Fatal(err)
	}
	create(t, s, "t/a")
	if err := putRow(t.Context(), s, 0); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Flush(t.Context(), "t/a") }()
	eventually(func() bool { return files(t, d, ".sst") > 0 })
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil && !errors.Is(err, cf.ErrClosed) {
		t.Error(err)
	}
	s = open(t, d, false)
	defer s.Close()
	if found := rows(t, s, "t/a"); !found[0] {
		t.Error("the row is gone")
	}
}
