//go:build cgo && linux && !norocksdb

package rocks_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/rocks"
)

// files are the properties of the files of family t.
func files(t *testing.T, s *rocks.Store) string {
	t.Helper()
	raw, err := s.Raw("t")
	if err != nil {
		t.Fatal(err)
	}
	return raw.DB.GetPropertyCF("rocksdb.aggregated-table-properties", raw.Family)
}

// fill writes rows with values that compress well, and compacts them.
func fill(t *testing.T, s *rocks.Store, rows, size int) {
	t.Helper()
	_, err := s.Write(t.Context(), nil, func(b *cf.Batch) error {
		for i := range rows {
			b.Row(cf.RowID{Space: "t", Row: fmt.Sprintf("r%06d", i)})
			b.Put("t", "q", 1, bytes.Repeat([]byte{byte(i)}, size))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Compact(t.Context(), "t", cf.Range{}); err != nil {
		t.Fatal(err)
	}
}

// A tuning applies to files that are written after it. Older files are read under any
// later tuning.
func TestTuning(t *testing.T) {
	s := open(t, t.TempDir(), rocks.Options{Async: true})
	if err := s.CreateFamily(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	stats := func() cf.FamilyStats {
		t.Helper()
		all, err := s.Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return all.Families["t"]
	}
	blocks := func() (n int64) {
		t.Helper()
		_, rest, _ := strings.Cut(files(t, s), "# data blocks=")
		fmt.Sscan(rest, &n)
		return n
	}
	tune := func(to cf.Tuning) {
		t.Helper()
		if err := s.SetTuning("t", to); err != nil {
			t.Fatal(err)
		}
	}
	const rows, size = 200, 2000
	fill(t, s, rows, size)
	compressed, usual := stats().FileBytes, blocks()

	tune(cf.Tuning{Compression: "none", BlockSize: 4 << 10})
	fill(t, s, rows, size)
	if n := stats().FileBytes; n < rows*size || n < 5*compressed {
		t.Errorf("without compression %d bytes, with it %d", n, compressed)
	}
	if n := blocks(); n < 3*usual {
		t.Errorf("small blocks: %d, usual ones %d", n, usual)
	}

	tune(cf.Tuning{BlobMinSize: size})
	fill(t, s, rows, size)
	if f := stats(); f.BlobBytes == 0 || f.BlobBytes < f.FileBytes/10 {
		t.Errorf("large values: %d bytes in blob files, %d in tables", f.BlobBytes, f.FileBytes)
	}
	if got, _, err := scan(s, cf.Range{}); err != nil || strings.Count(got.String(), "q@1=") != rows {
		t.Errorf("%d cells with blob files, %v", strings.Count(got.String(), "q@1="), err)
	}

	tune(cf.Tuning{})
	fill(t, s, rows, size)
	if n := blocks(); n != usual {
		t.Errorf("%d blocks after the tuning is gone, %d before it", n, usual)
	}
}

func TestTuningOfNothing(t *testing.T) {
	s := open(t, "", rocks.Options{InMemory: true})
	if err := s.SetTuning("t", cf.Tuning{}); err == nil {
		t.Error("a family that is not there is tuned")
	}
	if err := s.CreateFamily(context.Background(), "t"); err != nil {
		t.Fatal(err)
	}
	if err := s.SetTuning("t", cf.Tuning{Compression: "zip"}); err == nil || !strings.Contains(err.Error(), `"zip"`) {
		t.Errorf("got %v", err)
	}
}

// Flushes and compactions keep to the rate; writes do not wait for it here.
func TestBackgroundRate(t *testing.T) {
	s := open(t, t.TempDir(), rocks.Options{Async: true, BackgroundRate: 1 << 20})
	if err := s.CreateFamily(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	fill(t, s, 100, 100)
	if stats, err := s.Stats(t.Context()); err != nil || stats.Families["t"].Entries != 100 {
		t.Errorf("%+v, %v", stats.Families["t"], err)
	}
}
