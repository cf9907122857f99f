package claim_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/smolwc/smolwc/internal/claim"
)

// child makes the test binary another process, which tries to claim.
const child = "SMOLWC_TEST_CLAIM"

func TestMain(m *testing.M) {
	if dir := os.Getenv(child); dir != "" {
		if _, err := claim.Take(dir); errors.Is(err, claim.ErrElsewhere) {
			os.Exit(3)
		} else if err != nil {
			os.Exit(4)
		}
		os.Exit(0) // without releasing it
	}
	os.Exit(m.Run())
}

// elsewhere reports whether another process can claim a directory.
func elsewhere(t *testing.T, dir string) bool {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), child+"="+dir)
	if err := cmd.Run(); err != nil && cmd.ProcessState.ExitCode() != 3 {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode() == 0
}

func TestOneUserAtATime(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	c, err := claim.Take(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, dir + "/", link} {
		if _, err := claim.Take(path); !errors.Is(err, claim.ErrHere) {
			t.Errorf("%s: %v", path, err)
		}
		if elsewhere(t, path) {
			t.Errorf("another process got %s", path)
		}
	}
	moved := dir + ".moved"
	if err := errors.Join(os.Rename(dir, moved), os.Mkdir(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	if c.Holds(dir) || !c.Holds(moved) || c.Holds(dir+".missing") {
		t.Error("the claim does not go with the directory")
	}
	if elsewhere(t, moved) || !elsewhere(t, dir) {
		t.Error("another process takes the claim for that of a path")
	}
	c.Release()
	c.Release()
	for range 2 { // the end of a process releases the claim
		if !elsewhere(t, moved) {
			t.Error("another process cannot have what was released")
		}
	}
	again, err := claim.Take(moved)
	if err != nil {
		t.Fatal(err)
	}
	c.Release() // of the claim before, which must not affect this one
	if elsewhere(t, moved) {
		t.Error("the release of one claim ended another")
	}
	again.Release()
}

// A program that is started during the claim and outlives it does not keep the claim.
func TestAChildDoesNotInheritAClaim(t *testing.T) {
	dir := t.TempDir()
	c, err := claim.Take(dir)
	if err != nil {
		t.Fatal(err)
	}
	cat := exec.Command("cat") // ends with its input
	in, err := cat.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cat.Start(); err != nil {
		t.Fatal(err)
	}
	c.Release()
	if !elsewhere(t, dir) {
		t.Error("the child holds the lock")
	}
	if err := errors.Join(in.Close(), cat.Wait()); err != nil {
		t.Error(err)
	}
}

func TestManyTryAtOnce(t *testing.T) {
	dir := t.TempDir()
	var inside atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 500 {
				c, err := claim.Take(dir)
				if errors.Is(err, claim.ErrHere) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				if inside.Add(1) != 1 {
					t.Error("two have it")
				}
				inside.Add(-1)
				c.Release()
			}
		})
	}
	all.Wait()
}

func TestWhatCannotBeClaimed(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, filepath.Join(dir, "missing")} {
		if _, err := claim.Take(path); err == nil {
			t.Errorf("claimed %s", path)
		}
	}
}
