package pebble_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/cftest"
	"github.com/smolwc/smolwc/cf/pebble"
)

// A disk is in memory. Its calls fail as a test wants.
type disk struct {
	vfs.FS
	files *vfs.MemFS
	fault atomic.Pointer[func(errorfs.Op) error]
	held  atomic.Int64 // calls that wait
}

// hold makes the creation of some files wait until release is called.
func (d *disk) hold(part string) (release func()) {
	released := make(chan struct{})
	fault := func(op errorfs.Op) error {
		if op.Kind == errorfs.OpCreate && strings.Contains(op.Path, part) {
			d.held.Add(1)
			<-released
		}
		return nil
	}
	d.fault.Store(&fault)
	return func() { close(released) }
}

func newDisk() *disk {
	d := &disk{files: vfs.NewCrashableMem()}
	d.FS = errorfs.Wrap(d.files, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if fault := d.fault.Load(); fault != nil {
			return (*fault)(op)
		}
		return nil
	}))
	return d
}

// fail makes writes to some files fail; syncs alone if only is set.
func (d *disk) fail(err error, part string, onlySyncs bool) {
	fault := func(op errorfs.Op) error {
		sync := op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData || op.Kind == errorfs.OpFileSyncTo
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && strings.Contains(op.Path, part) && sync == onlySyncs && op.Kind != errorfs.OpLock {
			return err
		}
		return nil
	}
	d.fault.Store(&fault)
}

func (d *disk) heal() { d.fault.Store(nil) }

