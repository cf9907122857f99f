package transfer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/transfer"
)

// large is a file with enough rows to be imported as a bulk load; edit may
// change a line.
func large(t testing.TB, edit func(i int) string) string {
	t.Helper()
	var b bytes.Buffer
	b.WriteString("id,n\n")
	for i := range 12_000 {
		line := ""
		if edit != nil {
			line = edit(i)
		}
		if line == "" {
			line = fmt.Sprintf("%05d,%d", i*7919%12_000, i%100)
		}
		b.WriteString(line + "\n")
	}
	path := filepath.Join(t.TempDir(), "large.csv")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func largeSpec(path string) transfer.Spec {
	return transfer.Spec{Path: path, Key: "r{id}", Columns: []transfer.Mapping{{Family: "delay", Qualifier: "dep", Field: "n"}}}
}

func count(t testing.TB, db *query.DB, opts ...read.Option) (rows, cells int64) {
	t.Helper()
	n, err := db.Table("fleet").Count(t.Context(), opts...)
	if err != nil {
		t.Fatal(err)
	}
	return n.Rows, n.Cells
}

// A large file is imported only once, and not over existing cells, except on request.
func TestLargeFileIsImportedOnce(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "db"))
	imports := func(spec transfer.Spec) (transfer.Result, error) {
		t.Helper()
		return transfer.Import(t.Context(), db, "fleet", spec)
	}
	spec := largeSpec(large(t, nil))
	res, err := imports(spec)
	if err != nil || res.Rows != 12_000 || res.Cells != 12_000 || res.Before != 0 {
		t.Fatalf("%+v, %v", res, err)
	}
	if res, err := imports(spec); err != nil || res.Rows != 0 || time.Since(res.Before.Time()) > time.Minute {
		t.Errorf("again: %+v, %v", res, err)
	}
	if rows, cells := count(t, db); rows != 12_000 || cells != 12_000 {
		t.Errorf("%d rows, %d cells", rows, cells)
	}

	other := largeSpec(spec.Path)
	other.Columns[0].Qualifier = "arr" // another column of the same rows
	if res, err := imports(other); err != nil || res.Rows != 12_000 {
		t.Errorf("into another column: %+v, %v", res, err)
	}

	changed := largeSpec(large(t, func(i int) string {
		if i == 11_000 {
			return ""
		}
		return fmt.Sprintf("new%d,%d", i, i%100)
	}))
	if _, err := imports(changed); !errors.Is(err, query.ErrOverlap) || !strings.Contains(err.Error(), "nothing was imported") {
		t.Errorf("with one row that is there: %v", err)
	}
	if rows, _ := count(t, db); rows != 12_000 {
		t.Errorf("%d rows after an import that was refused", rows)
	}
	changed.Overlap = true
	if res, err := imports(changed); err != nil || res.Rows != 12_000 {
		t.Errorf("over what is there: %+v, %v", res, err)
	}
	if rows, cells := count(t, db, read.Column("delay", "dep")); rows != 23_999 || cells != 24_000 {
		t.Errorf("%d rows, %d cells", rows, cells)
	}
	spec.Again, spec.Overlap = true, true
	if res, err := imports(spec); err != nil || res.Rows != 12_000 || res.Before != 0 {
		t.Errorf("once more: %+v, %v", res, err)
	}
	if err := db.TruncateTable(t.Context(), "fleet"); err != nil {
		t.Fatal(err)
	}
	spec.Again, spec.Overlap = false, false
	if res, err := imports(spec); err != nil || res.Rows != 12_000 {
		t.Errorf("after the table was emptied: %+v, %v", res, err)
	}
}

// Errors in a large file name the line, and nothing is imported.
func TestLargeFileWithBadLines(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	db := open(t, dir)
	spec := largeSpec(large(t, func(i int) string {
		if i == 11_000 || i == 11_500 {
			return fmt.Sprintf("bad%d,x", i)
		}
		return ""
	}))
	_, err := transfer.Import(t.Context(), db, "fleet", spec)
	if err == nil || !strings.Contains(err.Error(), spec.Path+":11002: field n:") || !strings.Contains(err.Error(), "one of 2 bad lines") || !strings.Contains(err.Error(), "nothing was imported") {
		t.Errorf("error %v", err)
	}
	if rows, _ := count(t, db); rows != 0 {
		t.Errorf("%d rows", rows)
	}
	if _, err := os.Stat(filepath.Join(dir, "bulk")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("files of the load are left: %v", err)
	}
	var warnings bytes.Buffer
	spec.BadLines, spec.Warn = 2, &warnings
	res, err := transfer.Import(t.Context(), db, "fleet", spec)
	if err != nil || res.Rows != 11_998 || res.BadLines != 2 || strings.Count(warnings.String(), "\n") != 2 {
		t.Errorf("%+v, %v, %s", res, err, &warnings)
	}
}

func TestLargeFileInterrupted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	db := open(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	spec := largeSpec(large(t, func(i int) string {
		if i == 11_500 {
			return "bad"
		}
		return ""
	}))
	spec.BadLines, spec.Warn = 1, writerFunc(func([]byte) { cancel() })
	_, err := transfer.Import(ctx, db, "fleet", spec)
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "nothing was imported") {
		t.Errorf("error %v", err)
	}
	if rows, _ := count(t, db); rows != 0 {
		t.Errorf("%d rows", rows)
	}
	if _, err := os.Stat(filepath.Join(dir, "bulk")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("files of the load are left: %v", err)
	}
}

