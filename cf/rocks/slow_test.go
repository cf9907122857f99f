//go:build cgo && linux && !norocksdb

package rocks_test

import (
	"bytes"
	"context"
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
	"time"
	"unsafe"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/rocks"
)

// A slowDisk can hold up all syncs.
type slowDisk struct {
	dir        string // on it
	hold, held *int32 // held is the number of waiting syncs
}

const slowControl = "SLOWDISK_CONTROL"

// onASlowDisk runs the calling test again in a process in which syncs below a directory
// can be held up. It returns the disk in that process, and nil in the calling one.
func onASlowDisk(t *testing.T) *slowDisk {
	t.Helper()
	inside := runAgain(t, func(cmd *exec.Cmd) {
		dir := t.TempDir()
		library := filepath.Join(dir, "slowdisk.so")
		if out, err := exec.Command("cc", "-shared", "-fPIC", "-O1", "-o", library, "testdata/slowdisk.c", "-ldl").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		control := filepath.Join(dir, "control")
		if err := os.WriteFile(control, make([]byte, 8), 0o600); err != nil {
			t.Fatal(err)
		}
		disk := filepath.Join(dir, "disk")
		cmd.Env = append(cmd.Env, "LD_PRELOAD="+library, "SLOWDISK_DIR="+disk, slowControl+"="+control, "ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0")
	})
	if !inside {
		return nil
	}
	f, err := os.OpenFile(os.Getenv(slowControl), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	shared, err := syscall.Mmap(int(f.Fd()), 0, 8, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	numbers := (*[2]int32)(unsafe.Pointer(unsafe.SliceData(shared)))
	return &slowDisk{dir: os.Getenv("SLOWDISK_DIR"), hold: &numbers[0], held: &numbers[1]}
}

func (d *slowDisk) stop() { atomic.StoreInt32(d.hold, 1) }
func (d *slowDisk) goOn() { atomic.StoreInt32(d.hold, 0) }

// holds reports whether a sync is held up now.
func (d *slowDisk) holds() bool { return atomic.LoadInt32(d.held) > 0 }

func (d *slowDisk) awaitHeld() {
	for !d.holds() {
		time.Sleep(time.Millisecond)
	}
}

// While the disk does not answer, only the write that the engine already has must wait.
// Other writes end with their contexts and are not made, and data in memory can be
// read. When the disk answers, the write is acknowledged and the store works as before.
func TestASlowDisk(t *testing.T) {
	disk := onASlowDisk(t)
	if disk == nil {
		return
	}
	s := open(t, disk.dir, rocks.Options{Memory: 16 << 20})
	if err := errors.Join(s.CreateFamily(t.Context(), "t"), write(t.Context(), s, "before", 1)); err != nil {
		t.Fatal(err)
	}
	disk.stop()
	var handed sync.WaitGroup
	ctx, tooLate := context.WithCancel(t.Context())
	defer tooLate()
	handed.Go(func() {
		if err := write(ctx, s, "handed", 1); err != nil {
			t.Error(err)
		}
	})
	disk.awaitHeld()
	tooLate()
	var runs int
	for name, f := range map[string]func(context.Context) error{
		"a write":            func(ctx context.Context) error { return write(ctx, s, "other", 1) },
		"an update":          func(ctx context.Context) error { return update(ctx, s, "another", &runs) },
		"an update of a row": func(ctx context.Context) error { return update(ctx, s, "handed", &runs) },
		"a delete":           func(ctx context.Context) error { return s.DropRange(ctx, []string{"t"}, cf.Range{}) },
		"a flush":            func(ctx context.Context) error { return s.Flush(ctx, "t") },
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		err := f(ctx)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", name, err)
		} else if name != "a flush" && !strings.Contains(err.Error(), "nothing was written") {
			t.Errorf("%s does not say what came of it: %v", name, err)
		}
	}
	got, _, err := scan(s, cf.Range{})
	if err != nil || !strings.Contains(got.String(), "before") {
		t.Errorf("read %v, %v", got, err)
	}
	if _, err := s.Stats(t.Context()); err != nil {
		t.Error(err)
	}
	if !disk.holds() {
		t.Error("the disk did not stop")
	}
	disk.goOn()
	handed.Wait()
	if err := write(t.Context(), s, "after", 1); err != nil {
		t.Error(err)
	}
	for _, when := range []string{"open", "opened again"} {
		got, _, err := scan(s, cf.Range{})
		if text := got.String(); err != nil || len(got) != 3 || !strings.Contains(text, "handed") || !strings.Contains(text, "after") {
			t.Errorf("%s: %s, %v", when, text, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, disk.dir, rocks.Options{Memory: 16 << 20})
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// When the disk cannot keep up with writes that do not wait for it, the store stops
// taking writes and shows that in its statistics. It takes them again when it has
// caught up. A close waits only for the disk.
func TestADiskThatDoesNotKeepUp(t *testing.T) {
	disk := onASlowDisk(t)
	if disk == nil {
		return
	}
	s := open(t, disk.dir, rocks.Options{Memory: 16 << 20, Async: true})
	if err := s.CreateFamily(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	disk.stop()
	var acknowledged []string
	var err error
	for n := 0; err == nil && n < 10_000; n++ {
		row := fmt.Sprintf("%06d", n)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		if err = write(ctx, s, row, 64<<10); err == nil {
			acknowledged = append(acknowledged, row)
		}
		cancel()
	}
	stall, ok := errors.AsType[*cf.StallError](err)
	if !ok || stall.Family != "t" || stall.Memtables == 0 {
		t.Fatalf("after %d writes: %v", len(acknowledged), err)
	}
	stats, err := s.Stats(t.Context())
	if err != nil || stats.Engine.Stalls.State == cf.NotStalled || stats.Engine.Stalls.Count == 0 || stats.Engine.Stalls.Time <= 0 {
		t.Errorf("stalls %+v, %v", stats.Engine.Stalls, err)
	}
	if got, _, err := scan(s, cf.Range{Start: "000000", End: "000001"}); err != nil || len(got) != 1 {
		t.Errorf("a read of a stalled store: %v", err)
	}
	disk.goOn()
	if err := write(t.Context(), s, "after", 1); err != nil {
		t.Error(err)
	}
	disk.stop()
	closed := make(chan error)
	go func() { closed <- s.Close() }()
	disk.goOn()
	if err := <-closed; err != nil {
		t.Error(err)
	}
	s = open(t, disk.dir, rocks.Options{Memory: 16 << 20})
	defer s.Close()
	got, _, err := scan(s, cf.Range{})
	if err != nil || len(got) != len(acknowledged)+1 {
		t.Errorf("%d cells of %d, %v", len(got), len(acknowledged)+1, err)
	}
	if !bytes.Contains([]byte(got.String()), []byte(acknowledged[len(acknowledged)-1])) {
		t.Error("the last one is missing")
	}
}
