//go:build cgo && linux && !norocksdb

package rocks_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/linxGnu/grocksdb"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/rocks"
)

// spellings are other paths that lead to a directory.
func spellings(t *testing.T, dir string) []string {
	t.Helper()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	relative, err := filepath.Rel(here, dir)
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	all := []string{dir, dir + "/", dir + "//.", filepath.Dir(dir) + "/../" + filepath.Base(filepath.Dir(dir)) + "/" + filepath.Base(dir), relative, link, link + "/"}
	mount := t.TempDir()
	if err := syscall.Mount(dir, mount, "", syscall.MS_BIND, ""); err == nil {
		t.Cleanup(func() { _ = syscall.Unmount(mount, syscall.MNT_DETACH) })
		all = append(all, mount)
	} else {
		t.Logf("without a bind mount: %v", err)
	}
	return all
}

// A process opens a database for writing once, by any spelling of its path. A second
// open fails with an error that says so, and harms nothing. After the first is closed,
// each spelling opens the database.
func TestTwoWritersInOneProcess(t *testing.T) {
	dir := database(t, "before q@1=v")
	paths := spellings(t, dir)
	s := open(t, dir, rocks.Options{})
	for i, path := range paths {
		expectOpenError(t, path, rocks.Options{}, cf.ErrOpenHere)
		r := open(t, path, rocks.Options{ReadOnly: true}) // a reader may
		if err := errors.Join(r.Close(), put(s, fmt.Sprintf("r%d q@1=v", i)), s.Flush(t.Context(), "t")); err != nil {
			t.Fatal(err)
		}
		if said := secondWriter(t, dir); !strings.Contains(said, "in use by another process") {
			t.Errorf("after %s was tried, another process says %q", path, said)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		s := open(t, path, rocks.Options{})
		rows, _, err := scan(s, cf.Range{})
		if err != nil || len(rows) != len(paths)+1 {
			t.Errorf("%s: %d rows, %v", path, len(rows), err)
		}
		expectOpenError(t, dir, rocks.Options{}, cf.ErrOpenHere)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// secondWriter is the error of another process that tries to write to the database. The
// process is ended if it can write.
func secondWriter(t *testing.T, dir string) string {
	t.Helper()
	said, kill := spawn(t, dir, 1)
	kill()
	return said[0]
}

// RocksDB's lock is lost when the process closes the file LOCK, for example after
// copying the directory, and when the file is removed. Our lock stays.
func TestTheLockOutlivesTheFile(t *testing.T) {
	dir := database(t, "a q@1=v")
	s := open(t, dir, rocks.Options{})
	defer s.Close()
	lock := filepath.Join(dir, "LOCK")
	if _, err := os.ReadFile(lock); err != nil {
		t.Fatal(err)
	}
	if said := secondWriter(t, dir); !strings.Contains(said, "in use") {
		t.Errorf("when LOCK was read, another process says %q", said)
	}
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	if said := secondWriter(t, dir); !strings.Contains(said, "in use") {
		t.Errorf("when LOCK was removed, another process says %q", said)
	}
}

// Older versions know only RocksDB's lock: it is held and respected too.
func TestRocksDBsLockIsHeldToo(t *testing.T) {
	dir := database(t, "a q@1=v")
	raw := func() error {
		o := grocksdb.NewDefaultOptions()
		defer o.Destroy()
		names, err := grocksdb.ListColumnFamilies(o, dir)
		if err != nil {
			return err
		}
		var all []*grocksdb.Options
		for range names {
			all = append(all, o)
		}
		db, handles, err := grocksdb.OpenDbColumnFamilies(o, dir, names, all)
		if err != nil {
			return err
		}
		defer db.Close()
		for _, h := range handles {
			defer h.Destroy()
		}
		_, err = rocks.Open(dir, rocks.Options{})
		if !errors.Is(err, cf.ErrOpenHere) {
			t.Errorf("while an older version has it: %v", err)
		}
		return nil
	}
	if os.Getenv(again) == "" {
		if err := raw(); err != nil {
			t.Fatal(err)
		}
		s := open(t, dir, rocks.Options{})
		defer s.Close()
		runAgain(t, func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, "SMOLWC_TEST_RAW="+dir) })
		return
	}
	dir = os.Getenv("SMOLWC_TEST_RAW")
	if err := raw(); err == nil || !strings.Contains(err.Error(), "While lock file") {
		t.Errorf("an older version: %v", err)
	}
}

// After a failed open, others can open the database.
func TestAFailedOpeningReleasesItsClaim(t *testing.T) {
	dir := database(t, "a q@1=v")
	current := filepath.Join(dir, "CURRENT")
	if err := os.Rename(current, current+".away"); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		expectOpenError(t, dir, rocks.Options{}, cf.ErrCorrupt)
	}
	if err := os.Rename(current+".away", current); err != nil {
		t.Fatal(err)
	}
	if said := secondWriter(t, dir); said != "wrote w0" {
		t.Errorf("another process says %q", said)
	}
	open(t, dir, rocks.Options{}).Close()
}

