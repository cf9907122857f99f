//go:build cgo && linux && !norocksdb

package rocks_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/rocks"
)

// smallDisk is a file system of a few MB.
func smallDisk(t *testing.T, mb int) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dm", mb)); err != nil {
		t.Skipf("no disk to fill without the right to mount one: %v", err)
	}
	t.Cleanup(func() {
		if log, err := os.ReadFile(filepath.Join(dir, "db", "LOG")); t.Failed() && err == nil {
			t.Logf("the engine's log ends with:\n%s", log[max(0, len(log)-20_000):])
		}
		_ = syscall.Unmount(dir, syscall.MNT_DETACH)
	})
	return dir
}

// On a full disk only writes fail. When there is room again, the open database takes
// writes. Acknowledged writes are there before and after another open, and no batch is
// in one family alone.
func TestServiceResumesWhenSpaceReturns(t *testing.T) {
	disk := smallDisk(t, 24)
	o := rocks.Options{Memory: 16 << 20} // little, so that little free space is enough
	s := open(t, filepath.Join(disk, "db"), o)
	defer func() { s.Close() }()
	if err := errors.Join(s.CreateFamily(t.Context(), "t"), s.CreateFamily(t.Context(), "u")); err != nil {
		t.Fatal(err)
	}
	n, acknowledged := 0, map[string]bool{}
	put := func(size int) error {
		line := fmt.Sprintf("%010d", n) + strings.Repeat("x", size)
		n++
		err := putTwice(s, line)
		if err == nil {
			acknowledged[line] = true
		}
		return err
	}
	ballast := filepath.Join(disk, "ballast")
	if err := fillDisk(ballast, 4<<20); err != nil {
		t.Fatal(err)
	}
	var err error
	for i := 0; err == nil && i < 20_000; i++ {
		err = put(3000)
	}
	if !errors.Is(err, cf.ErrUnavailable) || !strings.Contains(err.Error(), "No space left on device") {
		t.Fatalf("a full disk: %v after %d writes", err, n)
	}
	if got := values(t, s, "t"); len(got) < len(acknowledged) {
		t.Errorf("%d rows are read on a full disk, %d were acknowledged", len(got), len(acknowledged))
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	expectResumed(t, put)
	for range 20 {
		if err := put(100); err != nil {
			t.Fatal(err)
		}
	}
	for _, when := range []string{"open", "opened again"} {
		there := map[string]bool{}
		for _, v := range values(t, s, "t") {
			there[v] = true
		}
		for v := range acknowledged {
			if !there[v] {
				t.Errorf("%s: %.10s was acknowledged and is missing", when, v)
			}
		}
		if other := values(t, s, "u"); len(other) != len(there) {
			t.Errorf("%s: %d rows in one family and %d in the other", when, len(there), len(other))
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, filepath.Join(disk, "db"), o)
	}
}

// fillDisk fills a disk up to this many free bytes.
func fillDisk(path string, leave int64) error {
	var st syscall.Statfs_t
	if err := syscall.Statfs(filepath.Dir(path), &st); err != nil {
		return err
	}
	return os.WriteFile(path, make([]byte, max(0, int64(st.Bavail)*st.Bsize-leave)), 0o600)
}

func expectResumed(t *testing.T, put func(int) error) {
	t.Helper()
	var err error
	for range 600 { // a number of tries, not a time: the process may be paused
		if err = put(10); err == nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("there is room, and still: %v", err)
}

// Without the right to write, the open fails with the cause.
func TestADirectoryThatCannotBeWritten(t *testing.T) {
	dir := database(t, "a q@1=v")
	if err := syscall.Mount(dir, dir, "", syscall.MS_BIND, ""); err != nil {
		t.Skipf("no read-only directory without the right to mount one: %v", err)
	}
	defer syscall.Unmount(dir, syscall.MNT_DETACH)
	if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_BIND|syscall.MS_RDONLY, ""); err != nil {
		t.Skip(err)
	}
	if _, err := rocks.Open(dir, rocks.Options{}); !errors.Is(err, cf.ErrUnavailable) || !strings.Contains(err.Error(), "ead-only file system") {
		t.Errorf("opened on a read-only file system: %v", err)
	}
	r := open(t, dir, rocks.Options{ReadOnly: true})
	rows, _, err := scan(r, cf.Range{})
	if err != nil || rows.String() != "a q@1=v" {
		t.Errorf("read on a read-only file system: %v, %v", rows, err)
	}
	r.Close()
	if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir, rocks.Options{})
	defer s.Close()
	if err := put(s, "b q@1=v"); err != nil {
		t.Error(err)
	}
}

