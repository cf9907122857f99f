package pebble_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/cftest"
	"github.com/smolwc/smolwc/cf/pebble"
)

func openEager(t *testing.T, fs vfs.FS) *pebble.Store {
	t.Helper()
	s, err := pebble.Open("db", pebble.Options{FS: fs, Memory: 8 << 20}.Eager())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// putAt writes cells of a column with these timestamps.
func putAt(t *testing.T, s *pebble.Store, family string, row int, timestamps ...int64) {
	t.Helper()
	_, err := s.Write(t.Context(), nil, func(b *cf.Batch) error {
		b.Row(cf.RowID{Space: "t", Row: fmt.Sprintf("r%06d", row)})
		for _, ts := range timestamps {
			b.Put(family, "q", ts, []byte("v"))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func stats(t *testing.T, s cf.Reader) cf.Stats {
	t.Helper()
	st, err := s.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func cellsOf(t *testing.T, s cf.Reader, family string) (n int) {
	t.Helper()
	got, err := cftest.Read(t.Context(), s, cf.Scan{Family: family, Rows: []cf.Range{{}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range got {
		n += len(r.Cells)
	}
	return n
}

// Expired cells go without a compaction, from memory and from files, and nothing else goes.
func TestExpiredCellsGo(t *testing.T) {
	s := openEager(t, newDisk())
	defer s.Close()
	create(t, s, "t/a", "t/b")
	const each = 3000
	for i := range each {
		for _, family := range []string{"t/a", "t/b"} {
			putAt(t, s, family, i, 50, 99, 100, 150)
		}
		if i == each/2 {
			if err := s.Flush(t.Context(), "t/a"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.KeepChanges(time.Now()); err != nil {
		t.Fatal(err)
	}
	starts, err := s.ChangeStarts()
	if err != nil {
		t.Fatal(err)
	}
	changes, err := s.Changes(starts[len(starts)-1])
	if err != nil {
		t.Fatal(err)
	}
	defer changes.Close()
	if err := s.SetExpiry("t/a", cf.Expiry{Before: 100, Period: time.Hour}); err != nil {
		t.Fatal(err)
	}
	eventually(func() bool { return cellsOf(t, s, "t/a") == 2*each })
	if n := cellsOf(t, s, "t/b"); n != 4*each {
		t.Errorf("the other family has %d cells of %d", n, 4*each)
	}
	if n := stats(t, s).Engine.Work.Expired; n != 2*each {
		t.Errorf("%d cells expired, of %d", n, 2*each)
	}
	putAt(t, s, "t/b", 0, 1)
	if c, err := changes.Next(t.Context()); c != nil || err != nil {
		t.Errorf("a change: %v, %v", c, err)
	}
}

// After the bound was lowered, what is written above it stays, although the janitor is at
// work.
func TestALoweredExpiry(t *testing.T) {
	s := openEager(t, newDisk())
	defer s.Close()
	create(t, s, "t/a")
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 300 {
		for row := range 20 {
			putAt(t, s, "t/a", row, 50)
		}
		if err := s.SetExpiry("t/a", cf.Expiry{Before: 1000 + int64(i), Period: 1}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rng.IntN(300)) * time.Microsecond) // it may have begun or not
		if err := s.SetExpiry("t/a", cf.Expiry{Before: 10, Period: 1}); err != nil {
			t.Fatal(err)
		}
		for row := range 20 {
			putAt(t, s, "t/a", row, 40)
		}
		if err := s.Compact(t.Context(), "t/a", cf.Range{}); i%100 == 0 && err != nil {
			t.Fatal(err)
		}
		found := 0
		got, err := cftest.Read(t.Context(), s, cf.Scan{Family: "t/a", Rows: []cf.Range{{}}, Filter: cf.Filter{Since: 40, Until: 41}})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range got {
			found += len(r.Cells)
		}
		if found != 20 {
			t.Fatalf("round %d: %d cells of 20 that were written after the bound was lowered", i, found)
		}
	}
}

// Closing ends a janitor at work, and one that a full disk holds up.
func TestClosingBesideTheJanitor(t *testing.T) {
	for _, full := range []bool{false, true} {
		d := newDisk()
		s := openEager(t, d)
		create(t, s, "t/a")
		for i := range 5000 {
			putAt(t, s, "t/a", i, 50)
		}
		if full {
			d.fail(syscall.ENOSPC, ".log", false)
		}
		if err := s.SetExpiry("t/a", cf.Expiry{Before: 100, Period: time.Hour}); err != nil {
			t.Fatal(err)
		}
		if full {
			eventually(func() bool { return pebble.Waits(s) })
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		d.heal()
		s = open(t, d, false)
		if n := cellsOf(t, s, "t/a"); n > 5000 {
			t.Errorf("%d cells", n)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// EndWaits ends flushes and compactions, and families are created beside them.
func TestEndWaits(t *testing.T) {
	d := newDisk()
	s := open(t, d, false)
	create(t, s, "t/a")
	if err := putRow(t.Context(), s, 0); err != nil {
		t.Fatal(err)
	}
	release := d.hold(".sst")
	ended := make(chan error, 2)
	var begun atomic.Int64
	go func() { begun.Add(1); ended <- s.Flush(t.Context(), "t/a") }()
	go func() { begun.Add(1); ended <- s.Compact(t.Context(), "t/a", cf.Range{}) }()
	eventually(func() bool { return begun.Load() == 2 && d.held.Load() > 0 })
	create(t, s, "t/b")
	s.EndWaits()
	for range 2 {
		if err := <-ended; !errors.Is(err, cf.ErrClosed) {
			t.Errorf("it ended with %v", err)
		}
	}
	release()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// A disk that calls a function when a log is about to be kept.
type keepingDisk struct {
	vfs.FS
	keeps func()
}

func (d keepingDisk) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if strings.Contains(name, "archive") {
		d.keeps()
	}
	return d.FS.Create(name, category)
}

// The last log is on its way to the kept ones while nobody wants changes: neither fails,
// and none is left.
func TestLogsAreNoLongerKeptWhileOneMoves(t *testing.T) {
	var s *pebble.Store
	var once sync.Once
	ended := make(chan error, 1)
	fs := newDisk()
	s = openEager(t, keepingDisk{fs, func() {
		once.Do(func() {
			go func() { ended <- s.KeepChanges(time.Time{}) }()
			eventually(func() bool { return !s.KeepsChanges() })
			time.Sleep(10 * time.Millisecond) // without a lock the directory would be gone by now
		})
	}})
	defer s.Close()
	create(t, s, "t/a")
	if err := s.KeepChanges(time.Now()); err != nil {
		t.Fatal(err)
	}
	for i := 0; s.KeepsChanges(); i++ {
		putAt(t, s, "t/a", i, 1)
		if err := s.Flush(t.Context(), "t/a"); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	putAt(t, s, "t/a", 0, 2)
	if names, err := fs.List("db/archive"); err == nil {
		t.Errorf("left: %v", names)
	}
}

// A disk that counts how often a directory is listed.
type listedDisk struct {
	vfs.FS
	lists *atomic.Int64
}

func (d listedDisk) List(dir string) ([]string, error) {
	d.lists.Add(1)
	return d.FS.List(dir)
}

// A reader of changes that goes through many logs does not list them all at the end of each.
func TestReadersOfManyLogsListThemOnce(t *testing.T) {
	var lists atomic.Int64
	s := open(t, listedDisk{newDisk(), &lists}, false)
	defer s.Close()
	create(t, s, "t/a")
	if err := s.KeepChanges(time.Now()); err != nil {
		t.Fatal(err)
	}
	const logs = 100
	for i := range logs {
		putAt(t, s, "t/a", i, 1)
		if err := s.Flush(t.Context(), "t/a"); err != nil { // the next commit is in another log
			t.Fatal(err)
		}
	}
	starts, err := s.ChangeStarts()
	if err != nil || len(starts) < logs/2 {
		t.Fatalf("changes begin at %d, %v", starts, err)
	}
	changes, err := s.Changes(starts[0])
	if err != nil {
		t.Fatal(err)
	}
	defer changes.Close()
	before := lists.Load()
	for {
		c, err := changes.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if c == nil {
			break
		}
	}
	if at, want := changes.Position(), starts[len(starts)-1]; at != want {
		t.Errorf("changes were read up to %d of %d", at, want)
	}
	if n := lists.Load() - before; n > logs/5 {
		t.Errorf("%d logs were read, and directories listed %d times", logs, n)
	}
}
