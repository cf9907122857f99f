package query_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
)

// closedOnPebble makes a database on Pebble with rows in files, in a blob file and in a log.
func closedOnPebble(t *testing.T) (dir string, rows int) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "db")
	o := query.Options{Engine: query.EnginePebble, Schema: declare(schema.Family{Name: "f", Tuning: schema.Tuning{BlobMinSize: 1 << 10}})}
	for part := range 3 {
		db, err := query.Open(dir, o)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			value := strings.Repeat("v", 4<<10*(part%2)+10)
			put(t, db, fmt.Sprintf("r%03d", rows), "f", "q", cells.String(value))
			rows++
		}
		if part == 1 {
			if err := db.Table("t").Compact(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return dir, rows
}

// countOf is the number of rows.
func countOf(t *testing.T, db *query.DB) int {
	t.Helper()
	n, err := db.Table("t").Count(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return int(n.Rows)
}

func writeText(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// contentOf is the content of a directory, with the names.
func contentOf(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		fmt.Fprintf(&all, "%s %x\n", path, sha256.Sum256(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// A database that has lost one file opens with all its rows, or it says which file it has
// lost, and nothing is changed.
func TestOneLostFile(t *testing.T) {
	from, rows := closedOnPebble(t)
	names, err := os.ReadDir(from)
	if err != nil {
		t.Fatal(err)
	}
	refused := map[string]bool{}
	for _, e := range names {
		if e.IsDir() {
			continue
		}
		for _, o := range []query.Options{{}, {ReadOnly: true}, {MustExist: true}, {Engine: query.EnginePebble}} {
			dir := filepath.Join(t.TempDir(), "db")
			if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
				t.Fatal(err)
			}
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
				t.Fatal(err)
			}
			before := contentOf(t, dir)
			db, err := query.Open(dir, o)
			if err == nil {
				if got := countOf(t, db); got != rows {
					t.Errorf("without %s, %+v: %d of %d rows", e.Name(), o, got, rows)
				}
				if err := db.Close(); err != nil {
					t.Error(err)
				}
				continue
			}
			name, _, _ := strings.Cut(e.Name(), ".")
			refused[e.Name()] = true
			if text := err.Error(); query.KindOf(err) != query.KindCorruption || !strings.Contains(text, name) || !strings.Contains(text, "lost") || strings.Contains(text, "\n") {
				t.Errorf("without %s, %+v: %v", e.Name(), o, err)
			}
			if after := contentOf(t, dir); after != before {
				t.Errorf("without %s, %+v: the directory was\n%s\nand is\n%s", e.Name(), o, before, after)
			}
		}
	}
	for _, pattern := range []string{"CURRENT", "*.sst", "*.blob", "*.log", "MANIFEST-*", "marker.manifest.*", "marker.format-version.*"} {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(refused)), func(name string) bool { ok, _ := filepath.Match(pattern, name); return ok }) {
			t.Errorf("no database without %s was refused: %v", pattern, refused)
		}
	}
}

// A directory that has only the marker left is not one for a new database.
func TestOnlyTheMarkerIsLeft(t *testing.T) {
	for _, o := range []query.Options{{}, {ReadOnly: true}, {MustExist: true}} {
		dir := t.TempDir()
		for engine, marker := range map[string]string{"pebble": "smolwc database, format 6\nengine pebble\n", "rocksdb": "smolwc database, format 1\n"} {
			writeText(t, filepath.Join(dir, "SMOLWC"), marker)
			before := contentOf(t, dir)
			_, err := query.Open(dir, o)
			if query.KindOf(err) != query.KindCorruption || !strings.Contains(err.Error(), "on "+engine) {
				t.Errorf("%s, %+v: %v", engine, o, err)
			}
			if contentOf(t, dir) != before {
				t.Errorf("%s, %+v: the directory has changed", engine, o)
			}
		}
	}
}

// CURRENT and SMOLWC both say which engine a database has.
func TestFilesThatDisagreeAboutTheEngine(t *testing.T) {
	from, rows := closedOnPebble(t)
	for _, c := range []struct {
		file, text, want string
		kind             query.Kind
	}{
		{"CURRENT", "MANIFEST-000001\n", "is that of a database on rocksdb, and the database is on pebble", query.KindCorruption},
		{"CURRENT", "", "is that of a database on rocksdb, and the database is on pebble", query.KindCorruption},
		{"CURRENT", "pebbl", "is that of a database on rocksdb, and the database is on pebble", query.KindCorruption},
		{"SMOLWC", "smolwc database, format 6\n", "is that of a database on pebble, and the database is on rocksdb", query.KindCorruption},
		{"SMOLWC", "smolwc database, format 6\nengine rocksdb\n", "is that of a database on pebble, and the database is on rocksdb", query.KindCorruption},
		{"SMOLWC", "smolwc database, format 8\nengine other\n", `the database is on "other", written by a newer smolwc`, query.KindFailedPrecondition},
		{"SMOLWC", "smolwc database, format 8\nengine pebble\n", "has format 8, written by a newer smolwc", query.KindFailedPrecondition},
		{"SMOLWC", "", `not a format`, query.KindCorruption},
		{"SMOLWC", "\x00\x00\x00", `not a format`, query.KindCorruption},
	} {
		for _, o := range []query.Options{{}, {ReadOnly: true}, {Engine: query.EnginePebble}, {MustExist: true}} {
			dir := filepath.Join(t.TempDir(), "db")
			if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
				t.Fatal(err)
			}
			writeText(t, filepath.Join(dir, c.file), c.text)
			before := contentOf(t, dir)
			db, err := query.Open(dir, o)
			if err == nil {
				t.Errorf("%s says %q, %+v: it opens with %d of %d rows", c.file, c.text, o, countOf(t, db), rows)
				_ = db.Close()
				continue
			}
			if query.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s says %q, %+v: %v", c.file, c.text, o, err)
			}
			if contentOf(t, dir) != before {
				t.Errorf("%s says %q, %+v: the directory has changed", c.file, c.text, o)
			}
		}
	}
}

