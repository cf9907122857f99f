package pebble_test

import (
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/cftest"
	"github.com/smolwc/smolwc/cf/pebble"
)

var (
	seed = flag.Uint64("seed", rand.Uint64(), "seed of the damage")
	long = flag.Int("long", 1, "how many times as much damage")
)

// mixed makes a database with all kinds of data: cells in files of several levels, values
// in blob files, deletes of cells and of ranges, a load, operands of merges, and cells in
// the log alone. It returns the files as a kill leaves them, and what the families have.
func mixed(t *testing.T) (killed *vfs.MemFS, want map[string]cftest.Rows) {
	t.Helper()
	disk := vfs.NewCrashableMem()
	s, err := pebble.Open("db", pebble.Options{FS: disk, FileSize: 8 << 10})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, rng := context.Background(), rand.New(rand.NewPCG(*seed, 9))
	text := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte('a' + rng.IntN(26))
		}
		return string(b)
	}
	must := func(errs ...error) {
		t.Helper()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	}
	write := func(do func(*cf.Batch)) {
		_, err := s.Write(ctx, nil, func(b *cf.Batch) error { do(b); return nil })
		must(err)
	}
	fill := func(from, n, size int) {
		write(func(b *cf.Batch) {
			for i := range n {
				b.Row(cf.RowID{Space: "t", Row: fmt.Sprintf("r%05d", from+i)})
				b.Put("t", "q", int64(rng.IntN(3)), []byte(text(size)))
				b.Put("u", "q", 1, []byte(text(200+rng.IntN(100))))
			}
		})
	}
	must(s.CreateFamily(ctx, "t"), s.CreateFamily(ctx, "u"), s.SetTuning("u", cf.Tuning{BlobMinSize: 250}))
	fill(0, 300, 40)
	must(s.Compact(ctx, "t", cf.Range{}), s.Compact(ctx, "u", cf.Range{}))
	fill(100, 100, 30)
	must(s.DropRange(ctx, []string{"t", "u"}, cf.Range{Start: "r00050", End: "r00080"}), s.Flush(ctx, "t"))
	must(cftest.LoadCell(ctx, s, "u", "s00001", "q", "loaded"))
	write(func(b *cf.Batch) {
		for i := range 20 {
			b.Row(cf.RowID{Space: "t", Row: fmt.Sprintf("r%05d", 200+i)})
			b.DeleteCell("t", "q", 1)
			b.DeleteRow("u")
		}
	})
	must(s.Flush(ctx, "t"))
	for i := range 3 {
		write(func(b *cf.Batch) {
			b.Note([]byte("a note, as a change stream has them"))
			b.Row(cf.RowID{Space: "t", Row: "sum"})
			b.Merge("t", "sum", 0, cf.MergeSum, binary.BigEndian.AppendUint64(nil, uint64(i)))
		})
		if i == 0 {
			must(s.Flush(ctx, "t"))
		}
	}
	for i := range 10 {
		fill(400+20*i, 20, 200) // over several blocks of the log
	}
	want = map[string]cftest.Rows{"t": all(t, s, "t"), "u": all(t, s, "u")}
	// At one moment, since compactions go on.
	return disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rng}), want
}

func clone(t *testing.T, disk *vfs.MemFS) *vfs.MemFS {
	t.Helper()
	to := vfs.NewMem()
	if _, err := vfs.Clone(disk, to, "db", "db"); err != nil {
		t.Fatal(err)
	}
	return to
}

