package osfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/smolwc/smolwc/internal/osfile"
)

// A lock belongs to one open file description, and ends when it is closed.
func TestALockEndsWithItsFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, second, third := open(t, path), open(t, path), open(t, path)
	if err := osfile.Lock(first); err != nil {
		t.Fatal(err)
	}
	if err := osfile.TryLock(second); !errors.Is(err, osfile.ErrLocked) {
		t.Errorf("a second lock: %v", err)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	if err := osfile.TryLock(third); !errors.Is(err, osfile.ErrLocked) {
		t.Errorf("after another opening was closed: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := osfile.TryLock(third); err != nil {
		t.Errorf("after the lock's own was closed: %v", err)
	}
}

func open(t *testing.T, path string) *os.File {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}
