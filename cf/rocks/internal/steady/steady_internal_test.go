package steady

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/internal/wal"
)

// grow appends a byte to a file, as a writer does.
func grow(t *testing.T, dir, name string) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString(".")
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

func watched(t *testing.T) string {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "CURRENT"), []byte("MANIFEST-000005\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	grow(t, dir, "MANIFEST-000005")
	grow(t, dir, "000006.log")
	return dir
}

// TestDamageBesideAWriter: a fault counts as damage if the files stayed the same, or if
// the same fault is found again while only the log grows. Otherwise the writer may be
// its cause.
func TestDamageBesideAWriter(t *testing.T) {
	found := fmt.Errorf("%w: 000007.sst", cf.ErrCorrupt)
	for _, c := range []struct {
		what string
		try  func(dir string, n int) error
		want error // nil is success
		most int   // tries
	}{
		{"nothing changes", func(string, int) error { return found }, cf.ErrCorrupt, 1},
		{"nothing is wrong, and the log grows", func(dir string, n int) error { grow(t, dir, "000006.log"); return nil }, nil, 1},
		{"the same twice, and the log grows", func(dir string, n int) error { grow(t, dir, "000006.log"); return found }, cf.ErrCorrupt, 2},
		{"always another, and the log grows", func(dir string, n int) error {
			grow(t, dir, "000006.log")
			return fmt.Errorf("%w: %d", found, n)
		}, cf.ErrUnavailable, 0},
		{"the same twice, and the manifest grows", func(dir string, n int) error { grow(t, dir, "MANIFEST-000005"); return found }, cf.ErrUnavailable, 0},
		{"the same twice, and SYNCED changes", func(dir string, n int) error {
			grow(t, dir, wal.SyncedFile)
			grow(t, dir, "000006.log")
			return found
		}, cf.ErrUnavailable, 0},
		{"nothing is wrong, and the manifest grows", func(dir string, n int) error { grow(t, dir, "MANIFEST-000005"); return nil }, cf.ErrUnavailable, 0},
		{"the writer mends it", func(dir string, n int) error {
			if n < 5 {
				return ErrHalfLoaded
			}
			return nil
		}, nil, 5},
		{"a log is removed once", func(dir string, n int) error {
			if os.Remove(filepath.Join(dir, "000006.log")) == nil {
				return found
			}
			return nil
		}, nil, 2},
	} {
		dir, tries := watched(t), 0
		_, err := Read(t.Context(), dir, time.Millisecond, func() error { tries++; return c.try(dir, tries) })
		if !errors.Is(err, c.want) || c.most > 0 && tries != c.most {
			t.Errorf("%s: %v after %d tries, want %v", c.what, err, tries, c.want)
		}
		if errors.Is(err, cf.ErrUnavailable) && (errors.Is(err, cf.ErrCorrupt) || !strings.Contains(err.Error(), "try again")) {
			t.Errorf("%s: %v", c.what, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Read(ctx, watched(t), time.Hour, func() error { cancel(); return ErrHalfLoaded })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of the context: %v", err)
	}
}