// Opens and closes race: at most one has the database at a time.
func TestOpeningsAndClosingsRace(t *testing.T) {
	dir := database(t, "a q@1=v")
	var inside, opened atomic.Int32
	var all sync.WaitGroup
	for i := range 4 {
		path := dir + strings.Repeat("/", i)
		all.Go(func() {
			for range 25 {
				s, err := rocks.Open(path, small)
				if errors.Is(err, cf.ErrOpenHere) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				if inside.Add(1) != 1 {
					t.Error("two have it")
				}
				n := opened.Add(1)
				if err := put(s, fmt.Sprintf("r%06d q@1=v", n)); err != nil {
					t.Error(err)
				}
				inside.Add(-1)
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	s := open(t, dir, rocks.Options{})
	defer s.Close()
	rows, _, err := scan(s, cf.Range{})
	if err != nil || len(rows) != int(opened.Load())+1 || opened.Load() == 0 {
		t.Errorf("%d rows of %d openings, %v", len(rows), opened.Load(), err)
	}
}

// contents are the names and sizes of a directory's files, except for LOG.
func contents(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, e := range entries {
		if info, err := e.Info(); err == nil && e.Name() != "LOG" {
			fmt.Fprintln(&all, e.Name(), info.Size())
		}
	}
	return all.String()
}

// The directory of an open database is moved, and another database takes its place. The
// open one stays claimed under its new path, does not touch the other one, keeps what
// it acknowledged, and continues when the directory comes back.
func TestADirectoryThatIsMovedWhileItIsOpen(t *testing.T) {
	dir, other := database(t, "old q@1=v"), database(t, "new q@1=v")
	moved := dir + ".moved"
	s := open(t, dir, rocks.Options{})
	defer func() { s.Close() }()
	if err := errors.Join(put(s, "acknowledged q@1=v"), os.Rename(dir, moved), os.Rename(other, dir)); err != nil {
		t.Fatal(err)
	}
	expectOpenError(t, moved, rocks.Options{}, cf.ErrOpenHere)
	if said := secondWriter(t, moved); !strings.Contains(said, "in use") {
		t.Errorf("another process says %q", said)
	}
	before := contents(t, dir)
	_, ingestErr := s.Ingest(t.Context())
	_, checkpointErr := s.Checkpoint(t.Context(), filepath.Join(t.TempDir(), "copy"))
	for what, err := range map[string]error{
		"flush":      s.Flush(t.Context(), "t"),
		"checkpoint": checkpointErr,
		"ingest":     ingestErr,
	} {
		if !errors.Is(err, cf.ErrUnavailable) || !strings.Contains(err.Error(), "moved or replaced") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if after := contents(t, dir); after != before {
		t.Errorf("the other database was\n%sand is\n%s", before, after)
	}
	if err := errors.Join(os.Rename(dir, other), os.Rename(moved, dir)); err != nil {
		t.Fatal(err)
	}
	expectResumed(t, func(int) error { return put(s, "back q@1=v") })
	expectResumed(t, func(int) error { return s.Flush(t.Context(), "t") })
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, rocks.Options{})
	rows, _, err := scan(s, cf.Range{})
	if text := rows.String(); err != nil || !strings.Contains(text, "old") || !strings.Contains(text, "acknowledged") || !strings.Contains(text, "back") || len(rows) != 3 {
		t.Errorf("%s, %v", text, err)
	}
}

// A relative path still means the same place after the process has changed its working
// directory.
func TestTheWorkingDirectoryChanges(t *testing.T) {
	dir := database(t, "a q@1=v")
	t.Chdir(filepath.Dir(dir))
	s := open(t, filepath.Base(dir), rocks.Options{})
	r, err := rocks.OpenFollower(filepath.Base(dir), rocks.Options{})
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := t.TempDir()
	t.Chdir(elsewhere)
	if err := errors.Join(put(s, "b q@1=v"), s.Flush(t.Context(), "t"), s.CreateFamily(t.Context(), "u"),
		r.Refresh(t.Context(), func(cf.Snapshot, []string) error { return nil })); err != nil {
		t.Error(err)
	}
	rows, _, err := scan(r, cf.Range{})
	if err != nil || len(rows) != 2 {
		t.Errorf("a reader sees %v, %v", rows, err)
	}
	if err := errors.Join(r.Close(), s.Close()); err != nil {
		t.Error(err)
	}
	if left := contents(t, elsewhere); left != "" {
		t.Errorf("files elsewhere: %s", left)
	}
}
