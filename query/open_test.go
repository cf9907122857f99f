package query_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/tuple"
)

var ctx = context.Background()

// declare is a schema of one table, t, with these families.
func declare(families ...schema.Family) *schema.Schema {
	return &schema.Schema{Tables: []schema.Table{{Name: "t", Families: families}}}
}

func mustOpen(t *testing.T, dir string, o query.Options) *query.DB {
	t.Helper()
	o.Durability = query.DurabilityAsync
	db, err := query.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func put(t *testing.T, db *query.DB, row, family, qualifier string, v cells.Value) {
	t.Helper()
	m := write.NewMutation()
	m.Set(family, qualifier, v)
	if err := db.Table("t").Apply(ctx, row, m); err != nil {
		t.Fatal(err)
	}
}

// wantError checks an error's kind and that its text says all of parts.
func wantError(t *testing.T, err error, kind query.Kind, parts ...string) {
	t.Helper()
	if err == nil || query.KindOf(err) != kind {
		t.Errorf("error %v of kind %v, want kind %v", err, query.KindOf(err), kind)
		return
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("error %q does not say %q", err, p)
		}
	}
}

func TestADatabaseKeepsItsIdentitySchemaAndCells(t *testing.T) {
	dir := t.TempDir()
	db := mustOpen(t, dir, query.Options{Schema: declare(schema.Family{Name: "f", GC: schema.MaxVersions(2)})})
	id := db.UUID()
	put(t, db, "r", "f", "q", cells.I64(7))
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = mustOpen(t, dir, query.Options{MustExist: true})
	if db.UUID() != id {
		t.Errorf("identity %v, was %v", db.UUID(), id)
	}
	if want := declare(schema.Family{Name: "f", GC: schema.MaxVersions(2)}); !db.Schema().Equal(want) {
		t.Errorf("schema is %+v", db.Schema())
	}
	row, err := db.Table("t").ReadRow(ctx, "r")
	if err != nil {
		t.Fatal(err)
	}
	if n, ok := row.I64("f", "q"); n != 7 || !ok {
		t.Errorf("read %d, %v", n, ok)
	}
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := query.Open(filepath.Join(t.TempDir(), "none"), query.Options{MustExist: true})
	wantError(t, err, query.KindNotFound, "none", "does not exist")
	_, err = query.Open(file, query.Options{})
	wantError(t, err, query.KindUnavailable, "is a file, not a directory")
	_, err = query.Open(filepath.Join(file, "below"), query.Options{})
	wantError(t, err, query.KindUnavailable, "below")
	_, err = query.OpenInMemory(query.Options{Memory: 1})
	wantError(t, err, query.KindInvalidArgument, "memory of 1 bytes")

	dir := t.TempDir()
	mustOpen(t, dir, query.Options{})
	for _, path := range []string{dir, dir + "/"} {
		_, err = query.Open(path, query.Options{})
		wantError(t, err, query.KindBusy, dir, "open in this process")
	}
}

