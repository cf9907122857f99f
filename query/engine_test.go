package query_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf/cftest"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
)

// wantRocksDB skips a test of what only RocksDB has.
func wantRocksDB(t *testing.T, why string) {
	t.Helper()
	if query.DefaultEngine() != query.EngineRocksDB {
		t.Skip("for RocksDB only: " + why)
	}
}

// engines are the engines of this build.
func engines() []query.Engine {
	if query.HasRocksDB {
		return []query.Engine{query.EngineRocksDB, query.EnginePebble}
	}
	return []query.Engine{query.EnginePebble}
}

// onEngine is the directory of a new database on an engine, with a row r.
func onEngine(t *testing.T, engine query.Engine) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "db")
	db := mustOpen(t, dir, query.Options{Engine: engine, Schema: declare(schema.Family{Name: "f"})})
	put(t, db, "r", "f", "q", cells.String("v"))
	must(t, db.Close())
	return dir
}

// A new database has the engine that is asked for, or else the build's. It is known by its
// directory from then on.
func TestANewDatabaseHasTheEngineThatIsAskedFor(t *testing.T) {
	for _, asked := range append(engines(), "") {
		want := asked
		if asked == "" {
			want = query.DefaultEngine()
		}
		dir := onEngine(t, asked)
		if got, err := query.EngineOf(dir); got != want || err != nil {
			t.Errorf("asked for %q: it has %q, %v", asked, got, err)
		}
		for _, o := range []query.Options{{}, {Engine: want}, {ReadOnly: true}, {ReadOnly: true, Engine: want}, {MustExist: true, Engine: want}} {
			db := mustOpen(t, dir, o)
			wantStrings(t, keysIn(t, db), "r")
			must(t, db.Close())
		}
		db, err := query.OpenInMemory(query.Options{Engine: asked, Schema: declare(schema.Family{Name: "f"})})
		must(t, err)
		put(t, db, "r", "f", "q", cells.String("v"))
		wantStrings(t, keysIn(t, db), "r")
		must(t, db.Close())
	}
}

// An engine that contradicts the database's is refused, and nothing is touched.
func TestAnEngineThatContradictsTheDatabase(t *testing.T) {
	for _, has := range engines() {
		asked := query.EngineRocksDB
		if has == asked {
			asked = query.EnginePebble
		}
		dir := onEngine(t, has)
		before := wholeDir(t, dir)
		for _, o := range []query.Options{{}, {ReadOnly: true}, {MustExist: true}} {
			o.Engine = asked
			_, err := query.Open(dir, o)
			wantError(t, err, query.KindFailedPrecondition, dir, "is on "+string(has), string(asked)+" was asked for")
		}
		if after := wholeDir(t, dir); after != before {
			t.Errorf("%s: there was\n%s\nnow\n%s", has, before, after)
		}
		must(t, mustOpen(t, dir, query.Options{}).Close())
	}
}

// wholeDir is the names and contents of the files below a directory.
func wholeDir(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	must(t, filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		all.WriteString(path + "\n" + string(text) + "\n")
		return err
	}))
	return all.String()
}

func TestAnUnknownEngine(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	_, err := query.Open(dir, query.Options{Engine: "leveldb"})
	wantError(t, err, query.KindInvalidArgument, `"leveldb"`, "rocksdb and pebble")
	_, err = query.OpenInMemory(query.Options{Engine: "Pebble"})
	wantError(t, err, query.KindInvalidArgument, `"Pebble"`, "rocksdb and pebble")
	_, err = query.OpenStore(ctx, cftest.NewMemory(), query.Options{Engine: query.EnginePebble})
	wantError(t, err, query.KindInvalidArgument, "engine")
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory: %v", err)
	}
}

// A build without RocksDB says so: for a database that has it, and for a new one.
func TestABuildWithoutRocksDB(t *testing.T) {
	if query.HasRocksDB {
		t.Skip("this build has RocksDB")
	}
	dir := filepath.Join(t.TempDir(), "db")
	for _, o := range []query.Options{{}, {MustExist: true}, {ReadOnly: true}} {
		o.Engine = query.EngineRocksDB
		_, err := query.Open(dir, o)
		wantError(t, err, query.KindFailedPrecondition, "rocksdb", "was asked for", "this build does not have", "CGO_ENABLED=1", "pebble")
		if errors.Is(err, query.ErrNoEngine) {
			t.Errorf("it says that there is a database: %v", err)
		}
	}
	_, err := query.OpenInMemory(query.Options{Engine: query.EngineRocksDB})
	wantError(t, err, query.KindFailedPrecondition, "was asked for")
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory: %v", err)
	}

	must(t, os.CopyFS(dir, os.DirFS(fixtures+"/format5")))
	before := wholeDir(t, dir)
	for _, o := range []query.Options{{}, {Engine: query.EngineRocksDB}, {ReadOnly: true}} {
		_, err := query.Open(dir, o)
		wantError(t, err, query.KindFailedPrecondition, dir, "is on RocksDB", "smolwc copy --engine pebble")
		if !errors.Is(err, query.ErrNoEngine) {
			t.Errorf("another error: %v", err)
		}
	}
	if after := wholeDir(t, dir); after != before {
		t.Errorf("there was\n%s\nnow\n%s", before, after)
	}
}

func TestEngineOf(t *testing.T) {
	empty := t.TempDir()
	for dir, want := range map[string]query.Engine{
		filepath.Join(empty, "none"):    "",
		empty:                           "",
		fixtures + "/format1":           query.EngineRocksDB,
		onEngine(t, query.EnginePebble): query.EnginePebble,
	} {
		if got, err := query.EngineOf(dir); got != want || err != nil {
			t.Errorf("%s: %q, %v; want %q", dir, got, err, want)
		}
	}
	// It tells the engine while a database is open, and of copies.
	db := mustOpen(t, filepath.Join(t.TempDir(), "db"), query.Options{Schema: declare(schema.Family{Name: "f"})})
	put(t, db, "r", "f", "q", cells.I64(1))
	copied := filepath.Join(t.TempDir(), "copy")
	must(t, db.Checkpoint(ctx, copied))
	for _, dir := range []string{db.Dir(), copied} {
		if got, err := query.EngineOf(dir); got != query.DefaultEngine() || err != nil {
			t.Errorf("%s: %q, %v", dir, got, err)
		}
	}
}
