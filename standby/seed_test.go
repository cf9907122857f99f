package standby_test

import (
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/plumbing"
	"github.com/smolwc/smolwc/standby"
)

// restored is a directory as smolwc restore makes it, and a primary that has gone on.
func restored(t *testing.T) (p *node, dir string) {
	t.Helper()
	p = newPrimary(t, 0)
	declare(t, p.db, table("a", "f"))
	for i := range 100 {
		set(t, p.db, "a", fmt.Sprintf("row%03d", i), "f", strings.Repeat("v", 1000))
	}
	must(t, p.db.Table("a").Compact(t.Context())) // so that its files stay
	dir = filepath.Join(t.TempDir(), "standby")
	must(t, p.db.Checkpoint(t.Context(), dir))
	set(t, p.db, "a", "later", "f", "v")
	return p, dir
}

// A standby begins from a restored backup: table files that the primary still has are not
// sent. Whatever was written there since is no part of the standby, and is kept.
func TestAStandbyBeginsFromABackup(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"as restored", "written", "written and flushed"} {
		t.Run(strings.ReplaceAll(what, " ", "-"), func(t *testing.T) {
			p, dir := restored(t)
			if what != "as restored" {
				db, err := query.Open(dir, query.Options{GCInterval: -1})
				must(t, err)
				set(t, db, "a", "own", "f", "v")
				if what == "written and flushed" {
					must(t, db.Table("a").Flush(t.Context()))
				}
				must(t, db.Close())
			}
			before := filesBelow(t, dir)
			s := follow(t, dir, p.addr)
			awaitEqual(t, p.db, s)
			kept := dir + ".diverged"
			shared := 0
			for path, sum := range before {
				name := filepath.Base(path)
				text, err := os.ReadFile(filepath.Join(kept, name))
				if filepath.Ext(name) == ".sst" && (err != nil || crc32.ChecksumIEEE(text) != sum) {
					t.Errorf("%s of the backup is not kept as it was (%v)", name, err)
				}
				a, err1 := os.Stat(filepath.Join(kept, name))
				b, err2 := os.Stat(filepath.Join(dir, name))
				if err1 == nil && err2 == nil && os.SameFile(a, b) {
					shared++
				}
			}
			if shared == 0 && query.DefaultEngine() == query.EngineRocksDB { // Pebble compacts them at once
				t.Error("no file of the backup was used")
			}
			set(t, p.db, "a", "last", "f", "v")
			awaitEqual(t, p.db, s)
			if v, err := s.Verify(t.Context(), nil); err != nil || !v.Equal() {
				t.Errorf("%+v, %v", v, err)
			}
		})
	}
}

// A copy from a backup that was stopped begins again: the backup itself never follows, also if
// its position is one that the primary has.
func TestACopyFromABackupThatWasStopped(t *testing.T) {
	t.Parallel()
	p, dir := restored(t)
	p.close()
	if _, err := standby.Open(t.Context(), dir, standby.Options{Primary: p.addr}); !errors.Is(err, standby.ErrNotYet) {
		t.Fatalf("a standby from a backup without a primary: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, plumbing.StandbyFile)); err == nil {
		t.Error("a primary that does not answer makes the directory a standby's")
	}
	db, err := query.Open(dir, query.Options{GCInterval: -1})
	must(t, err)
	set(t, db, "a", "own", "f", "v")
	must(t, db.Table("a").Flush(t.Context()))
	must(t, db.Close())
	must(t, os.WriteFile(filepath.Join(dir, plumbing.StandbyFile), []byte(`{"primary":"db1:8086","adopted":true,"seed":true}`), 0o600))
	if s, err := standby.Open(t.Context(), dir, standby.Options{Primary: p.addr}); err == nil {
		must(t, s.Close())
		t.Fatal("a backup serves as a standby")
	}
	p.open()
	s := follow(t, dir, p.addr)
	awaitEqual(t, p.db, s)
	if has(t, s.DB(), "own") {
		t.Error("the standby has a row of the backup that its primary does not have")
	}
	if kept, err := filepath.Glob(dir + ".diverged/*.sst"); err != nil || len(kept) == 0 {
		t.Errorf("the backup was not kept aside: %v", err)
	}
}