// withCatalog opens a new database whose catalog was tampered with.
func withCatalog(t *testing.T, tamper func(*cf.Batch)) error {
	t.Helper()
	dir := t.TempDir()
	if err := mustOpen(t, dir, query.Options{Schema: declare(schema.Family{Name: "f"})}).Close(); err != nil {
		t.Fatal(err)
	}
	store, err := query.OpenEngine(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, err = store.Write(ctx, nil, func(b *cf.Batch) error { tamper(b); return nil })
	if err := errors.Join(err, store.Close()); err != nil {
		t.Fatal(err)
	}
	db, err := query.Open(dir, query.Options{})
	if err == nil {
		db.Close()
	}
	return err
}

func TestOpenRefusesACatalogThatItCannotTrust(t *testing.T) {
	wantError(t, withCatalog(t, func(b *cf.Batch) { b.PutMeta("smolwc/format", []byte("8")) }),
		query.KindFailedPrecondition, "format 8", "newer smolwc", "up to 7")
	wantError(t, withCatalog(t, func(b *cf.Batch) { b.PutMeta("smolwc/format", []byte("x")) }), query.KindCorruption, `"x"`)
	wantError(t, withCatalog(t, func(b *cf.Batch) { b.DeleteMeta("smolwc/format") }), query.KindFailedPrecondition, "not smolwc's")
	wantError(t, withCatalog(t, func(b *cf.Batch) { b.PutMeta("smolwc/uuid", []byte("?")) }), query.KindCorruption, "smolwc/uuid")
	wantError(t, withCatalog(t, func(b *cf.Batch) { b.PutMeta("smolwc/clock", []byte("-")) }), query.KindCorruption, "smolwc/clock")
	wantError(t, withCatalog(t, func(b *cf.Batch) { b.PutMeta("table/t", []byte("{")) }), query.KindCorruption, "table/t")
	wantError(t, withCatalog(t, func(b *cf.Batch) { b.PutMeta("table/u", []byte(`{"name":"t","families":[{"name":"f"}]}`)) }), query.KindCorruption, "table/u")
	wantError(t, withCatalog(t, func(b *cf.Batch) { b.PutMeta("table/u", []byte(`{"name":"u","families":[{"name":"f"}]}`)) }), query.KindCorruption, "u/f", "missing")
}

func TestAnInterruptedDropIsFinishedAtOpen(t *testing.T) {
	dir := t.TempDir()
	if err := mustOpen(t, dir, query.Options{Schema: declare(schema.Family{Name: "f"})}).Close(); err != nil {
		t.Fatal(err)
	}
	store, err := query.OpenEngine(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, err = store.Write(ctx, nil, func(b *cf.Batch) error {
		b.DeleteMeta("table/t")
		b.PutMeta("drop/t/f", nil)
		return nil
	})
	if err := errors.Join(err, store.Close()); err != nil {
		t.Fatal(err)
	}
	if err := mustOpen(t, dir, query.Options{}).Close(); err != nil {
		t.Fatal(err)
	}
	store, err = query.OpenEngine(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if families := store.Families(); len(families) != 0 {
		t.Errorf("families %v are left", families)
	}
}

func TestDeclaringAddsAndNeverDrops(t *testing.T) {
	dir := t.TempDir()
	db := mustOpen(t, dir, query.Options{Schema: declare(schema.Family{Name: "f", GC: schema.MaxVersions(1)}, schema.Family{Name: "g"})})
	put(t, db, "r", "g", "q", cells.I64(7))
	db.Close()
	db = mustOpen(t, dir, query.Options{Schema: declare(schema.Family{Name: "f", GC: schema.MaxVersions(2)}, schema.Family{Name: "h", GC: schema.MaxVersions(1)})})
	want := declare(schema.Family{Name: "f", GC: schema.MaxVersions(2)}, schema.Family{Name: "g"}, schema.Family{Name: "h", GC: schema.MaxVersions(1)})
	if !db.Schema().Equal(want) {
		t.Errorf("schema is %+v", db.Schema())
	}
	if row, err := db.Table("t").ReadRow(ctx, "r"); row == nil || err != nil {
		t.Errorf("the undeclared family's row: %v", err)
	}
}

func TestATypeChangesOnlyWhileThereIsNoData(t *testing.T) {
	dir := t.TempDir()
	mustOpen(t, dir, query.Options{Schema: declare(schema.Family{Name: "f"})}).Close()
	db := mustOpen(t, dir, query.Options{Schema: declare(schema.Family{Name: "f", Type: cells.TypeI32})})
	put(t, db, "r", "f", "q", cells.I32(7))
	db.Close()
	_, err := query.Open(dir, query.Options{Schema: declare(schema.Family{Name: "f", Type: cells.TypeI64})})
	wantError(t, err, query.KindFailedPrecondition, "family f of table t", "i32", "i64")
	mustOpen(t, dir, query.Options{}) // the refusal left nothing locked or changed
}

func TestTablesAndFamiliesComeAndGo(t *testing.T) {
	db, err := query.OpenInMemory(query.Options{Schema: declare(schema.Family{Name: "meta"})})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	put(t, db, "r", "meta", "q", cells.I64(7))

	wantError(t, db.CreateTable(ctx, schema.Table{Name: "t"}), query.KindAlreadyExists, `"t"`)
	wantError(t, db.CreateTable(ctx, schema.Table{Name: "a/b"}), query.KindInvalidArgument, "a/b")
	wantError(t, db.AddFamily(ctx, "t", schema.Family{Name: "meta"}), query.KindAlreadyExists, `"meta"`)
	wantError(t, db.AddFamily(ctx, "u", schema.Family{Name: "meta"}), query.KindNotFound, `"u"`)
	wantError(t, db.DropFamily(ctx, "t", "mta"), query.KindNotFound, `"mta"`, `did you mean "meta"?`)
	wantError(t, db.DropTable(ctx, "u"), query.KindNotFound, `"u"`)

	if err := db.AddFamily(ctx, "t", schema.Family{Name: "loc", Type: cells.TypeString}); err != nil {
		t.Fatal(err)
	}
	put(t, db, "r", "loc", "dest", cells.String("ANC"))
	if err := db.DropFamily(ctx, "t", "loc"); err != nil {
		t.Fatal(err)
	}
	if err := db.AddFamily(ctx, "t", schema.Family{Name: "loc"}); err != nil {
		t.Fatal(err)
	}
	row, err := db.Table("t").ReadRow(ctx, "r")
	if err != nil || row.Len() != 1 {
		t.Errorf("after its family was dropped and made again, the row has %v cells, %v", row.Len(), err)
	}
	if err := db.TruncateTable(ctx, "t"); err != nil {
		t.Fatal(err)
	}
	if n, err := db.Table("t").Count(ctx); n.Rows != 0 || err != nil {
		t.Errorf("after truncate: %+v, %v", n, err)
	}
	if err := db.DropTable(ctx, "t"); err != nil {
		t.Fatal(err)
	}
	_, err = db.Table("t").ReadRow(ctx, "r")
	wantError(t, err, query.KindNotFound, "unknown table")
}

func TestAScanThatIsUnderWaySurvivesItsTable(t *testing.T) {
	db, err := query.OpenInMemory(query.Options{Schema: declare(schema.Family{Name: "f"})})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, r := range []string{"a", "b", "c"} {
		put(t, db, r, "f", "q", cells.I64(1))
	}
	rows := 0
	for _, err := range db.Table("t").ReadRows(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		if rows++; rows == 1 {
			if err := db.DropTable(ctx, "t"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if rows != 3 {
		t.Errorf("read %d rows of the snapshot, want 3", rows)
	}
}

func TestAfterCloseEverythingIsAnError(t *testing.T) {
	db, err := query.OpenInMemory(query.Options{Schema: declare(schema.Family{Name: "f"})})
	if err != nil {
		t.Fatal(err)
	}
	put(t, db, "a", "f", "q", cells.I64(1))
	for _, err := range db.Table("t").ReadRows(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	m := write.NewMutation()
	m.Set("f", "q", cells.I64(1))
	wantError(t, db.Table("t").Apply(ctx, "a", m), query.KindUnavailable, "closed")
	_, err = db.Table("t").ReadRow(ctx, "a")
	wantError(t, err, query.KindUnavailable, "closed")
	if err := db.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
}

func TestServerTimestampsIncreaseWhateverTheWallClockDoes(t *testing.T) {
	dir := t.TempDir()
	wall := time.UnixMicro(1_000_000_000)
	clock := func() time.Time { return wall }
	newest := func(db *query.DB) cells.Timestamp {
		t.Helper()
		put(t, db, "r", "f", "q", cells.I64(1))
		row, err := db.Table("t").ReadRow(ctx, "r")
		if err != nil {
			t.Fatal(err)
		}
		c, _ := row.Cell("f", "q")
		return c.Timestamp
	}
	db := mustOpen(t, dir, query.Options{Schema: declare(schema.Family{Name: "f"}), Clock: clock})
	first := newest(db)
	wall = wall.Add(-time.Hour)
	second := newest(db)
	db.Close()
	third := newest(mustOpen(t, dir, query.Options{Clock: clock}))
	if first != 1_000_000_000 || second != first+1 || third != second+1 {
		t.Errorf("timestamps %d, %d, %d", first, second, third)
	}
}

func TestAlteredRetentionStaysUntilTheDeclarationChanges(t *testing.T) {
	dir := t.TempDir()
	rule := func(db *query.DB) string {
		s := db.Schema()
		table, _ := s.Table("t")
		f, _ := table.Family("f")
		return f.GC.String()
	}
	one, two := declare(schema.Family{Name: "f", GC: schema.MaxVersions(1)}), declare(schema.Family{Name: "f", GC: schema.MaxVersions(2)})
	db := mustOpen(t, dir, query.Options{Schema: one})
	if err := db.SetFamily(ctx, "t", schema.Family{Name: "f", GC: schema.MaxVersions(9)}); err != nil {
		t.Fatal(err)
	}
	db.Close()
	db = mustOpen(t, dir, query.Options{Schema: one})
	if got := rule(db); got != "max_versions=9" {
		t.Errorf("under the same declaration: %s", got)
	}
	db.Close()
	db = mustOpen(t, dir, query.Options{Schema: two})
	if got := rule(db); got != "max_versions=9" {
		t.Errorf("under a new declaration that keeps less: %s", got)
	}
	db.Close()
	db = mustOpen(t, dir, query.Options{Schema: one})
	if undone, err := db.Declare(ctx, one); err != nil || !undone.Empty() || rule(db) != "max_versions=9" {
		t.Errorf("under the first declaration again: %s, %v, %v", rule(db), undone, err)
	}
	many := declare(schema.Family{Name: "f", GC: schema.MaxVersions(20)})
	if undone, err := db.Declare(ctx, many); err != nil || !undone.Empty() || rule(db) != "max_versions=20" {
		t.Errorf("under a new declaration that keeps more: %s, %v, %v", rule(db), undone, err)
	}
}

func TestTuplePrefixIsOfTuplesNotOfBytes(t *testing.T) {
	db := openMemory(t, declare(schema.Family{Name: "f"}))
	keys := map[string]bool{}
	for _, elems := range [][]any{{"N2"}, {"N2", 1}, {"N2", nil}, {"N2\x00y", "z"}, {"N20"}} {
		put(t, db, tuple.Key(elems...), "f", "q", cells.I64(1))
		keys[tuple.Key(elems...)] = elems[0] == "N2"
	}
	for row, err := range db.Table("t").ReadRows(ctx, read.TuplePrefix("N2")) {
		if err != nil {
			t.Fatal(err)
		}
		if !keys[row.Key()] {
			t.Errorf("read row %q", row.Key())
		}
		delete(keys, row.Key())
	}
	for key, missed := range keys {
		if missed {
			t.Errorf("did not read row %q", key)
		}
	}
}

func TestAForeignDirectoryIsRefusedAndLeftAsItIs(t *testing.T) {
	dir := t.TempDir()
	store, err := query.OpenEngine(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, err = store.Write(ctx, nil, func(b *cf.Batch) error { b.PutMeta("someone's", []byte("data")); return nil })
	if err := errors.Join(err, store.Close()); err != nil {
		t.Fatal(err)
	}
	before := listing(t, dir)
	_, err = query.Open(dir, query.Options{})
	wantError(t, err, query.KindFailedPrecondition, dir, "not smolwc's")
	if after := listing(t, dir); after != before {
		t.Errorf("the refusal changed the directory:\n%s\nnow\n%s", before, after)
	}
}

func TestANewerFormatIsRefusedByItsMarker(t *testing.T) {
	dir := t.TempDir()
	mustOpen(t, dir, query.Options{}).Close()
	marker := filepath.Join(dir, "SMOLWC")
	text, err := os.ReadFile(marker)
	if err != nil {
		t.Fatal(err)
	}
	newer := regexp.MustCompile(`format \d+`).ReplaceAll(text, fmt.Appendf(nil, "format %d", query.FormatVersion+1))
	if err := os.WriteFile(marker, newer, 0o644); err != nil {
		t.Fatal(err)
	}
	before := listing(t, dir)
	_, err = query.Open(dir, query.Options{})
	wantError(t, err, query.KindFailedPrecondition, dir, fmt.Sprint("format ", query.FormatVersion+1), "newer smolwc")
	if after := listing(t, dir); after != before {
		t.Errorf("the refusal changed the directory:\n%s\nnow\n%s", before, after)
	}
	if err := os.WriteFile(marker, []byte("?"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = query.Open(dir, query.Options{})
	wantError(t, err, query.KindCorruption, "SMOLWC")
}

// listing is the names and sizes of the files of a directory, without the
// engine's log and lock.
func listing(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(e.Name(), "LOG") && e.Name() != "LOCK" {
			fmt.Fprintln(&b, e.Name(), info.Size())
		}
	}
	return b.String()
}
