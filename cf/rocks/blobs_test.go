//go:build cgo && linux && !norocksdb

package rocks_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/rocks"
)

// A check reads blob files to their ends, large values in pieces, and reports a file
// that is cut off or gone.
func TestBlobFilesAreChecked(t *testing.T) {
	dir, ctx := memoryDir(t), context.Background()
	s := open(t, dir, rocks.Options{})
	if err := errors.Join(s.CreateFamily(ctx, "t"), s.SetTuning("t", cf.Tuning{BlobMinSize: 1})); err != nil {
		t.Fatal(err)
	}
	for i, size := range []int{1, 64 << 10, 64<<10 + 1, 3 << 20} {
		_, err := s.Write(ctx, nil, func(b *cf.Batch) error {
			b.Row(cf.RowID{Space: "t", Row: fmt.Sprint("r", i)})
			b.Put("t", "q", 1, bytes.Repeat([]byte{byte(i)}, size))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Flush(ctx, "t"); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	blobs, err := filepath.Glob(filepath.Join(dir, "*.blob"))
	if err != nil || len(blobs) != 1 {
		t.Fatalf("blob files %v, %v", blobs, err)
	}
	expect := func(want string) {
		t.Helper()
		s := open(t, dir, rocks.Options{})
		defer s.Close()
		seen := false
		err := s.CheckFiles(ctx, func(f cf.CheckedFile) error {
			if f.Name != filepath.Base(blobs[0]) {
				return f.Err
			}
			seen = true
			switch {
			case f.Family != "t":
				t.Errorf("it is of the family %q", f.Family)
			case want == "" && f.Err != nil, want != "" && (!errors.Is(f.Err, cf.ErrCorrupt) || !strings.Contains(f.Err.Error(), want)):
				t.Errorf("check: %v, want %s", f.Err, want)
			}
			return nil
		})
		if err != nil || !seen {
			t.Errorf("seen %t, %v", seen, err)
		}
	}
	expect("")
	info, err := os.Stat(blobs[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(blobs[0], info.Size()-1); err != nil {
		t.Fatal(err)
	}
	expect(fmt.Sprintf("has %d bytes and should have %d", info.Size()-1, info.Size()))
	if err := os.Remove(blobs[0]); err != nil {
		t.Fatal(err)
	}
	expect("no such file")
}
