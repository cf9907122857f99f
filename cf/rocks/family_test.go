//go:build cgo && linux && !norocksdb

package rocks_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/cftest"
	"github.com/smolwc/smolwc/cf/rocks"
)

// Families that are created or dropped together are all in the file of options, which
// is written once, after the last one. They are there after another open.
func TestOptionsAreWrittenOnce(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, rocks.Options{})
	var names []string
	for i := range 20 {
		names = append(names, fmt.Sprintf("t/%02d", i))
	}
	written := func() string {
		t.Helper()
		files, err := filepath.Glob(filepath.Join(dir, "OPTIONS-*"))
		if err != nil || len(files) == 0 {
			t.Fatalf("options %v, %v", files, err)
		}
		return slices.Max(files)
	}
	check := func(want []string) {
		t.Helper()
		text, err := os.ReadFile(written())
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), `[CFOptions "t/`); n != len(want) {
			t.Errorf("%d families in the options, want %d", n, len(want))
		}
		if got := s.Families(); !slices.Equal(got, want) {
			t.Errorf("families %q, want %q", got, want)
		}
	}
	if err := s.CreateFamily(t.Context(), names...); err != nil {
		t.Fatal(err)
	}
	check(names)
	if err := s.DropFamily(t.Context(), names[5:]...); err != nil {
		t.Fatal(err)
	}
	check(names[:5])
	before := written()
	if err := s.CreateFamily(t.Context(), "t/one"); err != nil || written() == before {
		t.Errorf("options are not written any more: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, rocks.Options{})
	defer s.Close()
	if got, want := s.Families(), append(names[:5:5], "t/one"); !slices.Equal(got, want) {
		t.Errorf("opened again: families %q, want %q", got, want)
	}
}

// A dropped family can be read while a snapshot with it, or one of its cursors, is
// open. Then its files are removed.
func TestADroppedFamilyGoesWithItsLastUse(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, rocks.Options{})
	defer s.Close()
	if err := errors.Join(s.CreateFamily(t.Context(), "t"), put(s, "r q@1=v"), s.Flush(t.Context(), "t")); err != nil {
		t.Fatal(err)
	}
	tables := func() int {
		t.Helper()
		files, err := filepath.Glob(filepath.Join(dir, "*.sst"))
		if err != nil {
			t.Fatal(err)
		}
		return len(files)
	}
	before, err := s.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all := cf.Scan{Family: "t", Rows: []cf.Range{{}}}
	cursor, err := before.Scan(t.Context(), all)
	if err != nil {
		t.Fatal(err)
	}
	had := tables()
	if err := s.DropFamily(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	if err := s.CreateFamily(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	after, err := s.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer after.Close()
	for snap, want := range map[cf.Snapshot]int{before: 1, after: 0} {
		if rows, _, err := cftest.Collect(t.Context(), snap, all); err != nil || len(rows) != want {
			t.Errorf("%d rows, want %d: %v", len(rows), want, err)
		}
	}
	before.Close()
	if tables() != had {
		t.Error("the files are gone, and a cursor reads them")
	}
	if b, err := cursor.Next(t.Context()); err != nil || b == nil {
		t.Errorf("the cursor: %v, %v", b, err)
	}
	cursor.Close()
	if n := tables(); n >= had {
		t.Errorf("%d table files after the last use, %d before", n, had)
	}
}

// Families that come and go leave no file open and take no memory.
func TestFamiliesThatComeAndGoLeaveNothing(t *testing.T) {
	s := open(t, memoryDir(t), small)
	defer s.Close()
	cycle := func(i int) {
		name := fmt.Sprintf("t%d", i)
		write := func(b *cf.Batch) error {
			b.Row(cf.RowID{Space: "t", Row: "r"})
			b.Put(name, "q", 1, []byte("v"))
			return nil
		}
		if err := s.CreateFamily(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Write(t.Context(), nil, write); err != nil {
			t.Fatal(err)
		}
		if err := s.Flush(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		if err := s.Read(t.Context(), &cf.Scan{Family: name, Rows: []cf.Range{cf.Single("r")}}, new(cf.Answer)); err != nil {
			t.Fatal(err)
		}
		if err := s.DropFamily(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	const cycles = 100
	for i := range cycles {
		cycle(i)
	}
	memory, files := resident(t)
	for i := range cycles * *opens / 50 {
		cycle(i)
	}
	if now, open := resident(t); open > files || now > memory+memory/5+8<<20 {
		t.Errorf("memory %d -> %d MiB, files %d -> %d", memory>>20, now>>20, files, open)
	}
}
