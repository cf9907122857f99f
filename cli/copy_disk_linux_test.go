package cli

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A copy onto a full disk fails with the cause. When there is room, the same command
// ends it.
func TestCopyOntoAFullDisk(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("no disk to fill: %v", err)
	}
	defer syscall.Unmount(disk, 0)
	from, to := filepath.Join(t.TempDir(), "from"), filepath.Join(disk, "to")
	changeSource(t, from, 0, 12_000)
	out, err := copier(from, to).CombinedOutput()
	if err == nil || !strings.Contains(strings.ToLower(string(out)), "no space left on device") {
		t.Fatalf("%v: %s", err, out)
	}
	if err := syscall.Mount("tmpfs", disk, "tmpfs", syscall.MS_REMOUNT, "size=100m"); err != nil {
		t.Fatal(err)
	}
	if out, err := copier(from, to).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
