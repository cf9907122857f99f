//go:build cgo

package query_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// go test ./query -run TestUpgrade -make-fixture writes the database of the newest
// format again; databases of older formats stay.
var makeFixture = flag.Bool("make-fixture", false, "write testdata/upgrade/format2 anew")

const fixtures = "testdata/upgrade"

// fixture is a copy of the database that was written when a format was new.
func fixture(t *testing.T, format int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "db")
	if err := os.CopyFS(dir, os.DirFS(fmt.Sprintf("%s/format%d", fixtures, format))); err != nil {
		t.Fatal(err)
	}
	return dir
}

func writeFixture(t *testing.T, dir string) {
	t.Helper()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	db, err := query.Open(dir, query.Options{Schema: checkSchema, GCInterval: -1})
	if err != nil {
		t.Fatal(err)
	}
	table := db.Table("a")
	for i := range 20 {
		m := write.NewMutation()
		m.SetAt("any", "s", cells.Timestamp(i), cells.String("value"))
		m.SetAt("any", "\x00b", 1, cells.Bytes([]byte{0, 0xff}))
		m.SetAt("n", "", 5, cells.I64(int64(-i)))
		m.Add("sum", "s", cells.I64(1<<62))
		m.Add("sum", "s", cells.I64(int64(i)))
		m.Add("hll", "h", cells.I64(int64(i)))
		m.SetAt("any", "t", cells.MaxTimestamp-cells.Timestamp(i), cells.I64(int64(i))) // from format 2 on
		if err := table.Apply(t.Context(), fmt.Sprintf("r%02d\x00", i), m); err != nil {
			t.Fatal(err)
		}
		if i == 12 { // the rest is in the log alone
			if err := table.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	m := write.NewMutation()
	m.DeleteRow()
	if err := table.Apply(t.Context(), "r03\x00", m); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"LOG", "LOCK", "IDENTITY"} {
		_ = os.Remove(filepath.Join(dir, name))
	}
	options, _ := filepath.Glob(filepath.Join(dir, "OPTIONS-*"))
	for _, path := range options {
		_ = os.Remove(path) // the engine writes them and does not read them
	}
}

// A database that was written when the format was new opens with all its data. It keeps
// its format.
func TestUpgradeFromFormat1(t *testing.T) { testUpgrade(t, 1) }

func TestUpgradeFromFormat2(t *testing.T) {
	if *makeFixture {
		writeFixture(t, fixtures+"/format2")
	}
	testUpgrade(t, 2)
}

func testUpgrade(t *testing.T, format int) {
	dir := fixture(t, format)
	for _, o := range []query.Options{{ReadOnly: true}, {Schema: checkSchema}, {}} {
		db, err := query.Open(dir, o)
		if err != nil {
			t.Fatal(err)
		}
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
		if r, err := db.Check(t.Context()); err != nil || !r.OK() {
			t.Errorf("check: %+v, %v", r, err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		wantFormat(t, db, format)
	}
}

// A database of a newer format is refused, by its marker or by its catalog.
func TestUpgradeOfANewerFormat(t *testing.T) {
	dir := fixture(t, 1)
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