// A directory of RocksDB is never touched by Pebble, whatever is left of it.
func TestPebbleOnADirectoryOfRocksDB(t *testing.T) {
	if !query.HasRocksDB {
		t.Skip("this build has no RocksDB")
	}
	from := filepath.Join(t.TempDir(), "db")
	db, err := query.Open(from, query.Options{Engine: query.EngineRocksDB, Schema: declare(schema.Family{Name: "f"})})
	if err != nil {
		t.Fatal(err)
	}
	put(t, db, "r", "f", "q", cells.String("v"))
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for _, lost := range [][]string{nil, {"CURRENT"}, {"CURRENT", "SMOLWC"}, {"SMOLWC"}} {
		dir := filepath.Join(t.TempDir(), "db")
		if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
		for _, name := range lost {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		before := contentOf(t, dir)
		for _, readOnly := range []bool{false, true} {
			if _, err := query.Open(dir, query.Options{Engine: query.EnginePebble, ReadOnly: readOnly}); err == nil || !strings.Contains(err.Error(), "on rocksdb") {
				t.Errorf("without %v, read-only %v: %v", lost, readOnly, err)
			}
		}
		if after := contentOf(t, dir); after != before {
			t.Errorf("without %v: the directory was\n%s\nand is\n%s", lost, before, after)
		}
	}
}

// A database on Pebble can be open for writing once, by whatever name, and also when its
// file LOCK has been removed.
func TestPebbleIsOpenOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	db := mustOpen(t, dir, query.Options{Engine: query.EnginePebble})
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Skip(err)
	}
	for range 2 {
		for _, path := range []string{dir, link} {
			_, err := query.Open(path, query.Options{})
			wantError(t, err, query.KindBusy, "open in this process already")
		}
		_ = os.Remove(filepath.Join(dir, "LOCK")) // Windows refuses that
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := mustOpen(t, link, query.Options{}).Close(); err != nil {
		t.Error(err)
	}
}