func all(t *testing.T, s cf.Reader, family string) cftest.Rows {
	t.Helper()
	rows, err := cftest.Read(t.Context(), s, cf.Scan{Family: family, Rows: []cf.Range{{}}})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// named are the files of a database whose names begin or end so.
func named(t *testing.T, disk vfs.FS, kind string) (names []string) {
	t.Helper()
	all, err := disk.List("db")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range all {
		if strings.HasPrefix(name, kind) || strings.HasSuffix(name, kind) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if len(names) == 0 {
		t.Fatalf("there is no %s in %q", kind, all)
	}
	return names
}

func content(t *testing.T, disk vfs.FS, name string) []byte {
	t.Helper()
	f, err := disk.Open("db/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, info.Size())
	if len(b) > 0 {
		if _, err := f.ReadAt(b, 0); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func overwrite(t *testing.T, disk vfs.FS, name string, b []byte) {
	t.Helper()
	f, err := disk.Create("db/"+name, vfs.WriteCategoryUnspecified)
	if err == nil {
		_, err = f.Write(slices.Clone(b)) // which the file may change
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// judged reads everything in a database with a damaged file: it is right, or there
// is an error of the kind ErrCorrupt that names the file.
func judged(t *testing.T, disk *vfs.MemFS, name, what string, want map[string]cftest.Rows) (reported bool) {
	t.Helper()
	judge := func(err error) {
		t.Helper()
		reported = true
		if !errors.Is(err, cf.ErrCorrupt) {
			t.Errorf("%s: not a kind of damage: %v", what, err)
		}
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%s: it names another file: %v", what, err)
		}
	}
	s, err := pebble.Open("db", pebble.Options{FS: disk})
	if err != nil {
		judge(err)
		return reported
	}
	defer s.Close()
	if have := s.Families(); !slices.Equal(have, []string{"t", "u"}) {
		t.Errorf("%s: families %q", what, have)
		return reported
	}
	for family, rows := range want {
		got, err := cftest.Read(t.Context(), s, cf.Scan{Family: family, Rows: []cf.Range{{}}})
		if err != nil {
			judge(err)
		} else if !got.Equal(rows) {
			t.Errorf("%s: family %s has other cells, %d rows for %d, and no error", what, family, len(got), len(rows))
		}
	}
	return reported
}

// One byte of any file is changed. Then reads are right, or there is an error of the kind
// ErrCorrupt that names the file.
func TestAFlippedByteIsNeverAWrongAnswer(t *testing.T) {
	pristine, want := mixed(t)
	for kind, places := range map[string]int{".sst": 100, ".blob": 40, "MANIFEST-": 60, "CURRENT": 8, "OPTIONS-": 30, ".log": 100, "SYNCED": 20} {
		t.Run(strings.Trim(kind, "-."), func(t *testing.T) {
			t.Parallel()
			rng, names := rand.New(rand.NewPCG(*seed, uint64(len(kind)))), named(t, pristine, kind)
			reported := 0
			for range places * *long / slow {
				disk, name := clone(t, pristine), names[rng.IntN(len(names))]
				b := content(t, disk, name)
				if len(b) == 0 {
					continue
				}
				at, bits := rng.IntN(len(b)), byte(1)<<rng.IntN(8)
				if rng.IntN(2) == 0 { // in the part that describes the rest
					at = max(0, len(b)-1-rng.IntN(2500))
				}
				b[at] ^= bits
				overwrite(t, disk, name, b)
				if judged(t, disk, name, fmt.Sprintf("seed %d: %s, byte %d of %d xor %02x", *seed, name, at, len(b), bits), want) {
					reported++
				}
			}
			t.Logf("%d of %d reported", reported, places**long)
		})
	}
}

// A file that was cut off anywhere, or that is gone, is an error, or everything is there.
// The last log may end anywhere behind what SYNCED says of it.
func TestACutFileIsFound(t *testing.T) {
	pristine, want := mixed(t)
	logs := named(t, pristine, ".log")
	for _, kind := range []string{".sst", ".blob", "MANIFEST-", "CURRENT", "OPTIONS-", "SYNCED", "marker.", ".log"} {
		t.Run(strings.Trim(kind, "-."), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(*seed, 3))
			for _, name := range named(t, pristine, kind) {
				if name == logs[len(logs)-1] {
					continue
				}
				b := content(t, pristine, name)
				for n := range 5 * *long {
					disk := clone(t, pristine)
					what := fmt.Sprintf("seed %d: %s is gone", *seed, name)
					if n == 0 {
						if err := disk.Remove("db/" + name); err != nil {
							t.Fatal(err)
						}
					} else {
						at := rng.IntN(len(b) + 1)
						what = fmt.Sprintf("seed %d: %s, cut off at %d of %d", *seed, name, at, len(b))
						overwrite(t, disk, name, b[:at])
					}
					judged(t, disk, strings.TrimRight(name, "0123456789.MANIFEST-"), what, want)
				}
			}
		})
	}
}

// lastRows is the number of the rows of the last writes of mixed.
func lastRows(rows cftest.Rows) (n int) {
	for _, r := range rows {
		if r.Key >= "r00400" && r.Key < "s" {
			n++
		}
	}
	return n
}

// The last log is cut off. Within its synced part that is an error, and after it the
// database opens with all whole batches.
func TestTheLastLogIsCutOff(t *testing.T) {
	pristine, _ := mixed(t)
	logs := named(t, pristine, ".log")
	name := logs[len(logs)-1]
	b, rng := content(t, pristine, name), rand.New(rand.NewPCG(*seed, 4))
	seen := map[int]bool{}
	for range 60 * *long / slow {
		at := rng.IntN(len(b) + 1)
		disk := clone(t, pristine)
		tail := b[:at]
		if rng.IntN(3) == 0 { // a loss of power leaves zeros
			tail = append(tail[:at:at], make([]byte, 512-at%512+512*rng.IntN(100))...)
		}
		overwrite(t, disk, name, tail)
		s, err := pebble.Open("db", pebble.Options{FS: disk})
		if err != nil {
			t.Fatalf("seed %d: cut off at %d of %d, then %d zeros: %v", *seed, at, len(b), len(tail)-at, err)
		}
		has, also := lastRows(all(t, s, "t")), lastRows(all(t, s, "u"))
		if seen[has] = true; has%20 != 0 || has != also {
			t.Errorf("seed %d: cut off at %d of %d: %d rows in a family and %d in the other one", *seed, at, len(b), has, also)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if slow == 1 && len(seen) < 3 {
		t.Errorf("numbers of rows %v", seen)
	}
	s, err := pebble.Open("db", pebble.Options{FS: pristine})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range named(t, pristine, ".log") { // now SYNCED has its length
		b := content(t, pristine, name)
		for range 20 {
			disk, at := clone(t, pristine), rng.IntN(len(b))
			overwrite(t, disk, name, b[:at])
			if _, err := pebble.Open("db", pebble.Options{FS: disk}); !errors.Is(err, cf.ErrCorrupt) || !strings.Contains(err.Error(), name) {
				t.Errorf("seed %d: %s, cut off at %d of %d: %v", *seed, name, at, len(b), err)
			}
		}
	}
}

// One byte of a log that is kept for its changes is changed. Then the changes are right, or
// there is an error of the kind ErrCorrupt that names the log.
func TestDamageInTheLogOfChanges(t *testing.T) {
	disk := vfs.NewMem()
	s, err := pebble.Open("db", pebble.Options{FS: disk})
	if err != nil {
		t.Fatal(err)
	}
	must := func(errs ...error) {
		t.Helper()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	}
	must(s.KeepChanges(time.Now().Add(-time.Hour)), s.CreateFamily(t.Context(), "t"))
	starts, err := s.ChangeStarts()
	must(err)
	const writes = 60
	for i := range writes {
		_, err := s.Write(t.Context(), nil, func(b *cf.Batch) error {
			b.Note(fmt.Append(nil, i))
			b.Row(cf.RowID{Space: "t", Row: fmt.Sprintf("r%05d", i)})
			b.Put("t", "q", 1, []byte(strings.Repeat("v", 50*i)))
			return nil
		})
		must(err)
		if i%20 == 19 {
			must(s.Flush(t.Context(), "t"))
		}
	}
	must(s.Close())
	names, err := disk.List("db/archive")
	must(err)
	names = slices.DeleteFunc(names, func(name string) bool { return !strings.HasSuffix(name, ".log") })
	if len(names) < 2 {
		t.Fatalf("logs %q", names)
	}
	// A log is cut off, also between two records, or ends with a record that seems longer.
	whole := content(t, disk, "archive/"+names[0])
	for at := 97; at < len(whole)-20; at += 97 {
		damaged := clone(t, disk)
		overwrite(t, damaged, "archive/"+names[0], whole[:at])
		s, err := pebble.Open("db", pebble.Options{FS: damaged})
		must(err)
		if n, err := notesAfter(s, starts[0]); !errors.Is(err, cf.ErrCorrupt) || !strings.Contains(err.Error(), names[0]) {
			t.Errorf("%s of %d bytes, cut at %d: %d changes, %v", names[0], len(whole), at, n, err)
		}
		must(s.Close())
	}
	rng, reported := rand.New(rand.NewPCG(*seed, 5)), 0
	for range 150 * *long / slow {
		damaged, name := clone(t, disk), "archive/"+names[rng.IntN(len(names))]
		b := content(t, damaged, name)
		at := rng.IntN(len(b))
		b[at] ^= 1 << rng.IntN(8)
		overwrite(t, damaged, name, b)
		what := fmt.Sprintf("seed %d: %s, changed at %d", *seed, name, at)
		s, err := pebble.Open("db", pebble.Options{FS: damaged})
		must(err)
		n, err := notesAfter(s, starts[0])
		switch {
		case errors.Is(err, cf.ErrCorrupt) && strings.Contains(err.Error(), strings.TrimPrefix(name, "archive/")):
			reported++
		case err != nil:
			t.Errorf("%s: %v", what, err)
		case n != writes:
			t.Errorf("%s: %d changes, and no error", what, n)
		}
		must(s.Close())
	}
	t.Logf("%d of %d reported", reported, 150**long)
}

// notesAfter reads all changes, whose notes have to be the numbers from 0.
func notesAfter(s *pebble.Store, after cf.Position) (n int, err error) {
	c, err := s.Changes(after)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	for {
		k, err := c.Next(context.Background())
		if err != nil || k == nil {
			return n, err
		}
		for _, op := range k.Ops {
			if op.Kind == cf.OpNote && string(op.Value) != fmt.Sprint(n) {
				return n, fmt.Errorf("change %s comes after %d", op.Value, n-1)
			}
		}
		n++
	}
}

// Without SYNCED nothing says that the manifest is complete: then table files that it does
// not name are moved aside. Those that it names are not, also when a compaction removes them.
func TestStraysAreMovedAside(t *testing.T) {
	pristine, want := mixed(t)
	closed, err := pebble.Open("db", pebble.Options{FS: pristine}) // which removes what compactions had left
	if err != nil {
		t.Fatal(err)
	}
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	strays := func(disk vfs.FS) int {
		names, _ := disk.List("db/strays") // which may not be there
		return len(names)
	}
	whole := clone(t, pristine)
	if err := whole.Remove("db/SYNCED"); err != nil {
		t.Fatal(err)
	}
	s, err := pebble.Open("db", pebble.Options{FS: whole})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Compact(t.Context(), "t", cf.Range{}), s.Compact(t.Context(), "u", cf.Range{}), s.Close()); err != nil {
		t.Fatal(err)
	}
	if n := strays(whole); n > 0 {
		t.Errorf("%d files that the manifest names were moved aside", n)
	}
	lost := clone(t, pristine)
	overwrite(t, lost, "999999.sst", []byte("a table that a cut manifest does not name"))
	if err := lost.Remove("db/SYNCED"); err != nil {
		t.Fatal(err)
	}
	if s, err = pebble.Open("db", pebble.Options{FS: lost}); err != nil {
		t.Fatal(err)
	}
	if got := all(t, s, "t"); !got.Equal(want["t"]) {
		t.Error("other rows")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if n := strays(lost); n != 1 {
		t.Errorf("%d files were moved aside, want 1", n)
	}
}
