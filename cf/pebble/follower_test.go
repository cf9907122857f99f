package pebble_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/cftest"
	"github.com/smolwc/smolwc/cf/pebble"
)

// busily writes rows one after the other until it has written n, and counts them as they
// are acknowledged. Memtables are flushed and files compacted meanwhile, and some rows are loaded.
func busily(ctx context.Context, s *pebble.Store, n int, acked *atomic.Int64) error {
	for i := range n {
		var err error
		switch {
		case i%97 == 5:
			err = cftest.LoadCell(ctx, s, "t/a", fmt.Sprintf("r%06d", i), "q", "v")
		case i%61 == 3:
			err = errors.Join(s.Compact(ctx, "t/a", cf.Range{}), putRow(ctx, s, i))
		case i%23 == 1:
			err = errors.Join(s.Flush(ctx, "t/a"), putRow(ctx, s, i))
		default:
			err = putRow(ctx, s, i)
		}
		if err != nil {
			return err
		}
		acked.Add(1)
	}
	return nil
}

func refresh(t *testing.T, f *pebble.Follower) {
	t.Helper()
	if err := f.Refresh(t.Context(), func(cf.Snapshot, []string) error { return nil }); err != nil {
		t.Fatal(err)
	}
}

// A reader beside a busy writer sees each write that was acknowledged before Refresh, and
// its older snapshots stay as they are.
func TestReaderBesideAWriter(t *testing.T) {
	for name, fs := range map[string]vfs.FS{"on disk": nil, "in files in memory": vfs.NewMem()} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s, err := pebble.Open(dir, pebble.Options{FS: fs, Memory: 8 << 20})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			create(t, s, "t/a")
			f, err := pebble.OpenFollower(dir, pebble.Options{FS: fs, Memory: 8 << 20})
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			const all = 600
			var acked atomic.Int64
			written := make(chan error, 1)
			go func() { written <- busily(context.Background(), s, all, &acked) }()
			old, err := f.Snapshot(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			had := 0
			for seen := 0; seen < all; {
				n := int(acked.Load())
				refresh(t, f)
				found := rows(t, f, "t/a")
				for i := range n {
					if !found[i] {
						t.Fatalf("row %d of %d acknowledged rows is missing; there are %d", i, n, len(found))
					}
				}
				again, _, err := cftest.Collect(t.Context(), old, cf.Scan{Family: "t/a", Rows: []cf.Range{{}}})
				if err != nil || len(again) != had {
					t.Fatalf("an older snapshot has %d rows, and had %d: %v", len(again), had, err)
				}
				old.Close()
				if old, err = f.Snapshot(t.Context()); err != nil {
					t.Fatal(err)
				}
				had, seen = len(found), n
			}
			old.Close()
			if err := <-written; err != nil {
				t.Error(err)
			}
			create(t, s, "t/b")
			refresh(t, f)
			if got := f.Families(); len(got) != 2 {
				t.Errorf("families %q", got)
			}
		})
	}
}

// followOrders refreshes and reads at each line, and says how many rows there are, from the
// first on without a gap.
func followOrders(dir string) error {
	f, err := pebble.OpenFollower(dir, pebble.Options{Memory: 8 << 20})
	if err != nil {
		return err
	}
	ctx := context.Background()
	for orders := bufio.NewScanner(os.Stdin); orders.Scan(); {
		if err := f.Refresh(ctx, func(cf.Snapshot, []string) error { return nil }); err != nil {
			return err
		}
		got, err := cftest.Read(ctx, f, cf.Scan{Family: "t/a", Rows: []cf.Range{{}}})
		if err != nil {
			return err
		}
		n := 0
		for n < len(got) && got[n].Key == fmt.Sprintf("r%06d", n) {
			n++
		}
		fmt.Println(n)
	}
	return f.Close()
}