func open(t *testing.T, fs vfs.FS, async bool) *pebble.Store {
	t.Helper()
	s, err := pebble.Open("db", pebble.Options{FS: fs, Memory: 8 << 20, Async: async})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func create(t *testing.T, s *pebble.Store, names ...string) {
	t.Helper()
	if err := s.CreateFamily(t.Context(), names...); err != nil {
		t.Fatal(err)
	}
}

func putRow(ctx context.Context, s *pebble.Store, i int) error {
	_, err := s.Write(ctx, nil, func(b *cf.Batch) error {
		b.Row(cf.RowID{Space: "t", Row: fmt.Sprintf("r%06d", i)})
		b.Put("t/a", "q", 1, []byte(strings.Repeat("v", 100)))
		return nil
	})
	return err
}

// rows are the numbers of the rows that there are.
func rows(t *testing.T, s cf.Reader, family string) map[int]bool {
	t.Helper()
	found := map[int]bool{}
	got, err := cftest.Read(t.Context(), s, cf.Scan{Family: family, Rows: []cf.Range{{}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range got {
		var n int
		_, _ = fmt.Sscanf(r.Key, "r%06d", &n)
		found[n] = true
	}
	return found
}

// eventually waits for a condition.
func eventually(condition func() bool) {
	for !condition() {
		time.Sleep(time.Millisecond)
	}
}

// The power fails at any call of the file system. What was acknowledged is there, or the
// first writes of it if writes are not synced, and a load is there whole or not at all.
func TestLossOfPower(t *testing.T) {
	step := 9 * slow
	if testing.Short() {
		step = 61
	}
	for _, async := range []bool{false, true} {
		for at, more := 0, true; more; at += step {
			more = lossOfPower(t, async, at)
		}
	}
}

// lossOfPower reports whether there were as many calls.
func lossOfPower(t *testing.T, async bool, at int) bool {
	d := newDisk()
	var calls, acked atomic.Int64
	var cut atomic.Pointer[vfs.MemFS]
	var before int64 // acknowledged at the cut
	s := open(t, d, async)
	create(t, s, "t/a", "t/b")
	fault := func(errorfs.Op) error {
		if calls.Add(1) == int64(at)+1 {
			before = acked.Load()
			cut.Store(d.files.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: at % 3 * 50, RNG: rand.New(rand.NewPCG(uint64(at), 1))}))
		}
		return nil
	}
	d.fault.Store(&fault)
	for i := range 60 {
		if err := putRow(t.Context(), s, i); err != nil {
			t.Fatal(err)
		}
		acked.Add(1)
		if i%20 == 19 {
			if err := errors.Join(s.Flush(t.Context(), "t/a"), cftest.LoadCell(t.Context(), s, "t/b", fmt.Sprintf("r%06d", i), "q", "v")); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if cut.Load() == nil {
		return false
	}
	after, err := pebble.Open("db", pebble.Options{FS: cut.Load(), Memory: 8 << 20, MustExist: true})
	if err != nil {
		t.Errorf("after %d calls, async %t: %v", at, async, err)
		return true
	}
	defer after.Close()
	found := rows(t, after, "t/a")
	for i := range 60 {
		if i < len(found) && !found[i] || !async && i < int(before) && !found[i] {
			t.Errorf("after %d calls, async %t: %d of %d acknowledged rows, without row %d", at, async, len(found), before, i)
		}
	}
	return true
}

// While the disk is full, or fails otherwise, the store takes no writes, and says why. Once
// the disk is well again, so is the store, without a new open.
func TestAFaultThatPasses(t *testing.T) {
	for _, part := range []string{".log", ".sst", "MANIFEST"} {
		for _, cause := range []error{syscall.ENOSPC, syscall.EIO} {
			t.Run(fmt.Sprintf("%s/%v", part, cause), func(t *testing.T) {
				d := newDisk()
				s := open(t, d, false)
				create(t, s, "t/a")
				if err := putRow(t.Context(), s, 0); err != nil {
					t.Fatal(err)
				}
				d.fail(cause, part, false)
				ended := make(chan error, 2)
				go func() { ended <- putRow(context.Background(), s, 1) }()
				go func() { ended <- s.Flush(context.Background(), "t/a") }()
				if part != ".sst" { // flushes begin again by themselves, and writes go on
					eventually(func() bool { return pebble.Waits(s) })
					if err := putRow(t.Context(), s, 2); !errors.Is(err, cf.ErrUnavailable) || !errors.Is(err, cause) {
						t.Errorf("a write: %v", err)
					}
				}
				d.heal()
				for range 2 {
					if err := <-ended; err != nil && !errors.Is(err, cf.ErrUnavailable) {
						t.Error(err)
					}
				}
				eventually(func() bool { return putRow(t.Context(), s, 3) == nil })
				if err := s.Flush(t.Context(), "t/a"); err != nil {
					t.Error(err)
				}
				if found := rows(t, s, "t/a"); !found[0] || !found[3] {
					t.Errorf("rows %v", found)
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// After a sync that has failed nobody knows what is on the disk. Every call then says that
// the database must be opened again; it has all that was acknowledged.
func TestASyncThatFails(t *testing.T) {
	for _, part := range []string{".log", "MANIFEST"} {
		t.Run(part, func(t *testing.T) {
			d := newDisk()
			s := open(t, d, false)
			create(t, s, "t/a")
			for i := range 10 {
				if err := putRow(t.Context(), s, i); err != nil {
					t.Fatal(err)
				}
			}
			d.fail(syscall.EIO, part, true)
			failed := func(err error) bool {
				return errors.Is(err, cf.ErrUnavailable) && errors.Is(err, syscall.EIO) && strings.Contains(err.Error(), "opened again")
			}
			var err error
			if part == ".log" {
				err = putRow(t.Context(), s, 10)
			} else {
				err = s.Flush(t.Context(), "t/a")
			}
			if !failed(err) {
				t.Errorf("the call that met it: %v", err)
			}
			for what, err := range map[string]error{
				"a write": putRow(t.Context(), s, 11), "a flush": s.Flush(t.Context(), "t/a"),
				"a read":   s.Read(t.Context(), &cf.Scan{Family: "t/a", Rows: []cf.Range{{}}}, new(cf.Answer)),
				"a family": s.CreateFamily(t.Context(), "t/b"),
			} {
				if !failed(err) {
					t.Errorf("%s: %v", what, err)
				}
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			d.heal()
			s = open(t, d, false)
			defer s.Close()
			if found := rows(t, s, "t/a"); len(found) < 10 {
				t.Errorf("rows %v", found)
			}
		})
	}
}

// A write that meets a full disk returns, and its outcome is not known: it is made when there
// is room. What reads in order to write waits for it.
func TestAWriteThatStaysBehind(t *testing.T) {
	d := newDisk()
	s := open(t, d, false)
	defer s.Close()
	create(t, s, "t/a")
	row := []cf.RowID{{Space: "t", Row: "r000001"}}
	d.fail(syscall.ENOSPC, ".log", false)
	if err := putRow(t.Context(), s, 1); !errors.Is(err, cf.ErrUnknownOutcome) || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a write on a full disk: %v", err)
	}
	if err := putRow(t.Context(), s, 2); !errors.Is(err, cf.ErrUnavailable) || errors.Is(err, cf.ErrUnknownOutcome) {
		t.Errorf("the next one: %v", err)
	}
	if err := s.CreateFamily(t.Context(), "t/b"); !errors.Is(err, cf.ErrUnavailable) {
		t.Errorf("a new family: %v", err)
	}
	d.heal()
	var seen int
	var err error
	eventually(func() bool {
		_, err = s.Update(t.Context(), row, func(snap cf.Snapshot, b *cf.Batch) error {
			got, _, err := cftest.Collect(t.Context(), snap, cf.Scan{Family: "t/a", Rows: []cf.Range{{}}})
			seen = len(got)
			b.Row(row[0])
			b.Put("t/a", "q", 2, nil)
			return err
		})
		return err == nil || !errors.Is(err, cf.ErrUnavailable)
	})
	if err != nil || seen != 1 {
		t.Errorf("an update sees %d rows, %v", seen, err)
	}
	if err := s.CreateFamily(t.Context(), "t/b"); err != nil {
		t.Error(err)
	}
}

// Counters that are incremented often while the disk fills up, again and again, have the
// increments that were acknowledged, once each, and none that was refused.
func TestCountersOnADiskThatFillsUp(t *testing.T) {
	d := newDisk()
	s := open(t, d, true)
	create(t, s, "t/a")
	one := binary.BigEndian.AppendUint64([]byte{6}, 1) // an i64
	var made, unknown [2]atomic.Uint64
	add := func(i int) error {
		_, err := s.Write(context.Background(), nil, func(b *cf.Batch) error {
			b.Row(cf.RowID{Space: "t", Row: fmt.Sprint(i)})
			for range 20 {
				b.Merge("t/a", "q", 0, cf.MergeSum, one)
			}
			return nil
		})
		switch {
		case err == nil:
			made[i].Add(20)
		case errors.Is(err, cf.ErrUnknownOutcome):
			unknown[i].Add(20)
		}
		return err
	}
	right := func() {
		t.Helper()
		got, err := cftest.Read(t.Context(), s, cf.Scan{Family: "t/a", Rows: []cf.Range{{}}})
		if err != nil || len(got) != len(made) {
			t.Fatal(got, err)
		}
		for i := range made {
			sum := binary.BigEndian.Uint64([]byte(got[i].Cells[0].Value)[1:])
			if least, most := made[i].Load(), made[i].Load()+unknown[i].Load(); sum < least || sum > most {
				t.Errorf("counter %d has %d, of %d to %d", i, sum, least, most)
			}
		}
	}
	for range 5 {
		var wg sync.WaitGroup
		for i := range made {
			wg.Go(func() {
				if i == 0 {
					for range 50 {
						_ = add(i)
					}
					d.fail(syscall.ENOSPC, ".log", false)
				}
				for add(i) == nil {
				}
			})
		}
		wg.Wait()
		d.heal()
		for i := range made {
			eventually(func() bool { return add(i) == nil })
		}
		right()
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, d, true)
	defer s.Close()
	right()
}

// A drop of a family that meets a full disk returns, and is made whole when there is room: no
// write takes the family for one that is there, and loses its cells at the next open.
func TestADropThatStaysBehind(t *testing.T) {
	d := newDisk()
	s := open(t, d, false)
	create(t, s, "t/a", "t/b")
	d.fail(syscall.ENOSPC, ".log", false)
	if err := s.DropFamily(t.Context(), "t/a"); !errors.Is(err, cf.ErrUnknownOutcome) {
		t.Errorf("a drop on a full disk: %v", err)
	}
	time.Sleep(2 * pebble.Patience) // longer than anything within it waits
	d.heal()
	eventually(func() bool { return s.PutMeta(t.Context(), "k", nil) == nil })
	if err := putRow(t.Context(), s, 1); !errors.Is(err, cf.ErrNotExist) {
		t.Errorf("a write of the family: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, d, false)
	defer s.Close()
	if got := s.Families(); !slices.Equal(got, []string{"t/b"}) {
		t.Errorf("families %q", got)
	}
}

// Closing a store ends although the disk is full.
func TestClosingOnAFullDisk(t *testing.T) {
	d := newDisk()
	s := open(t, d, false)
	create(t, s, "t/a")
	d.fail(syscall.ENOSPC, ".log", false)
	ended := make(chan error, 1)
	go func() { ended <- putRow(context.Background(), s, 1) }()
	eventually(func() bool { return pebble.Waits(s) })
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, cf.ErrUnknownOutcome) {
		t.Errorf("the write that waited: %v", err)
	}
	d.heal()
	s = open(t, d, false)
	defer s.Close()
	rows(t, s, "t/a")
}

// Pebble writes the log's rows to a file as it opens, and tries for ever.
func TestOpeningOnAFullDisk(t *testing.T) {
	d := newDisk()
	s := open(t, d, false)
	create(t, s, "t/a")
	if err := putRow(t.Context(), s, 1); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, fault := range []error{syscall.ENOSPC, syscall.EIO} {
		d.fail(fault, ".sst", false)
		for range 2 {
			if _, err := pebble.Open("db", pebble.Options{FS: d}); !errors.Is(err, cf.ErrUnavailable) || !errors.Is(err, fault) {
				t.Errorf("opened for writing: %v", err)
			}
		}
		readOnly, err := pebble.Open("db", pebble.Options{FS: d, ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		if got := rows(t, readOnly, "t/a"); !got[1] {
			t.Errorf("opened for reading: %v", got)
		}
		if err := readOnly.Close(); err != nil {
			t.Error(err)
		}
		d.heal()
	}
	s = open(t, d, false)
	defer s.Close()
	if got := rows(t, s, "t/a"); !got[1] {
		t.Errorf("after it: %v", got)
	}
}

// While flushes do not keep up, a write waits until its context ends, and holds no locks.
func TestAWriteThatWaits(t *testing.T) {
	d := newDisk()
	s := open(t, d, true)
	defer s.Close()
	create(t, s, "t/a")
	release := d.hold(".sst")
	stalls := func() cf.StallStats {
		st, err := s.Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return st.Engine.Stalls
	}
	filled := make(chan error, 1)
	go func() {
		var err error
		for i := 0; err == nil && stalls().Count == 0 && stalls().State == cf.NotStalled; i++ {
			_, err = s.Write(context.Background(), nil, func(b *cf.Batch) error {
				b.Row(cf.RowID{Space: "t", Row: fmt.Sprintf("r%06d", i)})
				b.Put("t/a", "q", 1, make([]byte, 100_000))
				return nil
			})
		}
		filled <- err
	}()
	eventually(func() bool { return stalls().State == cf.Stopped })
	ctx, cancel := context.WithCancel(t.Context())
	waited := make(chan error, 1)
	go func() { waited <- putRow(ctx, s, 0) }()
	eventually(func() bool { return stalls().Waiting == 1 })
	cancel()
	var stall *cf.StallError
	if err := <-waited; !errors.As(err, &stall) || !errors.Is(err, context.Canceled) {
		t.Errorf("a write that waited: %v", err)
	}
	if err := s.PutMeta(t.Context(), "k", nil); !errors.As(err, &stall) {
		t.Errorf("an entry of the catalog: %v", err)
	}
	release()
	if err := errors.Join(<-filled, putRow(t.Context(), s, 0)); err != nil {
		t.Error(err)
	}
}

// flip damages the files of a kind.
func flip(t *testing.T, d *disk, suffix string) {
	t.Helper()
	names, err := d.files.List("db")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, suffix) {
			data, err := d.files.UnsafeGetFileDataBuffer("db/" + name)
			if err != nil {
				t.Fatal(err)
			}
			data[len(data)/3] ^= 1
		}
	}
}

// A damaged block is an error of the read that meets it, and of nothing else.
func TestADamagedFile(t *testing.T) {
	d := newDisk()
	s := open(t, d, false)
	create(t, s, "t/a")
	for i := range 1000 {
		if err := putRow(t.Context(), s, i); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(s.Flush(t.Context(), "t/a"), s.Close()); err != nil {
		t.Fatal(err)
	}
	flip(t, d, ".sst")
	s = open(t, d, false)
	defer s.Close()
	if err := s.Read(t.Context(), &cf.Scan{Family: "t/a", Rows: []cf.Range{{}}}, new(cf.Answer)); !errors.Is(err, cf.ErrCorrupt) {
		t.Errorf("a read: %v", err)
	}
	damaged := 0
	if err := s.CheckFiles(t.Context(), func(f cf.CheckedFile) error {
		if f.Err != nil {
			damaged++
			if text := f.Err.Error(); strings.Contains(text, "000000") { // the number of no file
				t.Errorf("%s: %s", f.Name, text)
			}
		}
		return nil
	}); err != nil || damaged == 0 {
		t.Errorf("a check finds %d damaged files, %v", damaged, err)
	}
	if err := putRow(t.Context(), s, 0); err != nil {
		t.Error(err)
	}
}

// A directory belongs to one store at a time.
func TestADirectoryInUse(t *testing.T) {
	dir := t.TempDir()
	s, err := pebble.Open(dir, pebble.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := pebble.Open(dir, pebble.Options{}); !errors.Is(err, cf.ErrOpenHere) {
		t.Errorf("a second one: %v", err)
	}
}

// A directory with a database of the other engine is not touched.
func TestADirectoryOfTheOtherEngine(t *testing.T) {
	fs := vfs.NewMem()
	for _, name := range []string{"db/CURRENT", "db/bulk/7"} {
		if err := fs.MkdirAll(fs.PathDir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		f, err := fs.Create(name, vfs.WriteCategoryUnspecified)
		if err = errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	before := fs.String()
	if _, err := pebble.Open("db", pebble.Options{FS: fs}); err == nil || !strings.Contains(err.Error(), "another engine") {
		t.Errorf("opened: %v", err)
	}
	if after := fs.String(); after != before {
		t.Errorf("it was\n%s\nand is\n%s", before, after)
	}
}

// A directory has one writer under every spelling of its path.
func TestOneWriterForEverySpelling(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	s, err := pebble.Open(dir, pebble.Options{})
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Skip(err)
	}
	for range 2 {
		if _, err := pebble.Open(link, pebble.Options{}); !errors.Is(err, cf.ErrOpenHere) {
			t.Errorf("through a link: %v", err)
		}
		_ = os.Remove(filepath.Join(dir, "LOCK")) // the claim is not on this file
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = pebble.Open(link, pebble.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// The directory of an open database is moved, and another database takes its place. The
// other one stays as it is, and the first one goes on when it is back.
func TestADirectoryThatIsMovedWhileItIsOpen(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a directory with open files cannot be moved there")
	}
	dir := filepath.Join(t.TempDir(), "db")
	s, err := pebble.Open(dir, pebble.Options{Memory: 8 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	create(t, s, "t/a")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(putRow(t.Context(), s, 1))
	other, err := pebble.Open(dir+".other", pebble.Options{})
	must(err)
	create(t, other, "o")
	must(other.Close())
	must(os.Rename(dir, dir+".away"))
	must(os.Rename(dir+".other", dir))
	before := listing(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	flushed := make(chan error, 1)
	go func() { flushed <- s.Flush(ctx, "t/a") }()
	eventually(func() bool {
		st, err := s.Stats(t.Context())
		return err != nil || st.Engine.Work.Errors > 0 || pebble.Waits(s)
	})
	cancel()
	if err := <-flushed; err == nil {
		t.Error("a flush has succeeded")
	}
	if after := listing(t, dir); after != before {
		t.Errorf("the other database had\n%s\nand has\n%s", before, after)
	}
	must(os.Rename(dir, dir+".other"))
	must(os.Rename(dir+".away", dir))
	eventually(func() bool { return putRow(t.Context(), s, 2) == nil })
	must(s.Flush(t.Context(), "t/a"))
	if found := rows(t, s, "t/a"); len(found) != 2 {
		t.Errorf("rows %v", found)
	}
}

func listing(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&text, e.Name(), info.Size(), info.ModTime())
	}
	return text.String()
}
