//go:build cgo && linux && !norocksdb

package rocks_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/rocks"
)

// filesOf are the names and the bytes of the files with an ending.
func filesOf(t *testing.T, dir, ending string) (names []string, bytes int64) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*"+ending))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		bytes += info.Size()
	}
	return names, bytes
}

// fillTwo writes this many kilobytes, half to each of two families.
func fillTwo(t *testing.T, s *rocks.Store, kilobytes int) {
	t.Helper()
	noise := rand.NewChaCha8([32]byte{})
	for i := range kilobytes {
		_, err := s.Write(t.Context(), nil, func(b *cf.Batch) error {
			value := make([]byte, 1<<10)
			noise.Read(value)
			b.Row(cf.RowID{Space: "t", Row: fmt.Sprintf("%06d", i)})
			b.Put([]string{"t/a", "t/b"}[i%2], "q", 1, value)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// counted is the number of rows of two families after another open.
func counted(t *testing.T, dir string) (n int) {
	t.Helper()
	s, err := rocks.Open(dir, rocks.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	snap, err := s.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	for _, family := range []string{"t/a", "t/b"} {
		n += rowsIn(t, snap, family)
	}
	return n
}

func rowsIn(t *testing.T, snap cf.Snapshot, family string) (n int) {
	t.Helper()
	c, err := snap.Scan(t.Context(), cf.Scan{Family: family, Rows: []cf.Range{{}}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for {
		b, err := c.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if b == nil {
			return n
		}
		n += len(b.Rows)
	}
}

// A close flushes memory, so that the logs are removed; but it does not do so for the
// few kilobytes of a single statement.
func TestCloseDropsTheLogs(t *testing.T) {
	for _, c := range []struct {
		name      string
		kilobytes int
		options   rocks.Options
		dropped   bool
	}{
		{"much", 3000, rocks.Options{Async: true}, true},
		{"little", 100, rocks.Options{Async: true}, false},
		{"slowly", 3000, rocks.Options{Async: true, BackgroundRate: 1 << 20}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			s, err := rocks.Open(dir, c.options)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.CreateFamily(t.Context(), "t/a", "t/b"); err != nil {
				t.Fatal(err)
			}
			fillTwo(t, s, c.kilobytes)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			logs, size := filesOf(t, dir, ".log")
			tables, _ := filesOf(t, dir, ".sst")
			if (size == 0) != c.dropped || (len(tables) > 0) != c.dropped {
				t.Errorf("%d bytes of logs %v and table files %v are left", size, logs, tables)
			}
			if n := counted(t, dir); n != c.kilobytes {
				t.Errorf("%d rows, want %d", n, c.kilobytes)
			}
			if _, after := filesOf(t, dir, ".log"); after != size {
				t.Errorf("a reader has changed the logs from %d to %d bytes", size, after)
			}
		})
	}
}

// Data that cannot be flushed at once stays in the logs, and the close does not wait.
func TestCloseOfAStalledStoreKeepsTheLogs(t *testing.T) {
	var log bytes.Buffer
	s, release := stalling(t, "3", "3", &log)
	defer release()
	raw, err := s.Raw("t")
	if err != nil {
		t.Fatal(err)
	}
	dir := raw.DB.Name()
	const rows = 3
	for i := range rows {
		if err := write(t.Context(), s, fmt.Sprint("unflushed", i), 1<<20); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, size := filesOf(t, dir, ".log"); size < rows<<20 {
		t.Errorf("%d bytes of logs", size)
	}
	again, err := rocks.Open(dir, rocks.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if got, _, err := scan(again, cf.Range{}); err != nil || len(got) != 2+rows {
		t.Errorf("opened again it has %d rows, %v", len(got), err)
	}
}