// The same in two processes.
func TestReaderInAnotherProcess(t *testing.T) {
	dir := t.TempDir()
	s, err := pebble.Open(dir, pebble.Options{Memory: 8 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	create(t, s, "t/a")
	c := exec.Command(os.Args[0], "-test.run=^$")
	c.Env = append(os.Environ(), followChild+"="+dir)
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	const all = 300
	var acked atomic.Int64
	written := make(chan error, 1)
	go func() { written <- busily(context.Background(), s, all, &acked) }()
	answers := bufio.NewScanner(out)
	for seen := int64(0); seen < all; {
		n := acked.Load()
		if _, err := io.WriteString(in, "read\n"); err != nil {
			t.Fatal(err)
		}
		if !answers.Scan() {
			t.Fatal("the reader has ended")
		}
		var found int64
		if _, err := fmt.Sscan(answers.Text(), &found); err != nil {
			t.Fatalf("the reader says %q", answers.Text())
		}
		if found < n {
			t.Fatalf("the reader has %d rows of %d that were acknowledged", found, n)
		}
		seen = n
	}
	if err := errors.Join(<-written, in.Close(), c.Wait()); err != nil {
		t.Error(err)
	}
}

// A reader writes nothing and takes no lock, beside a writer and without one.
func TestAReaderWritesNothing(t *testing.T) {
	d := newDisk()
	s := open(t, d, false)
	create(t, s, "t/a")
	for i := range 10 {
		if err := putRow(t.Context(), s, i); err != nil {
			t.Fatal(err)
		}
	}
	read := func() {
		t.Helper()
		fault := func(op errorfs.Op) error {
			if op.Kind.ReadOrWrite() == errorfs.OpIsWrite || op.Kind == errorfs.OpLock {
				return syscall.EROFS
			}
			return nil
		}
		d.fault.Store(&fault)
		defer d.heal()
		f, err := pebble.OpenFollower("db", pebble.Options{FS: d, Memory: 8 << 20})
		if err != nil {
			t.Fatal(err)
		}
		refresh(t, f)
		if found := rows(t, f, "t/a"); len(found) != 10 {
			t.Errorf("rows %v", found)
		}
		if err := f.CheckFiles(t.Context(), func(f cf.CheckedFile) error { return f.Err }); err != nil {
			t.Error(err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if _, err := f.Snapshot(t.Context()); !errors.Is(err, cf.ErrClosed) {
			t.Errorf("a snapshot after Close: %v", err)
		}
	}
	read()
	if err := s.Flush(t.Context(), "t/a"); err != nil {
		t.Fatal(err)
	}
	read()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	read()
}

// A directory without a database is an error of its kind, and stays as it is.
func TestAReaderOfNoDatabase(t *testing.T) {
	fs := vfs.NewMem()
	if _, err := pebble.OpenFollower("none", pebble.Options{FS: fs}); !errors.Is(err, cf.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
	if err := fs.MkdirAll("empty", 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := pebble.OpenFollower("empty", pebble.Options{FS: fs}); !errors.Is(err, cf.ErrNotExist) {
		t.Errorf("an empty directory: %v", err)
	}
	s, err := pebble.Open("new", pebble.Options{FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := pebble.OpenFollower("new", pebble.Options{FS: fs}); !errors.Is(err, pebble.ErrCreating) {
		t.Errorf("a database without a catalog: %v", err)
	}
	names, err := fs.List("empty")
	if err != nil || len(names) > 0 {
		t.Errorf("the empty directory has %q, %v", names, err)
	}
	names, err = fs.List("")
	if err != nil || strings.Contains(strings.Join(names, " "), "none") {
		t.Errorf("there are %q, %v", names, err)
	}
}

// A reader that is closed is not opened again, although the files have changed since.
func TestClosedReaderIsNotRefreshed(t *testing.T) {
	fs := vfs.NewMem()
	s, err := pebble.Open("db", pebble.Options{FS: fs, Memory: 8 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	create(t, s, "t/a")
	f, err := pebble.OpenFollower("db", pebble.Options{FS: fs, Memory: 8 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Close(), putRow(t.Context(), s, 1), s.Flush(t.Context(), "t/a")); err != nil {
		t.Fatal(err)
	}
	if err := f.Refresh(t.Context(), func(cf.Snapshot, []string) error { return nil }); !errors.Is(err, cf.ErrClosed) {
		t.Error(err)
	}
}

// A hookFS calls functions before a file is opened or created.
type hookFS struct {
	vfs.FS
	opens, creates func(name string)
}

func (f hookFS) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	f.opens(name)
	return f.FS.Open(name, opts...)
}

func (f hookFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f.creates(name)
	return f.FS.Create(name, category)
}

// A log that ends between a reader's look at its length and at SYNCED was called cut off.
func TestALogEndsWhileAReaderOpens(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	hold := make(chan struct{}) // flushes wait before their files, so that the manifest stays
	s, err := pebble.Open(dir, pebble.Options{Memory: 8 << 20, FS: hookFS{vfs.Default, func(string) {}, func(name string) {
		if strings.HasSuffix(name, ".sst") {
			<-hold
		}
	}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	create(t, s, "t/a")
	write := func(i int) {
		t.Helper()
		if err := putRow(ctx, s, i); err != nil {
			t.Fatal(err)
		}
	}
	write(0)
	said := func() string {
		text, err := os.ReadFile(dir + "/SYNCED")
		if err != nil {
			t.Error(err)
		}
		return string(text)
	}
	flushed := make(chan error, 1)
	opened := 0
	f, err := pebble.OpenFollower(dir, pebble.Options{Memory: 8 << 20, FS: hookFS{vfs.Default, func(name string) {
		if !strings.HasSuffix(name, "/SYNCED") {
			return
		}
		if opened++; opened == 3 {
			write(1)
			before := said()
			go func() { flushed <- s.Flush(ctx, "t/a") }()
			for said() == before {
				runtime.Gosched()
			}
		}
	}, func(string) {}}})
	close(hold)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if found := rows(t, f, "t/a"); !found[0] {
		t.Errorf("there are the rows %v", found)
	}
	if err := <-flushed; err != nil {
		t.Error(err)
	}
}

// A creation that stopped after its first file, say without descriptors, is one that an
// open for writing finishes.
func TestACreationThatStoppedAtItsFirstFile(t *testing.T) {
	fs := vfs.NewMem()
	if err := fs.MkdirAll("db", 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := fs.Create("db/CURRENT", vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte(pebble.Current)); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := pebble.OpenFollower("db", pebble.Options{FS: fs}); !errors.Is(err, pebble.ErrCreating) {
		t.Errorf("a reader: %v", err)
	}
	s, err := pebble.Open("db", pebble.Options{FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
