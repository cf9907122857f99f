//go:build cgo && linux && !norocksdb

package rocks

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/smolwc/smolwc/cf"
)

// A database with many table files opens few of them at its beginning, and the others when
// they are read.
func TestManyTablesAreOpenedLate(t *testing.T) {
	const rows = 2000
	dir, tables := manyTablesOf(t, rows)
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const atFirst = 16 // RocksDB's own number
	if n := openTables(t, dir); n > atFirst {
		t.Errorf("%d of %d table files are open after the start, want %d at most", n, tables, atFirst)
	}
	wantRows(t, s, rows)
	if n := openTables(t, dir); n < manyTables {
		t.Errorf("%d of %d table files are open after a read of all rows", n, tables)
	}
}

// A database with more table files than the process may have open is read and written.
func TestMoreTablesThanOpenFiles(t *testing.T) {
	const rows, limit = 6000, 160
	dir, tables := manyTablesOf(t, rows)
	if tables < limit {
		t.Fatalf("%d table files, want %d or more", tables, limit)
	}
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: limit, Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
			t.Error(err)
		}
	}()
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	wantRows(t, s, rows)
	for i := range 3 {
		_, err := s.Write(t.Context(), nil, func(b *cf.Batch) error {
			b.Row(cf.RowID{Space: "t", Row: fmt.Sprintf("row%05d", i)})
			b.Put("t/f", "later", 1, []byte("v"))
			return nil
		})
		if err = errors.Join(err, s.Flush(t.Context(), "t/f")); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Compact(t.Context(), "t/f", cf.Range{}); err != nil {
		t.Error(err)
	}
	wantRows(t, s, rows)
}

// Figures are read once from files that are not open, and again after a change.
func TestFiguresOfManyTablesAreKept(t *testing.T) {
	const rows = 1000
	dir, _ := manyTablesOf(t, rows)
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	want := func(when string, entries int64) {
		t.Helper()
		if stats, err := s.Stats(t.Context()); err != nil || stats.Families["t/f"].Entries != entries {
			t.Errorf("%s there are %d entries, %v; want %d", when, stats.Families["t/f"].Entries, err, entries)
		}
	}
	want("at first", rows)
	away := filepath.Join(t.TempDir(), "away")
	if err := os.Mkdir(away, 0o755); err != nil {
		t.Fatal(err)
	}
	moveTables(t, dir, away)
	want("without the files", rows)
	moveTables(t, away, dir)
	_, err = s.Write(t.Context(), nil, func(b *cf.Batch) error {
		b.Row(cf.RowID{Space: "t", Row: "row"})
		b.Put("t/f", "q", 1, []byte("v"))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want("after a write", rows+1)
	if err := s.Flush(t.Context(), "t/f"); err != nil {
		t.Fatal(err)
	}
	want("after a flush", rows+1)
}

func moveTables(t *testing.T, from, to string) {
	t.Helper()
	tables, err := filepath.Glob(filepath.Join(from, "*.sst"))
	for _, path := range tables {
		err = errors.Join(err, os.Rename(path, filepath.Join(to, filepath.Base(path))))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// manyTablesOf makes a database with many table files, and lets the test's databases open
// them late.
func manyTablesOf(t *testing.T, rows int) (dir string, tables int) {
	t.Helper()
	before := manyTables
	t.Cleanup(func() { manyTables = before })
	manyTables = 30
	dir, ctx := t.TempDir(), t.Context()
	s, err := Open(dir, Options{Async: true, FileSize: 1 << 10})
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
	files, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	if err != nil || len(files) < manyTables {
		t.Fatalf("%d table files, %v; want %d or more", len(files), err, manyTables)
	}
	return dir, len(files)
}

// wantRows reads all rows.
func wantRows(t *testing.T, s *Store, rows int) {
	t.Helper()
	var a cf.Answer
	err := s.Read(t.Context(), &cf.Scan{Family: "t/f", Rows: []cf.Range{{}}}, &a)
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	for b := range a.Blocks() {
		for i := range b.Rows {
			if want := fmt.Sprintf("row%05d", read); b.RowKey(&b.Rows[i]) != want {
				t.Fatalf("row %s, want %s", b.RowKey(&b.Rows[i]), want)
			}
			read++
		}
	}
	if read != rows {
		t.Errorf("%d of %d rows were read", read, rows)
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
