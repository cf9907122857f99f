//go:build cgo && linux && !norocksdb

package rocks_test

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/rocks"
)

// startOnAFaultyDisk opens a store with a row and a range that is deleted in memory.
func startOnAFaultyDisk(t *testing.T, disk *faultyDisk) *worker {
	t.Helper()
	w := &worker{Store: open(t, disk.dir, rocks.Options{Memory: 8 << 20}), random: rand.New(rand.NewPCG(1, 2)), acknowledged: map[string]bool{}}
	t.Cleanup(func() { w.Close() })
	if err := errors.Join(w.CreateFamily(t.Context(), "t", "u"), w.put(t.Context()), w.dropAll(t.Context()), w.put(t.Context())); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *worker) dropAll(ctx context.Context) error {
	clear(w.acknowledged)
	return w.DropRange(ctx, []string{"t", "u"}, cf.Range{})
}

// openAnew opens the store once more, and looks for what was acknowledged.
func (w *worker) openAnew(t *testing.T, disk *faultyDisk) {
	t.Helper()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	w.Store = open(t, disk.dir, rocks.Options{Memory: 8 << 20})
	w.expect(t, w.Store)
}

// expect looks for what was acknowledged in a store.
func (w *worker) expect(t *testing.T, s *rocks.Store) {
	t.Helper()
	for _, family := range []string{"t", "u"} {
		there := map[string]bool{}
		for _, v := range values(t, s, family) {
			there[v[:6]] = true
		}
		if !maps.Equal(there, w.acknowledged) {
			t.Errorf("in %s there are %v, acknowledged were %v", family, there, w.acknowledged)
		}
	}
}

// A log that cannot be made fails no flush. Writes fail until it can be made, and go on
// then.
func TestALogThatCannotBeMade(t *testing.T) {
	disk := onAFaultyDisk(t)
	if disk == nil {
		return
	}
	w := startOnAFaultyDisk(t, disk)
	disk.breaks(0, 1, syscall.EIO)
	if err := w.Flush(t.Context(), "t"); err != nil {
		t.Fatalf("a flush without a new log: %v", err)
	}
	disk.breaks(0, 1<<30, syscall.ENOSPC)
	for range 3 {
		if err := w.put(t.Context()); !errors.Is(err, cf.ErrUnavailable) || !strings.Contains(err.Error(), "No space left") {
			t.Errorf("a write without a log: %v", err)
		}
	}
	disk.mends()
	if err := errors.Join(w.put(t.Context()), w.dropAll(t.Context()), w.put(t.Context()), w.Flush(t.Context(), "t")); err != nil {
		t.Errorf("when there is room: %v", err)
	}
	w.openAnew(t, disk)
}

// A log that fails is replaced by the next write, also when deleted ranges are in memory
// and are flushed meanwhile.
func TestALogThatFailsUnderDeletedRanges(t *testing.T) {
	disk := onAFaultyDisk(t)
	if disk == nil {
		return
	}
	w := startOnAFaultyDisk(t, disk)
	disk.breaks(0, 1<<30, syscall.ENOSPC)
	if err := w.put(t.Context()); !errors.Is(err, cf.ErrUnavailable) {
		t.Fatalf("a write on a full disk: %v", err)
	}
	for range 3 {
		if err := w.Flush(t.Context(), "t"); !errors.Is(err, cf.ErrUnavailable) || !strings.Contains(err.Error(), "No space left") {
			t.Errorf("a flush behind it: %v", err)
		}
	}
	disk.mends()
	expectResumed(t, func(int) error { return w.put(t.Context()) })
	if err := errors.Join(w.dropAll(t.Context()), w.put(t.Context()), w.Flush(t.Context(), "t")); err != nil {
		t.Errorf("when there is room: %v", err)
	}
	w.openAnew(t, disk)
}

// A disk fails with any error for a while. The store refuses writes meanwhile, and takes
// them again when the disk works.
func TestAnyErrorOfADiskPasses(t *testing.T) {
	disk := onAFaultyDisk(t)
	if disk == nil {
		return
	}
	w := startOnAFaultyDisk(t, disk)
	for _, fault := range []syscall.Errno{syscall.EIO, syscall.EDQUOT, syscall.ENOSPC, syscall.EROFS} {
		if err := w.put(t.Context()); err != nil {
			t.Fatal(err)
		}
		disk.breaks(0, 1<<30, fault)
		for range 3 {
			if err := w.put(t.Context()); !errors.Is(err, cf.ErrUnavailable) || !strings.Contains(strings.ToLower(err.Error()), fault.Error()) || strings.Contains(err.Error(), "busy") {
				t.Errorf("a write with %v: %v", fault, err)
			}
		}
		if err := w.Flush(t.Context(), "t"); !errors.Is(err, cf.ErrUnavailable) {
			t.Errorf("a flush with %v: %v", fault, err)
		}
		disk.mends()
		for _, again := range []func(context.Context) error{w.put, w.load, func(ctx context.Context) error { return w.Flush(ctx, "t") }} {
			expectResumed(t, func(int) error { return again(t.Context()) })
		}
	}
	w.openAnew(t, disk)
}

// A log that fails while nothing is in memory is replaced too.
func TestALogThatFailsBehindAFlush(t *testing.T) {
	disk := onAFaultyDisk(t)
	if disk == nil {
		return
	}
	w := startOnAFaultyDisk(t, disk)
	for _, fails := range []int{1, 1 << 30} {
		if err := errors.Join(w.Flush(t.Context(), "t"), w.Flush(t.Context(), "u")); err != nil {
			t.Fatal(err)
		}
		disk.breaks(0, fails, syscall.ENOSPC)
		if err := w.put(t.Context()); !errors.Is(err, cf.ErrUnavailable) || !strings.Contains(err.Error(), "No space left") {
			t.Fatalf("a write on a full disk: %v", err)
		}
		if fails == 1 {
			if err := w.put(t.Context()); err != nil {
				t.Errorf("the write behind it: %v", err)
			}
		}
		disk.mends()
		expectResumed(t, func(int) error { return w.put(t.Context()) })
	}
	w.openAnew(t, disk)
}

// The sync of a write fails, and one of its two families is flushed. When the process is
// killed then, the write is in both families or in neither.
func TestAWriteWhoseSyncFailedIsNotThereInPart(t *testing.T) {
	disk := onAFaultyDisk(t)
	if disk == nil {
		return
	}
	w := startOnAFaultyDisk(t, disk)
	disk.breaks(1, 1, syscall.EIO) // the bytes are written
	if err := w.put(t.Context()); !errors.Is(err, cf.ErrUnknownOutcome) {
		t.Fatalf("a write whose sync fails: %v", err)
	}
	if err := w.Flush(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	killed := filepath.Join(t.TempDir(), "killed")
	if err := os.CopyFS(killed, os.DirFS(disk.dir)); err != nil {
		t.Fatal(err)
	}
	s := open(t, killed, rocks.Options{})
	w.expect(t, s)
	if err := errors.Join(s.Close(), w.put(t.Context())); err != nil {
		t.Error(err)
	}
	w.openAnew(t, disk)
}
