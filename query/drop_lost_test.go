package query_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// droppedUnsynced is a database of an older smolwc, which did not sync its catalog with
// Async, after a loss of power right after a drop. The manifest has the drop, the log
// does not, and there is no SYNCED.
func droppedUnsynced(t *testing.T, drop func(*query.DB) error) string {
	t.Helper()
	wantRocksDB(t, "Pebble has the families in the log, with the catalog")
	base := t.TempDir()
	dir, before, left := filepath.Join(base, "db"), filepath.Join(base, "before"), filepath.Join(base, "left")
	db, err := query.Open(dir, query.Options{Durability: query.DurabilityAsync})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	m := write.NewMutation()
	m.Set("a", "q", cells.String("x"))
	for _, name := range []string{"gone", "kept"} {
		table := schema.Table{Name: name, Families: []schema.Family{{Name: "a"}, {Name: "b"}}}
		if err := errors.Join(db.CreateTable(t.Context(), table), db.Table(name).Apply(t.Context(), "r", m)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.CopyFS(before, os.DirFS(dir)), drop(db), os.CopyFS(left, os.DirFS(dir)), os.Remove(filepath.Join(left, "SYNCED"))); err != nil {
		t.Fatal(err)
	}
	logs, _ := filepath.Glob(filepath.Join(before, "*.log"))
	for _, log := range logs {
		text, err := os.ReadFile(log)
		if err == nil {
			err = os.WriteFile(filepath.Join(left, filepath.Base(log)), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return left
}

// familiesOf are the families of all tables.
func familiesOf(t *testing.T, dir string, o query.Options) (names []string, err error) {
	t.Helper()
	db, err := query.Open(dir, o)
	if err != nil {
		return nil, err
	}
	for _, table := range db.Schema().Tables {
		for _, f := range table.Families {
			names = append(names, table.Name+"/"+f.Name)
		}
		for _, err := range db.Table(table.Name).ReadRows(t.Context()) {
			if err != nil {
				t.Error(err)
			}
		}
	}
	return names, db.Close()
}

// A family that was dropped according to the manifest is also removed from the catalog.
func TestADropThatTheCatalogLost(t *testing.T) {
	for name, of := range map[string]struct {
		drop func(*query.DB) error
		want []string
	}{
		"table":  {func(db *query.DB) error { return db.DropTable(t.Context(), "gone") }, []string{"kept/a", "kept/b"}},
		"family": {func(db *query.DB) error { return db.DropFamily(t.Context(), "gone", "b") }, []string{"gone/a", "kept/a", "kept/b"}},
	} {
		dir := droppedUnsynced(t, of.drop)
		for _, o := range []query.Options{{ReadOnly: true}, {}, {ReadOnly: true}, {}} {
			got, err := familiesOf(t, dir, o)
			if err != nil || !slices.Equal(got, of.want) {
				t.Errorf("%s, read-only %v: %q, %v", name, o.ReadOnly, got, err)
			}
		}
		db, err := query.Open(dir, query.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if name == "table" {
			err = db.DropTable(t.Context(), "gone")
		}
		if err := errors.Join(err, db.CreateTable(t.Context(), schema.Table{Name: "gone2"}), db.Close()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A family that is missing because the manifest was cut off before its creation is
// damage.
func TestAFamilyThatWasNotDroppedIsMissed(t *testing.T) {
	dir := droppedUnsynced(t, func(*query.DB) error { return nil })
	manifests, _ := filepath.Glob(filepath.Join(dir, "MANIFEST-*"))
	text, err := os.ReadFile(manifests[0])
	if err != nil {
		t.Fatal(err)
	}
	at := strings.Index(string(text), "kept/b")
	for found := false; !found; at-- { // a cut between two records
		if err := os.WriteFile(manifests[0], text[:at], 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := familiesOf(t, dir, query.Options{ReadOnly: true})
		if query.KindOf(err) != query.KindCorruption {
			t.Fatalf("cut at %d: %v", at, err)
		}
		found = strings.Contains(err.Error(), "kept/b")
	}
}
