package archive

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
)

// TestFullDisk: a backup that does not fit leaves no generation, says why, and succeeds when
// there is room.
func TestFullDisk(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	small := filepath.Join(dir, "small")
	if err := os.Mkdir(small, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", small, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("a small file system cannot be mounted: %v", err)
	}
	defer syscall.Unmount(small, 0)
	db := openTestDB(t, filepath.Join(dir, "db"))
	writeRows(t, db, 0, 10)
	a := archiveIn(filepath.Join(small, "backups"))
	if _, err := a.Backup(ctx, db, BackupOptions{}); err != nil {
		t.Fatal(err)
	}
	m := write.NewMutation()
	m.Set("f", "big", cells.Bytes(bytesOf(rand.New(rand.NewPCG(1, 2)), 2<<20)))
	if err := db.Table("t").Apply(ctx, "row", m); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Backup(ctx, db, BackupOptions{}); !errors.Is(err, ErrNoSpace) || query.KindOf(err) != query.KindUnavailable {
		t.Errorf("error %v, want %v", err, ErrNoSpace)
	}
	if report, err := a.Verify(ctx, Options{}); err != nil || report.Generations != 1 {
		t.Errorf("verify %+v, %v", report, err)
	}
	if err := syscall.Mount("tmpfs", small, "tmpfs", syscall.MS_REMOUNT, "size=8m"); err != nil {
		t.Fatal(err)
	}
	if res, err := a.Backup(ctx, db, BackupOptions{}); err != nil || res.ID != 2 {
		t.Errorf("with room: %+v, %v", res, err)
	}
	if report, err := a.Verify(ctx, Options{}); err != nil || report.Generations != 2 {
		t.Errorf("verify %+v, %v", report, err)
	}
}
