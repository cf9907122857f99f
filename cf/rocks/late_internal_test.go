//go:build cgo && linux

package rocks

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/cf"
)

// A database with many table files opens few of them at its beginning, and the others when
// they are read.
func TestManyTablesAreOpenedLate(t *testing.T) {
	const rows = 4000
	defer func(before int) { manyTables = before }(manyTables)
	manyTables = 30
	dir, ctx := t.TempDir(), t.Context()
	s, err := Open(dir, Options{Async: true, FileSize: 4 << 10})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.CreateFamily(ctx, "t/f"); err != nil {
		t.Fatal(err)
	}
	random, value := rand.NewChaCha8([32]byte{1}), make([]byte, 100) // does not compress
	_, err = s.Write(ctx, nil, func(b *cf.Batch) error {
		for i := range rows {
			b.Row(cf.RowID{Space: "t", Row: fmt.Sprintf("row%05d", i)})
			random.Read(value)
			b.Put("t/f", "q", 1, value)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Compact(ctx, "t/f", cf.Range{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	tables, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	if err != nil || len(tables) < manyTables {
		t.Fatalf("%d table files, %v; want %d or more", len(tables), err, manyTables)
	}
	if s, err = Open(dir, Options{}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const atFirst = 16 // RocksDB's own number
	if n := openTables(t, dir); n > atFirst {
		t.Errorf("%d of %d table files are open after the start, want %d at most", n, len(tables), atFirst)
	}
	blocks, _, err := s.Read(ctx, cf.Scan{Family: "t/f", Rows: []cf.Range{{}}})
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	for _, b := range blocks {
		for i := range b.Rows {
			if want := fmt.Sprintf("row%05d", read); b.RowKey(&b.Rows[i]) != want {
				t.Fatalf("row %s, want %s", b.RowKey(&b.Rows[i]), want)
			}
			read++
		}
	}
	if n := openTables(t, dir); read != rows || n < manyTables {
		t.Errorf("%d of %d rows were read; %d of %d table files are open", read, rows, n, len(tables))
	}
}

// openTables is the number of table files of a directory that this process has open.
func openTables(t *testing.T, dir string) (n int) {
	t.Helper()
	descriptors, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range descriptors {
		to, err := os.Readlink("/proc/self/fd/" + d.Name())
		if err == nil && filepath.Dir(to) == dir && strings.HasSuffix(to, ".sst") {
			n++
		}
	}
	return n
}
