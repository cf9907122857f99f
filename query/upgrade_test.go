package query_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
)

var checkSchema = &schema.Schema{Tables: []schema.Table{{Name: "a", Families: []schema.Family{
	{Name: "any"}, {Name: "n", Type: cells.TypeI64, GC: schema.MaxVersions(1)},
	{Name: "sum", Aggregate: schema.AggregateSum}, {Name: "hll", Aggregate: schema.AggregateHLL},
}}}}

// fixtures has databases of each format, which testdata/upgrade/write.sh has written.
const fixtures = "testdata/upgrade"

// fixtureTime is when databases of format 3 and later ones were written. What is kept for
// days is there at that time.
var fixtureTime = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// fixture is a copy of the database that was written when a format was new.
func fixture(t *testing.T, format string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "db")
	if err := os.CopyFS(dir, os.DirFS(fixtures+"/format"+format)); err != nil {
		t.Fatal(err)
	}
	if engine, err := query.EngineOf(dir); err != nil {
		t.Fatal(err)
	} else if engine == query.EngineRocksDB && !query.HasRocksDB {
		t.Skip("the database of this format is on RocksDB, which this build does not have")
	}
	return dir
}

// A database that was written when the format was new opens with all its data. It keeps
// its format.
func TestUpgradeFromFormat1(t *testing.T) { testUpgrade(t, 1, "") }

func TestUpgradeFromFormat2(t *testing.T) { testUpgrade(t, 2, "") }

func TestUpgradeFromFormat3(t *testing.T) { testUpgrade(t, 3, "") }

func TestUpgradeFromFormat4(t *testing.T) { testUpgrade(t, 4, "") }

func TestUpgradeFromFormat5(t *testing.T) { testUpgrade(t, 5, "") }

func TestUpgradeFromFormat6(t *testing.T) { testUpgrade(t, 6, "") }

func TestUpgradeFromFormat7(t *testing.T) { testUpgrade(t, 7, "") }

func TestUpgradeFromFormat7OnPebble(t *testing.T) { testUpgrade(t, 7, "-pebble") }

func testUpgrade(t *testing.T, format int, engine string) {
	dir, began := fixture(t, fmt.Sprint(format, engine)), time.Now()
	for _, o := range []query.Options{{ReadOnly: true}, {Schema: checkSchema}, {}} {
		o.Clock, o.GCInterval = func() time.Time { return fixtureTime.Add(time.Since(began)) }, -1
		db, err := query.Open(dir, o)
		if err != nil {
			t.Fatal(err)
		}
		wantRowsOfThen(t, db, format)
		if format >= 3 {
			wantVersionsOfThen(t, db)
			wantMarksOfThen(t, db)
		}
		if format >= 3 && !o.ReadOnly {
			wantChangesOfThen(t, db)
		}
		if format >= 4 && !o.ReadOnly && o.Schema == nil { // the last time
			wantDeletedTablesOfThen(t, db)
		}
		if r, err := db.Check(t.Context()); err != nil || !r.OK() {
			t.Errorf("check: %+v, %v", r, err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		wantFormat(t, db, format)
	}
}

func wantRowsOfThen(t *testing.T, db *query.DB, format int) {
	t.Helper()
	n := 0
	for row, err := range db.Table("a").ReadRows(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if n == 3 {
			n++ // deleted
		}
		var got []string
		for c := range row.Cells() {
			got = append(got, fmt.Sprintf("%s@%d=%v", c.Column(), c.Timestamp, c.Value))
		}
		late := ""
		if format >= 2 {
			late = fmt.Sprintf(" any:t@%d=%d", cells.MaxTimestamp-cells.Timestamp(n), n)
		}
		want := fmt.Sprintf("any:\x00b@1=%v any:s@%d=value%s hll:h@0=1 n:@5=%d sum:s@0=%d", cells.Bytes([]byte{0, 0xff}), n, late, -n, 1<<62+n)
		if text := strings.Join(got, " "); row.Key() != fmt.Sprintf("r%02d\x00", n) || text != want {
			t.Errorf("row %q: %q, want %q", row.Key(), text, want)
		}
		n++
	}
	if n != 20 {
		t.Errorf("%d rows", n)
	}
}

// textOf is the cells of each row of a table.
func textOf(t *testing.T, db *query.DB, table string) string {
	t.Helper()
	var text strings.Builder
	for row, err := range db.Table(table).ReadRows(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&text, "%s:", row.Key())
		for c := range row.Cells() {
			fmt.Fprintf(&text, " %s@%d=%s %v", c.Column(), c.Timestamp, c.Value.Type(), c.Value)
		}
		text.WriteByte('\n')
	}
	return text.String()
}

func wantVersionsOfThen(t *testing.T, db *query.DB) {
	t.Helper()
	want := `row: f:bool@1=bool true f:bytes@1=bytes "a\x00b" f:count@4000=i64 4 f:count@3000=i64 3 f:count@2000=i64 2` +
		" f:float@1=f64 -0.5 f:int@1=i64 -7 f:string@1=string é\n"
	if got := textOf(t, db, "versions"); got != want {
		t.Errorf("versions:\n%swant\n%s", got, want)
	}
}

// wantChangesOfThen goes on after a token of then.
func wantChangesOfThen(t *testing.T, db *query.DB) {
	t.Helper()
	notes, err := db.Plumbing().Notes(t.Context(), "upgrade")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for c, err := range db.Table("changed").Changes(t.Context(), query.ChangesAfter(string(notes["upgrade"])), query.ChangesUntil(db.Now().Time())) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s=%v", c.Key, c.Changes[0].Value))
	}
	if text := strings.Join(got, " "); text != "c2=2 c3=3" {
		t.Errorf("the changes after c1 are %s", text)
	}
}

// wantMarksOfThen wants the row that no materialized view has taken over yet.
func wantMarksOfThen(t *testing.T, db *query.DB) {
	t.Helper()
	if got := textOf(t, db, "smolwc:views/marks/marked"); !strings.HasPrefix(got, "m: m:@0=") {
		t.Errorf("marks: %s", got)
	}
}

// wantDeletedTablesOfThen brings the table back that was deleted.
func wantDeletedTablesOfThen(t *testing.T, db *query.DB) {
	t.Helper()
	if err := db.ApplyPlan(t.Context(), schema.Plan{Changes: []schema.Change{{Kind: schema.UndeleteTable, Table: "dropped"}}}); err != nil {
		t.Fatal(err)
	}
	if got := textOf(t, db, "dropped"); got != "d: f:q@1=string back\n" {
		t.Errorf("the table that came back has %q", got)
	}
}

// A database of a newer format is refused, by its marker or by its catalog.
func TestUpgradeOfANewerFormat(t *testing.T) {
	dir := fixture(t, "1")
	if err := os.WriteFile(filepath.Join(dir, "SMOLWC"), fmt.Appendf(nil, "smolwc database, format %d\n", query.FormatVersion+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, o := range []query.Options{{}, {ReadOnly: true}, {Schema: &schema.Schema{}}} {
		db, err := query.Open(dir, o)
		if err == nil {
			db.Close()
		}
		if query.KindOf(err) != query.KindFailedPrecondition || !strings.Contains(fmt.Sprint(err), fmt.Sprintf("format %d, written by a newer smolwc", query.FormatVersion+1)) {
			t.Errorf("%v", err)
		}
	}
}
