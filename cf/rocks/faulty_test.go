//go:build cgo && linux && !norocksdb

package rocks_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/bulk"
	"github.com/smolwc/smolwc/cf/rocks"
)

var (
	faults    = flag.Int("faults", 0, "how many times a disk fails in TestNoFaultOfADiskEndsTheProcess")
	faultSeed = flag.Uint64("fault-seed", 0, "of the first of them; 0 is any")
)

// A faultyDisk fails calls that change files.
type faultyDisk struct {
	dir                      string // on it
	well, fail, error, calls *int32 // see testdata/faultydisk.c
}

const faultyControl = "FAULTYDISK_CONTROL"

// onAFaultyDisk runs the calling test again in a process whose disk can be made to
// fail. It returns the disk in that process, and nil in the calling one.
func onAFaultyDisk(t *testing.T) *faultyDisk {
	t.Helper()
	inside := runAgain(t, func(cmd *exec.Cmd) {
		dir := t.TempDir()
		library := filepath.Join(dir, "faultydisk.so")
		if out, err := exec.Command("cc", "-shared", "-fPIC", "-O1", "-o", library, "testdata/faultydisk.c", "-ldl").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		control := filepath.Join(dir, "control")
		if err := os.WriteFile(control, make([]byte, 16), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd.Args = append(cmd.Args, fmt.Sprintf("-test.timeout=%v", 5*time.Minute+time.Duration(*faults)*20*time.Second), fmt.Sprintf("-faults=%d", *faults), fmt.Sprintf("-fault-seed=%d", *faultSeed))
		cmd.Env = append(cmd.Env, "LD_PRELOAD="+library, "FAULTYDISK_DIR="+filepath.Join(dir, "disk"), faultyControl+"="+control, "ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0")
	})
	if !inside {
		return nil
	}
	f, err := os.OpenFile(os.Getenv(faultyControl), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	shared, err := syscall.Mmap(int(f.Fd()), 0, 16, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	n := (*[4]int32)(unsafe.Pointer(unsafe.SliceData(shared)))
	return &faultyDisk{os.Getenv("FAULTYDISK_DIR"), &n[0], &n[1], &n[2], &n[3]}
}

// breaks makes calls fail after a number of successful calls.
func (d *faultyDisk) breaks(well, fail int, with syscall.Errno) {
	atomic.StoreInt32(d.error, int32(with))
	atomic.StoreInt32(d.well, int32(well))
	atomic.StoreInt32(d.fail, int32(fail))
}

func (d *faultyDisk) mends() { atomic.StoreInt32(d.fail, 0) }

// A worker performs every kind of operation that changes files, and notes acknowledged
// operations. A row has the same value in two families, and is written once.
type worker struct {
	*rocks.Store
	options      rocks.Options
	random       *rand.Rand
	tried        int
	acknowledged map[string]bool
	done         []string
}

func (w *worker) row() string {
	w.tried++
	return fmt.Sprintf("%06d", w.tried)
}

func (w *worker) wrote(err error, rows ...string) error {
	for _, row := range rows {
		if err == nil {
			w.acknowledged[row] = true
		}
	}
	return err
}

func (w *worker) put(ctx context.Context) error {
	row := w.row()
	_, err := w.Write(ctx, nil, func(b *cf.Batch) error {
		b.Row(cf.RowID{Space: "t", Row: row})
		for _, family := range []string{"t", "u"} {
			b.Put(family, "q", 1, []byte(strings.Repeat(row, 1+w.random.IntN(2000))))
		}
		return nil
	})
	return w.wrote(err, row)
}

func (w *worker) load(ctx context.Context) error {
	in, err := w.Ingest(ctx)
	if err != nil {
		return err
	}
	defer in.Close()
	sorter := bulk.NewSorter(2, 1<<20, in.TempDir(), in.Merge)
	defer sorter.Close()
	var rows []string
	for range 1 + w.random.IntN(3) {
		row := w.row()
		rows = append(rows, row)
		sorter.Row(row)
		for i := range 2 {
			sorter.Group(i)
			sorter.Value(append(sorter.Cell("q", 1), row...), false)
			sorter.EndGroup()
		}
	}
	sorted, err := sorter.Finish(ctx)
	if err != nil {
		return err
	}
	for _, part := range sorted.Parts(1) {
		run, err := in.Run(ctx, []string{"t", "u"}[part.Family])
		if err != nil {
			return err
		}
		err = errors.Join(part.Each(ctx, func(c cf.CellGroups) error { return run.Write(ctx, c) }), run.Close())
		if err != nil {
			return err
		}
	}
	_, err = in.Commit(ctx, cf.Range{}, nil)
	return w.wrote(err, rows...)
}

// drop deletes an existing row.
func (w *worker) drop(ctx context.Context) error {
	for _, row := range slices.Sorted(maps.Keys(w.acknowledged)) {
		if w.random.IntN(4) > 0 {
			continue
		}
		delete(w.acknowledged, row)
		return w.DropRange(ctx, []string{"t", "u"}, cf.Range{Start: row, End: row + "\x00"})
	}
	return nil
}

func (w *worker) checkpoint(ctx context.Context, dir string) error {
	defer os.RemoveAll(dir)
	_, err := w.Checkpoint(ctx, dir)
	return err
}

// work does one thing.
func (w *worker) work(dir string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	things := []struct {
		name string
		do   func() error
	}{
		{"put", func() error { return w.put(ctx) }},
		{"put", func() error { return w.put(ctx) }},
		{"put", func() error { return w.put(ctx) }},
		{"load", func() error { return w.load(ctx) }},
		{"load", func() error { return w.load(ctx) }},
		{"drop", func() error { return w.drop(ctx) }},
		{"flush", func() error { return w.Flush(ctx, "t") }},
		{"compact", func() error { return w.Compact(ctx, "u", cf.Range{}) }},
		{"create", func() error { return w.CreateFamily(ctx, "v", "w") }},
		{"remove", func() error { return w.DropFamily(ctx, "v", "w") }},
		{"tune", func() error {
			return w.SetTuning("t", cf.Tuning{BlockSize: 4 << 10 << w.random.IntN(3), BlobMinSize: int64(w.random.IntN(2) * 4000)})
		}},
		{"expire", func() error { return w.SetExpiry("u", cf.Expiry{}) }},
		{"keep", func() error { return w.KeepChanges(time.Now()) }},
		{"checkpoint", func() error { return w.checkpoint(ctx, dir+".copy") }},
		{"stats", func() error { _, err := w.Stats(ctx); return err }},
	}
	thing := things[w.random.IntN(len(things))]
	err := thing.do()
	w.done = append(w.done, fmt.Sprintf("%s: %v", thing.name, err))
	return err
}

// A disk fails at any time with any error during any work. The process lives. When the
// database is opened again, acknowledged writes are there, and no write or load is in
// one family alone.
func TestNoFaultOfADiskEndsTheProcess(t *testing.T) {
	if *faults == 0 {
		t.Skip("a fault takes a second: give -faults")
	}
	disk := onAFaultyDisk(t)
	if disk == nil {
		return
	}
	seed := *faultSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	for n := range uint64(*faults) {
		fmt.Fprintf(os.Stderr, "-fault-seed %d\n", seed+n) // the process may end
		faultyRound(t, disk, filepath.Join(disk.dir, fmt.Sprint(n)), seed+n)
		if t.Failed() {
			return
		}
	}
}

func faultyRound(t *testing.T, disk *faultyDisk, dir string, seed uint64) {
	t.Helper()
	o := rocks.Options{Memory: 8 << 20, Async: seed%2 == 1}
	w := &worker{Store: open(t, dir, o), random: rand.New(rand.NewPCG(seed, 0)), acknowledged: map[string]bool{}}
	if err := w.CreateFamily(t.Context(), "t", "u"); err != nil {
		t.Fatal(err)
	}
	calls := []int{1, 1 << 20}
	kinds := []syscall.Errno{syscall.ENOSPC, syscall.ENOSPC, syscall.EIO, syscall.EDQUOT}
	disk.breaks(w.random.IntN(300), calls[w.random.IntN(len(calls))], kinds[w.random.IntN(len(kinds))])
	failed := 0
	for i := 0; i < 120 && failed < 40; i++ {
		if w.work(dir) != nil {
			failed++
		}
	}
	disk.mends()
	for range 10 {
		w.work(dir)
	}
	if err := w.Close(); err != nil {
		w.done = append(w.done, fmt.Sprintf("close: %v", err))
	}
	log, err := os.ReadFile(filepath.Join(dir, "LOG")) // opening begins another
	if err != nil {
		t.Error(err)
	}
	s := open(t, dir, o)
	defer func() {
		s.Close()
		if t.Failed() {
			t.Logf("-fault-seed %d\n%s\nthe engine's log ends with:\n%s", seed, strings.Join(w.done, "\n"), log[max(0, len(log)-20_000):])
		}
		os.RemoveAll(dir)
	}()
	w.expectWhole(t, s)
}

// expectWhole looks in a store for writes that are there in one family alone, and for
// acknowledged ones that are missing.
func (w *worker) expectWhole(t *testing.T, s *rocks.Store) {
	t.Helper()
	in := map[string]map[string]bool{}
	for _, family := range []string{"t", "u"} {
		in[family] = map[string]bool{}
		for _, v := range values(t, s, family) {
			in[family][v[:6]] = true
		}
	}
	if !maps.Equal(in["t"], in["u"]) {
		t.Errorf("%d rows in one family, %d in the other", len(in["t"]), len(in["u"]))
	}
	for row := range w.acknowledged {
		if !in["t"][row] {
			t.Errorf("%s was acknowledged and is missing", row)
		}
	}
}

// The disk is full during a write, and then during load after load. Each fails with the
// cause. When there is room again, loads succeed.
func TestLoadsBehindAFullDisk(t *testing.T) {
	disk := onAFaultyDisk(t)
	if disk == nil {
		return
	}
	w := &worker{Store: open(t, disk.dir, rocks.Options{Memory: 8 << 20}), random: rand.New(rand.NewPCG(1, 2)), acknowledged: map[string]bool{}}
	defer func() { w.Close() }()
	if err := errors.Join(w.CreateFamily(t.Context(), "t", "u"), w.put(t.Context()), w.load(t.Context())); err != nil {
		t.Fatal(err)
	}
	disk.breaks(0, 1<<30, syscall.ENOSPC)
	if err := w.put(t.Context()); !errors.Is(err, cf.ErrUnavailable) {
		t.Fatalf("a write on a full disk: %v", err)
	}
	for range 20 {
		if err := w.load(t.Context()); !errors.Is(err, cf.ErrUnavailable) || errors.Is(err, cf.ErrUnknownOutcome) || !strings.Contains(err.Error(), "No space left") {
			t.Errorf("a load behind it: %v", err)
		}
	}
	disk.mends()
	expectResumed(t, func(int) error { return w.put(t.Context()) })
	for range 20 {
		if err := w.load(t.Context()); err != nil {
			t.Errorf("a load when there is room: %v", err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	w.Store = open(t, disk.dir, rocks.Options{Memory: 8 << 20})
	for range 20 {
		if err := w.load(t.Context()); err != nil {
			t.Errorf("a load after opening anew: %v", err)
		}
	}
	if got := values(t, w, "t"); len(got) < len(w.acknowledged) {
		t.Errorf("%d rows, %d were acknowledged", len(got), len(w.acknowledged))
	}
}