// An open that may open too few files says so, whichever it lacks.
func TestAnOpenWithTooFewFiles(t *testing.T) {
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	dir := memoryDir(t)
	s := open(t, dir, rocks.Options{})
	if err := s.CreateFamily(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(put(s, "a q@1=v"), s.Close()); err != nil {
		t.Fatal(err)
	}
	now := before
	for now.Cur = 3; ; now.Cur++ {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &now); err != nil {
			t.Fatal(err)
		}
		s, err := rocks.Open(dir, rocks.Options{})
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
			t.Fatal(err)
		}
		if err == nil {
			defer s.Close()
			if rows, _, err := scan(s, cf.Range{}); err != nil || rows.String() != "a q@1=v" {
				t.Errorf("with %d files: %v, %v", now.Cur, rows, err)
			}
			return
		}
		if !errors.Is(err, cf.ErrUnavailable) || !strings.Contains(strings.ToLower(err.Error()), "too many open files") {
			t.Errorf("with %d files: %v", now.Cur, err)
		}
	}
}

// When no more files can be opened, a flush fails with the cause, and reads of open
// files continue. When files can be opened again, the open database takes writes.
func TestTooManyOpenFiles(t *testing.T) {
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	now := before
	now.Cur = 3 // open files stay open
	failsForATime(t, memoryDir(t), "too many open files", func() error { return syscall.Setrlimit(syscall.RLIMIT_NOFILE, &now) },
		func() error { return syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before) })
}

// The same holds when the right to create files is lost while a database is open.
func TestPermissionLost(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	attribute := func(a string) func() error {
		return func() error {
			if out, err := exec.Command("chattr", a, dir).CombinedOutput(); err != nil {
				return fmt.Errorf("%w: %s", err, out)
			}
			return nil
		}
	}
	failsForATime(t, dir, "operation not permitted", attribute("+i"), attribute("-i"))
}

// The same holds for a user other than root, to whom the mode of the directory applies.
func TestPermissionLostByAUser(t *testing.T) {
	nobody := func(cmd *exec.Cmd) {
		if os.Getuid() == 0 {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		}
		cmd.Dir = "/"
	}
	if !runAgain(t, nobody) {
		return
	}
	if os.Getuid() == 0 {
		t.Fatal("still root")
	}
	dir := filepath.Join(t.TempDir(), "db")
	mode := func(m os.FileMode) func() error { return func() error { return os.Chmod(dir, m) } }
	failsForATime(t, dir, "permission denied", mode(0o500), mode(0o700))
}

// failsForATime tests a store between fail and mend. Operations that need a new file
// fail with the cause; existing data can be read; acknowledged writes stay. After mend
// the store takes writes without another open.
func failsForATime(t *testing.T, dir, cause string, fail, mend func() error) {
	t.Helper()
	s := open(t, dir, rocks.Options{Memory: 8 << 20})
	defer func() { s.Close() }()
	n := 0
	var acknowledged []string
	put := func(int) error {
		line := fmt.Sprintf("%010dx", n)
		n++
		err := putTwice(s, line)
		if err == nil {
			acknowledged = append(acknowledged, line)
		}
		return err
	}
	if err := errors.Join(s.CreateFamily(t.Context(), "t"), s.CreateFamily(t.Context(), "u"), put(0)); err != nil {
		t.Fatal(err)
	}
	if err := fail(); err != nil {
		t.Skip(err)
	}
	flushErr := s.Flush(context.Background(), "t")
	_, openErr := rocks.Open(dir+"/other", rocks.Options{})
	writeErr := put(0)
	got := values(t, s, "t")
	if err := mend(); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{"flush": flushErr, "open": openErr} {
		if !errors.Is(err, cf.ErrUnavailable) || !strings.Contains(strings.ToLower(err.Error()), cause) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if writeErr != nil && !errors.Is(writeErr, cf.ErrUnavailable) {
		t.Errorf("write: %v", writeErr)
	}
	if len(got) == 0 || got[0] != acknowledged[0] {
		t.Errorf("read: %q", got)
	}
	expectResumed(t, put)
	if err := s.Flush(t.Context(), "t"); err != nil {
		t.Errorf("flush: %v", err)
	}
	for _, when := range []string{"open", "opened again"} {
		there := map[string]bool{}
		for _, v := range values(t, s, "t") {
			there[v] = true
		}
		for _, v := range acknowledged {
			if !there[v] {
				t.Errorf("%s: %s was acknowledged and is missing", when, v)
			}
		}
		if other := values(t, s, "u"); len(other) != len(there) {
			t.Errorf("%s: %d rows in one family and %d in the other", when, len(there), len(other))
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, dir, rocks.Options{})
	}
}
