package query_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
)

// checkedDB is a database with cells of all kinds, in files and not.
func checkedDB(t *testing.T) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "db")
	db, err := query.Open(dir, query.Options{Schema: checkSchema})
	if err != nil {
		t.Fatal(err)
	}
	table := db.Table("a")
	for i := range 60 {
		m := write.NewMutation()
		m.Set("any", fmt.Sprint(i%3), cells.String(strings.Repeat("v", i)))
		m.Set("n", "", cells.I64(int64(i)))
		m.Set("n", "", cells.I64(int64(-i)))
		m.Add("sum", "s", cells.I64(1<<62))
		m.Add("hll", "h", cells.I64(int64(i)))
		if err := table.Apply(t.Context(), fmt.Sprintf("r%d\x00", i/2), m); err != nil {
			t.Fatal(err)
		}
		if i == 40 {
			if err := table.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func check(t *testing.T, dir string) *query.CheckReport {
	t.Helper()
	db, err := query.OpenReadOnly(dir, query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	r, err := db.Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestCheckOfASoundDatabase(t *testing.T) {
	r := check(t, checkedDB(t))
	if !r.OK() {
		t.Errorf("problems %v", r.Problems)
	}
	var got []string
	for _, f := range r.Families {
		got = append(got, fmt.Sprintf("%s/%s %d rows %d cells", f.Table, f.Family, f.Rows, f.Cells))
		if f.Bytes == 0 {
			t.Errorf("%s has no bytes", f.Family)
		}
	}
	if want := "[a/any 30 rows 60 cells a/hll 30 rows 30 cells a/n 30 rows 60 cells a/sum 30 rows 30 cells]"; fmt.Sprint(got) != want {
		t.Errorf("%s, want %s", got, want)
	}
	files := int64(6)
	if query.DefaultEngine() == query.EnginePebble {
		files = 1 // for all families
	}
	if r.Files < files || r.FileBytes == 0 {
		t.Errorf("%d files of %d bytes", r.Files, r.FileBytes)
	}
}

func TestCheckInMemory(t *testing.T) {
	db, err := query.OpenInMemory(query.Options{Schema: checkSchema})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	setCells(t, db.Table("a"), "n", 5)
	r, err := db.Check(t.Context())
	if err != nil || !r.OK() || r.Families[2].Cells != 5 {
		t.Errorf("%+v, %v", r, err)
	}
}

// Faults that a check finds. No write through smolwc makes them, so each is written
// directly to the store.
func TestCheckFindsWhatIsWrong(t *testing.T) {
	for _, test := range []struct {
		name, family   string
		row, qualifier string
		value          []byte
		want           string
	}{
		{"an empty row key", "a/any", "", "q", []byte{1}, "row key has 0 bytes"},
		{"a long row key", "a/any", strings.Repeat("r", 4097), "q", []byte{1}, "row key has 4097 bytes"},
		{"a long qualifier", "a/any", "r", strings.Repeat("q", 16385), []byte{1}, "qualifier has 16385 bytes"},
		{"a tag", "a/any", "r", "q", []byte{9}, "9"},
		{"no value", "a/any", "r", "q", nil, "no tag byte"},
		{"text", "a/any", "r", "q", []byte{2, 0xff}, "UTF-8"},
		{"another type", "a/n", "r", "q", []byte{5, 0, 0, 0, 1}, "has the type i32; the family has i64"},
		{"no sum", "a/sum", "r", "q", []byte{2, 'x'}, "not of the aggregate sum"},
		{"no sketch", "a/hll", "r", "q", []byte{1, 1, 7}, "not of the aggregate hll"},
		{"no table's", "b/x", "r", "q", []byte{1}, "no table declares it"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := checkedDB(t)
			s, err := query.OpenEngine(dir)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.CreateFamily(t.Context(), test.family); err != nil {
				t.Fatal(err)
			}
			_, err = s.Write(t.Context(), nil, func(b *cf.Batch) error {
				b.Row(cf.RowID{Space: "a", Row: test.row})
				b.Put(test.family, test.qualifier, 5, test.value)
				return nil
			})
			if err := errors.Join(err, s.Close()); err != nil {
				t.Fatal(err)
			}
			wantProblem(t, dir, test.family, test.want)
		})
	}
}

// wantProblem wants a check to find one problem.
func wantProblem(t *testing.T, dir, family, want string) {
	t.Helper()
	r := check(t, dir)
	if r.Count != 1 || len(r.Problems) != 1 {
		t.Fatalf("problems %v", r.Problems)
	}
	if p := r.Problems[0]; p.Family != family || !strings.Contains(p.String(), want) {
		t.Errorf("%v, want %s", &p, want)
	}
}

// Every table file is read to its end: a byte changed anywhere in one is found.
func TestCheckNamesTheDamagedFile(t *testing.T) {
	dir := checkedDB(t)
	files, _ := filepath.Glob(filepath.Join(dir, "*.sst"))
	if len(files) == 0 {
		t.Fatal("no files")
	}
	file := files[len(files)-1]
	pristine, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	found, opened := 0, 0
	for at := 0; at < len(pristine); at += 31 {
		b := append([]byte(nil), pristine...)
		b[at] ^= 1
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
		db, err := query.OpenReadOnly(dir, query.Options{GCInterval: -1})
		if query.KindOf(err) == query.KindCorruption {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		opened++
		r, err := db.Check(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range r.Problems {
			if p.File == filepath.Base(file) {
				found++
				break
			}
		}
		db.Close()
	}
	if opened == 0 || found < opened*9/10 {
		t.Errorf("%d times of %d found", found, opened)
	}
}
