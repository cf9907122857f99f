package standby_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/plumbing"
	"github.com/smolwc/smolwc/standby"
)

// A standby is copied for a backup while it follows, also after loads and changes of the schema: each
// copy is equal to the standby. The directory of a stopped one is copied, too.
func TestABackupOfAStandby(t *testing.T) {
	p := newPrimary(t, 0)
	declare(t, p.db, table("a", "f", "g"))
	dir := filepath.Join(t.TempDir(), "standby")
	s := follow(t, dir, p.addr)
	for i := range 3 {
		must(t, p.db.CreateTable(t.Context(), table(fmt.Sprint("b", i), "f")))
		load(t, p.db, "a", 100*i, 100*i+150, fmt.Sprint("load", i))
		must(t, put(t.Context(), p.db, fmt.Sprint("row", i), "v"))
		awaitPosition(t, p, s)
		wantCopy(t, s.DB(), p.db)
	}
	if _, err := standby.OpenStopped(t.Context(), dir, query.Options{Memory: 16 << 20}); query.KindOf(err) != query.KindBusy {
		t.Errorf("a standby that runs: %v", err)
	}
	must(t, s.Close())
	if err := s.DB().Plumbing().CanFreeze(); err == nil {
		t.Error("a standby that is closed can be copied")
	}
	db, err := standby.OpenStopped(t.Context(), dir, query.Options{Memory: 16 << 20})
	must(t, err)
	if err := put(t.Context(), db, "row", "v"); !errors.Is(err, query.ErrReadOnly) || !strings.Contains(err.Error(), p.addr) {
		t.Errorf("a write to a stopped standby: %v", err)
	}
	if db.Plumbing().FilesDir() != dir || db.Dir() != "" {
		t.Errorf("the files are in %s", db.Plumbing().FilesDir())
	}
	wantCopy(t, db, p.db)
	must(t, db.Close())
	must(t, put(t.Context(), p.db, "more", "v"))
	again := follow(t, dir, p.addr)
	awaitPosition(t, p, again)
	awaitEqual(t, p.db, again)
	if left, _ := filepath.Glob(filepath.Join(dir, "checkpoint*")); len(left) > 0 {
		t.Errorf("left in the directory: %v", left)
	}
	for _, other := range []string{p.dir, t.TempDir()} {
		if _, err := standby.OpenStopped(t.Context(), other, query.Options{}); err == nil || !strings.Contains(err.Error(), "the directory has no standby") {
			t.Errorf("%s: %v", other, err)
		}
	}
}

// wantCopy compares a copy of a standby with its primary, and writes to it.
func wantCopy(t *testing.T, of, want *query.DB) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "copied")
	must(t, of.Plumbing().Freeze(t.Context(), func(f plumbing.Frozen) error {
		if filepath.Dir(f.Dir) != of.Plumbing().FilesDir() {
			t.Errorf("the frozen files are in %s", f.Dir)
		}
		return os.CopyFS(dir, os.DirFS(f.Dir))
	}))
	if _, err := os.Stat(filepath.Join(dir, plumbing.StandbyFile)); err == nil {
		t.Error("the copy is a standby's")
	}
	db, err := query.Open(dir, query.Options{Memory: 16 << 20, GCInterval: -1})
	must(t, err)
	if !db.Schema().Equal(want.Schema()) {
		t.Errorf("the schema is %v; want %v", db.Schema(), want.Schema())
	}
	for _, table := range want.Schema().Tables {
		if got, want := textOf(t, db, table.Name), textOf(t, want, table.Name); got != want {
			t.Errorf("table %s has %.200q; want %.200q", table.Name, got, want)
		}
	}
	must(t, put(t.Context(), db, "own", "v"))
	must(t, db.Close())
}

func textOf(t *testing.T, db *query.DB, table string) string {
	t.Helper()
	var all strings.Builder
	for row, err := range db.Table(table).ReadRows(t.Context()) {
		must(t, err)
		all.WriteString(row.String() + "\n")
	}
	return all.String()
}