type writerFunc func([]byte)

func (f writerFunc) Write(p []byte) (int, error) { f(p); return len(p), nil }

// A pipe is also imported whole or not at all, but a second import of the same contents
// is not noticed.
func TestLargePipe(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "db"))
	text, err := os.ReadFile(large(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "p.csv")
	if err := transfer.Mkfifo(path); err != nil {
		t.Skip("no named pipes here:", err)
	}
	feed := func(text []byte) {
		go os.WriteFile(path, text, 0) // an import that fails stops reading
	}
	feed(append(text[:len(text):len(text)], "late,x\n"...))
	if _, err := transfer.Import(t.Context(), db, "fleet", largeSpec(path)); err == nil || !strings.Contains(err.Error(), ":12002: field n:") {
		t.Errorf("error %v", err)
	}
	if rows, _ := count(t, db); rows != 0 {
		t.Errorf("%d rows", rows)
	}
	feed(text)
	if res, err := transfer.Import(t.Context(), db, "fleet", largeSpec(path)); err != nil || res.Rows != 12_000 {
		t.Errorf("%+v, %v", res, err)
	}
}

// Lines of an import into aggregates add up, also of a small file, and only once.
func TestImportIntoAggregates(t *testing.T) {
	db, err := query.OpenInMemory(query.Options{Schema: &schema.Schema{Tables: []schema.Table{{Name: "t", Families: []schema.Family{
		{Name: "sum", Aggregate: schema.AggregateSum}, {Name: "max", Aggregate: schema.AggregateMax}, {Name: "hll", Aggregate: schema.AggregateHLL},
	}}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	path := filepath.Join(t.TempDir(), "f.csv")
	if err := os.WriteFile(path, []byte("day,tail,late\n1,A,5\n1,B,7\n2,A,1\n1,A,-3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	spec := transfer.Spec{Path: path, Key: "d{day}", Columns: []transfer.Mapping{
		{Family: "sum", Qualifier: "late", Field: "late"}, {Family: "max", Qualifier: "late", Field: "late"}, {Family: "hll", Qualifier: "tails", Field: "tail"},
	}}
	for again := range 2 {
		res, err := transfer.Import(t.Context(), db, "t", spec)
		if err != nil || (res.Before != 0) != (again == 1) {
			t.Fatalf("%+v, %v", res, err)
		}
		row, err := db.Table("t").ReadRow(t.Context(), "d1")
		if err != nil {
			t.Fatal(err)
		}
		sum, _ := row.I64("sum", "late")
		most, _ := row.I64("max", "late")
		tails, _ := row.I64("hll", "tails")
		if sum != 9 || most != 7 || tails != 2 {
			t.Errorf("sum %d, max %d, distinct %d", sum, most, tails)
		}
	}
	spec.Columns[0].Type = 1 // bytes
	if _, err := transfer.Import(t.Context(), db, "t", spec); err == nil || !strings.Contains(err.Error(), "declared i64") {
		t.Errorf("error %v", err)
	}
}

// JSON gives values their types, but what was added stays recognised: an earlier version
// made text of columns without a type. To a family that counts, 7 and "7" are one value.
func TestJSONIsAddedAsBefore(t *testing.T) {
	db, err := query.OpenInMemory(query.Options{Schema: &schema.Schema{Tables: []schema.Table{{Name: "t", Families: []schema.Family{
		{Name: "sum", Aggregate: schema.AggregateSum}, {Name: "hll", Aggregate: schema.AggregateHLL}, {Name: "any"},
	}}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	path := filepath.Join(t.TempDir(), "f.jsonl")
	if err := os.WriteFile(path, []byte(`{"day":1,"u":7,"n":5}`+"\n"+`{"day":1,"u":"7","n":6}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for again, typ := range []cells.Type{cells.TypeString, cells.TypeAny} { // the first is what it meant before
		res, err := transfer.Import(t.Context(), db, "t", transfer.Spec{Path: path, Key: "d{n}", Columns: []transfer.Mapping{
			{Family: "sum", Qualifier: "n", Field: "n"}, {Family: "hll", Qualifier: "u", Field: "u", Type: typ}, {Family: "any", Qualifier: "u", Field: "u", Type: typ},
		}})
		if err != nil || (res.Before != 0) != (again == 1) {
			t.Fatalf("%+v, %v", res, err)
		}
	}
	spec := transfer.Spec{Path: path, Key: "e{day}", Columns: []transfer.Mapping{{Family: "hll", Qualifier: "u", Field: "u"}}}
	if res, err := transfer.Import(t.Context(), db, "t", spec); err != nil || len(res.Numbers) > 0 {
		t.Fatalf("%+v, %v", res, err)
	}
	row, err := db.Table("t").ReadRow(t.Context(), "e1")
	if err != nil {
		t.Fatal(err)
	}
	if n, _ := row.I64("hll", "u"); n != 1 {
		t.Errorf("%d different values, want 1", n)
	}
}
