package branch

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query/write"
)

// On a disk that is full at any moment of its work, Create says so and leaves no branch and no
// rest; the database goes on. With room again the branch is made.
func TestCreateOnAFullDisk(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=48m"); err != nil {
		t.Skipf("no disk to fill without the right to mount one: %v", err)
	}
	defer syscall.Unmount(disk, syscall.MNT_DETACH)
	db := open(t, filepath.Join(disk, "data"))
	defer db.Close()
	ctx := t.Context()
	if _, err := db.Declare(ctx, tables()); err != nil {
		t.Fatal(err)
	}
	m := write.NewMutation()
	m.Set("all", "", cells.I64(1))
	if err := db.Table("t").Apply(ctx, "k", m); err != nil {
		t.Fatal(err)
	}
	if err := db.Table("t").Flush(ctx); err != nil {
		t.Fatal(err)
	}
	d := must(Of(db.Dir()))
	ballast := filepath.Join(disk, "ballast")
	failed, full := 0, false
	for room := 0; !full; room += 8 << 10 { // for the whole of it, from none on
		var fs syscall.Statfs_t
		if err := syscall.Statfs(disk, &fs); err != nil {
			t.Fatal(err)
		}
		f, err := os.Create(ballast)
		if err == nil {
			err = errors.Join(syscall.Fallocate(int(f.Fd()), 0, 0, max(int64(fs.Bavail)*fs.Bsize-int64(room), 1)), f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := d.Create(ctx, "b", db.Checkpoint)
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
		if err == nil {
			full = true
			if _, err := Diff(ctx, b, func(Difference) error { return nil }); err != nil {
				t.Error(err)
			}
			break
		}
		failed++
		if !strings.Contains(strings.ToLower(err.Error()), "no space left on device") {
			t.Errorf("with room for %d bytes: %v", room, err)
		}
		if all, err := d.List(); len(all) > 0 || err != nil {
			t.Errorf("with room for %d bytes there are %v, %v", room, all, err)
		}
		if left, err := os.ReadDir(d.Path()); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("with room for %d bytes %v is left, %v", room, left, err)
		}
		for err := db.Table("t").Apply(ctx, "k", m); err != nil; err = db.Table("t").Apply(ctx, "k", m) { // the engine looks again after a while
			if !strings.Contains(strings.ToLower(err.Error()), "no space left on device") || ctx.Err() != nil {
				t.Fatalf("afterwards the database takes no writes: %v", err)
			}
			runtime.Gosched()
		}
		if room > 16<<20 {
			t.Fatal(err)
		}
	}
	if failed == 0 {
		t.Error("the disk was never full")
	}
	t.Logf("%d times the disk was full", failed)
	b := must(d.Get("b"))
	branch := open(t, b.Dir)
	defer branch.Close()
	if len(contentOf(t, branch)) != 1 {
		t.Errorf("the branch has %v", contentOf(t, branch))
	}
}
