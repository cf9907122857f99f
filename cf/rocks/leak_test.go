//go:build cgo && linux && !norocksdb

package rocks_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/rocks"
)

var opens = flag.Int("opens", 50, "how many times TestOpeningAndClosingLeaksNothing opens a database")

// resident is the process's memory in bytes, and its number of open files.
func resident(t *testing.T) (bytes, files int) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip(err)
	}
	var size, pages int
	if _, err := fmt.Sscan(string(text), &size, &pages); err != nil {
		t.Fatal(err)
	}
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize(), len(open)
}

// After opening, writing, reading and closing many times, no file, snapshot or cursor
// is open and no memory is lost.
func TestOpeningAndClosingLeaksNothing(t *testing.T) {
	dir := memoryDir(t)
	once := func(i int) {
		s := open(t, dir, small)
		if err := errors.Join(s.CreateFamily(t.Context(), "t"), put(s, fmt.Sprintf("r%d q@1=v", i%10)), s.Flush(t.Context(), "t")); err != nil {
			t.Fatal(err)
		}
		if _, _, err := scan(s, cf.Range{}); err != nil {
			t.Fatal(err)
		}
		if err := s.Read(t.Context(), &cf.Scan{Family: "t", Rows: []cf.Range{cf.Single("r1")}}, new(cf.Answer)); err != nil {
			t.Fatal(err)
		}
		if err := s.CheckFiles(t.Context(), func(f cf.CheckedFile) error { return f.Err }); err != nil {
			t.Fatal(err)
		}
		if snapshots, cursors := s.Open(); snapshots != 0 || cursors != 0 {
			t.Fatalf("left open: %d snapshots, %d cursors", snapshots, cursors)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := rocks.Open(dir+"/missing", rocks.Options{MustExist: true}); err == nil {
			t.Fatal("opened")
		}
	}
	for i := range 20 { // until caches and allocators have their final size
		once(i)
	}
	before, files := resident(t)
	for i := range *opens {
		once(i)
	}
	after, left := resident(t)
	if left > files {
		t.Errorf("%d files are open, %d were", left, files)
	}
	const slack = 16 << 20
	if after > before+slack {
		t.Errorf("%d KB of memory after %d times, %d KB before", after>>10, *opens, before>>10)
	}
	t.Logf("%d KB before, %d KB after %d times", before>>10, after>>10, *opens)
}
