//go:build cgo && linux && !norocksdb

package rocks

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/bulk"
	"github.com/smolwc/smolwc/cf/internal/wal"
	"github.com/smolwc/smolwc/cf/rocks/internal/recovery"
)

// A writer makes databases of many logs: families t and u have the same rows, and v,
// which is never flushed, keeps the logs.
type writer struct {
	t *testing.T
	*Store
	rows int
}

func newWriter(t *testing.T, o Options) *writer {
	t.Helper()
	o.Memory = 8 << 20
	s, err := Open(filepath.Join(shm(t), "db"), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	w := &writer{t: t, Store: s}
	w.must(s.CreateFamily(t.Context(), "t", "u", "v"))
	return w
}

func (w *writer) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// put writes a row into all families.
func (w *writer) put(size int) {
	w.t.Helper()
	row := fmt.Sprintf("%06d", w.rows)
	w.rows++
	_, err := w.Write(w.t.Context(), nil, func(b *cf.Batch) error {
		b.Row(cf.RowID{Space: "t", Row: row})
		b.Put("t", "q", 1, []byte(row+strings.Repeat("x", size)))
		b.Put("u", "q", 1, []byte(row))
		b.Put("v", "q", 1, []byte(row))
		return nil
	})
	w.must(err)
}

func (w *writer) flush() {
	w.t.Helper()
	w.must(w.Flush(w.t.Context(), "t"))
}

// load loads a row into t and u. This takes sequence numbers that are not in the logs.
func (w *writer) load() {
	w.t.Helper()
	ctx := w.t.Context()
	snap, err := w.Snapshot(ctx) // has the engine number the files' cells
	w.must(err)
	defer snap.Close()
	in, err := w.Ingest(ctx)
	w.must(err)
	defer in.Close()
	sorter := bulk.NewSorter(2, 1<<20, in.TempDir(), in.Merge)
	defer sorter.Close()
	row := fmt.Sprintf("%06d", w.rows)
	w.rows++
	sorter.Row(row)
	for i := range 2 {
		sorter.Group(i)
		sorter.Value(append(sorter.Cell("q", 1), row...), true)
		sorter.EndGroup()
	}
	sorted, err := sorter.Finish(ctx)
	w.must(err)
	for _, part := range sorted.Parts(1) {
		run, err := in.Run(ctx, []string{"t", "u"}[part.Family])
		w.must(err)
		w.must(part.Each(ctx, func(c cf.CellGroups) error { return run.Write(ctx, c) }))
		w.must(run.Close())
	}
	_, err = in.Commit(ctx, cf.Range{}, nil)
	w.must(err)
}

// copied is the database as a kill would leave it now.
func (w *writer) copied() string {
	w.t.Helper()
	to := filepath.Join(shm(w.t), "db")
	copyDir(w.t, w.dir, to)
	return to
}

// rowsOf opens a database and counts the rows of both families.
func rowsOf(dir string, o Options) (t, u int, err error) {
	s, err := Open(dir, o)
	if err != nil {
		return 0, 0, err
	}
	defer s.Close()
	count := func(family string) (n int) {
		var a cf.Answer
		err = errors.Join(err, s.Read(context.Background(), &cf.Scan{Family: family, Rows: []cf.Range{{}}}, &a))
		for b := range a.Blocks() {
			n += len(b.Cells)
		}
		return n
	}
	return count("t"), count("u"), err
}

// boundaries are the places in a log, or in a manifest, between its records.
func boundaries(b []byte) (at []int) {
	for i := 0; i+wal.HeaderSize <= len(b); {
		if wal.BlockSize-i%wal.BlockSize < wal.HeaderSize {
			i += wal.BlockSize - i%wal.BlockSize
			continue
		}
		at = append(at, i)
		i += wal.HeaderSize + int(binary.LittleEndian.Uint16(b[i+4:]))
	}
	return append(at, len(b))
}

// cuts are all boundaries, and random other places.
func cuts(b []byte, others int) []int {
	rng := rand.New(rand.NewPCG(1, uint64(len(b))))
	at := boundaries(b)
	for range others {
		at = append(at, rng.IntN(len(b)))
	}
	slices.Sort(at)
	return slices.Compact(at[:len(at)-1])
}

// cutDatabase makes a database with several logs and loads between them, and returns
// the logs. It was not closed.
func cutDatabase(t *testing.T) (dir string, rows int, logs []string) {
	t.Helper()
	w := newWriter(t, Options{})
	for i := range 4 {
		for j := range 5 {
			w.put(200 * j)
		}
		if i%2 == 1 {
			w.load()
			w.put(10)
		}
		w.flush()
	}
	w.put(100)
	dir = w.copied()
	logs, _ = filepath.Glob(filepath.Join(dir, "*.log"))
	slices.SortFunc(logs, wal.ByNumber)
	if len(logs) < 4 {
		t.Fatalf("logs %q", logs)
	}
	return dir, w.rows, logs
}

// refused expects that a database opens neither for writing nor for reading, that the
// error names one of its files, and that no file has changed.
func refused(t *testing.T, dir, what, name string) {
	t.Helper()
	before, _ := filepath.Glob(filepath.Join(dir, "*.*"))
	for _, o := range []Options{{ReadOnly: true}, {}} {
		_, _, err := rowsOf(dir, o)
		if !errors.Is(err, cf.ErrCorrupt) || !strings.Contains(err.Error(), name) {
			t.Fatalf("%s, opened with %+v: %v", what, o, err)
		}
	}
	if after, _ := filepath.Glob(filepath.Join(dir, "*.*")); !slices.Equal(before, after) {
		t.Errorf("%s: the files are now %q", what, after)
	}
}

func overwrite(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// A log that was cut off anywhere, emptied or removed is an error if another log
// follows: its changes are missing in the middle. This also holds without SYNCED,
// except for a first log that is missing completely, and for changes right after the
// marker of a load.
func TestACutLogIsFound(t *testing.T) {
	dir, rows, logs := cutDatabase(t)
	if has, also, err := rowsOf(copyOf(t, dir), Options{}); err != nil || has != rows || also != rows {
		t.Fatalf("uncut, %d and %d rows of %d: %v", has, also, rows, err)
	}
	said := filepath.Join(dir, wal.SyncedFile)
	text, err := os.ReadFile(said)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for i, log := range logs[:len(logs)-1] {
		pristine, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(log)
		for _, at := range cuts(pristine, 20) {
			n++
			overwrite(t, log, pristine[:at])
			refused(t, dir, fmt.Sprintf("%s of %d bytes cut at %d", name, len(pristine), at), name)
			if state, err := wal.Check(log, recovery.MarkerPrefix); i == 0 && at == 0 || err == nil && state.Loading {
				continue
			}
			if err := os.Remove(said); err != nil {
				t.Fatal(err)
			}
			refused(t, dir, fmt.Sprintf("%s of %d bytes cut at %d, with no %s", name, len(pristine), at, wal.SyncedFile), ".log")
			overwrite(t, said, text)
		}
		if err := os.Remove(log); err != nil {
			t.Fatal(err)
		}
		refused(t, dir, name+" removed", name)
		overwrite(t, log, pristine)
	}
	t.Logf("%d cuts", n)
}

// The first write to a log failed on a full disk, and the next write went to another
// log: no change is missing.
func TestALogWhoseFirstWriteFailed(t *testing.T) {
	dir, rows, logs := cutDatabase(t)
	next, err := os.ReadFile(logs[1])
	if err != nil {
		t.Fatal(err)
	}
	number := 0
	if _, err := fmt.Sscanf(filepath.Base(logs[0]), "%d.log", &number); err != nil {
		t.Fatal(err)
	}
	failed := filepath.Join(dir, fmt.Sprintf("%06d.log", number+1))
	if _, err := os.Stat(failed); err == nil {
		t.Fatalf("%s is there", failed)
	}
	overwrite(t, failed, next[:30])
	if has, also, err := rowsOf(copyOf(t, dir), Options{}); err != nil || has != rows || also != rows {
		t.Errorf("%d and %d rows of %d: %v", has, also, rows, err)
	}
	overwrite(t, logs[1], nil)
	refused(t, dir, "and the next log is empty", filepath.Base(logs[1]))
}

// The last log may end anywhere after its synced length.
func TestTheLastLogIsCutOff(t *testing.T) {
	w := newWriter(t, Options{})
	for range 3 {
		w.put(20)
	}
	w.flush()
	for range 3 {
		w.put(20)
	}
	w.must(w.CreateFamily(t.Context(), "w")) // the manifest is synced, and the log up to here
	for range 3 {
		w.put(20)
	}
	dir := w.copied()
	logs, _ := filepath.Glob(filepath.Join(dir, "*.log"))
	log := slices.MaxFunc(logs, wal.ByNumber)
	pristine, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	said, err := recovery.ReadSynced(dir)
	if err != nil {
		t.Fatal(err)
	}
	wrote := said.Files[filepath.Base(log)]
	if wrote == 0 || wrote >= int64(len(pristine)) {
		t.Fatalf("of %d bytes of %s %d are said to be synced", len(pristine), log, wrote)
	}
	for _, at := range cuts(pristine, 10) {
		overwrite(t, log, pristine[:at])
		if int64(at) < wrote {
			refused(t, dir, fmt.Sprintf("cut at %d of %d, %d are said to be synced", at, len(pristine), wrote), filepath.Base(log))
			continue
		}
		if has, also, err := rowsOf(copyOf(t, dir), Options{}); err != nil || has < 6 || has != also {
			t.Errorf("cut at %d of %d: %d and %d rows, %v", at, len(pristine), has, also, err)
		}
	}
}

// A manifest that was cut off anywhere is an error.
func TestACutManifestIsFound(t *testing.T) {
	dir, rows, _ := cutDatabase(t)
	manifests, _ := filepath.Glob(filepath.Join(dir, "MANIFEST-*"))
	if len(manifests) != 1 {
		t.Fatalf("manifests %q", manifests)
	}
	pristine, err := os.ReadFile(manifests[0])
	if err != nil {
		t.Fatal(err)
	}
	// A compaction may have written on while the directory was copied.
	synced, err := recovery.ReadSynced(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := cuts(pristine[:synced.Files[filepath.Base(manifests[0])]], 100)
	for _, at := range all {
		overwrite(t, manifests[0], pristine[:at])
		refused(t, dir, fmt.Sprintf("cut at %d of %d", at, len(pristine)), filepath.Base(manifests[0]))
	}
	t.Logf("%d cuts", len(all))

	// If nothing says how long the manifest was, the table files that it does not name
	// stay.
	tables, _ := filepath.Glob(filepath.Join(dir, "*.sst"))
	if err := os.Remove(filepath.Join(dir, wal.SyncedFile)); err != nil {
		t.Fatal(err)
	}
	spared := 0
	for i := len(all) - 1; i >= 0; i -= 4 {
		overwrite(t, manifests[0], pristine[:all[i]])
		opened := copyOf(t, dir)
		has, _, err := rowsOf(opened, Options{})
		if err != nil {
			continue
		}
		named := tablesOf(t, copyOf(t, dir))
		for _, path := range tables {
			if named[filepath.Base(path)] { // a compaction may have replaced it since
				continue
			}
			_, there := os.Stat(filepath.Join(opened, filepath.Base(path)))
			_, aside := os.Stat(filepath.Join(opened, straysDir, filepath.Base(path)))
			if there != nil && aside != nil {
				t.Errorf("cut at %d: %s is gone", all[i], filepath.Base(path))
			}
			if aside == nil {
				spared++
			}
		}
		if _, err := os.Stat(filepath.Join(opened, wal.SyncedFile)); err != nil {
			t.Errorf("opened, and %v", err)
		}
		os.RemoveAll(opened)
		_ = has
	}
	if spared == 0 {
		t.Error("no table file was moved aside")
	}
	overwrite(t, manifests[0], pristine)
	if has, also, err := rowsOf(dir, Options{}); err != nil || has != rows || also != rows {
		t.Errorf("uncut, %d and %d rows of %d: %v", has, also, rows, err)
	}
}

// tablesOf are the names of the table files that a manifest names.
func tablesOf(t *testing.T, dir string) map[string]bool {
	t.Helper()
	s, err := Open(dir, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	names := map[string]bool{}
	for _, f := range s.db.GetLiveFilesMetaData() {
		names[filepath.Base(f.Name)] = true
	}
	return names
}

// copyOf is a copy of a database.
func copyOf(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(shm(t), "db")
	copyDir(t, dir, to)
	return to
}

// The file SYNCED counts only for the manifest that it names: an older smolwc without
// this file, or a tool, may have opened the database since and removed logs.
func TestWhatWasSyncedBeforeAnotherOpenedDoesNotCount(t *testing.T) {
	dir, rows, _ := cutDatabase(t)
	text, err := os.ReadFile(filepath.Join(dir, wal.SyncedFile))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if has, also, err := rowsOf(dir, Options{}); err != nil || has != rows || also != rows {
			t.Fatalf("%d and %d rows of %d: %v", has, also, rows, err)
		}
		overwrite(t, filepath.Join(dir, wal.SyncedFile), text)
	}
}

// A file SYNCED with a changed byte is an error that says what to do. Without the file,
// the database opens.
func TestADamagedFileOfWhatWasSynced(t *testing.T) {
	w := newWriter(t, Options{})
	w.put(10)
	dir := w.copied()
	path := filepath.Join(dir, wal.SyncedFile)
	pristine, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := range pristine {
		b := slices.Clone(pristine)
		b[at] ^= 1 << (at % 8)
		overwrite(t, path, b)
		if _, err := recovery.Check(dir); !errors.Is(err, cf.ErrCorrupt) || !strings.Contains(err.Error(), path) {
			t.Errorf("byte %d: %v", at, err)
		}
	}
	refused(t, dir, "damaged", wal.SyncedFile)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if has, _, err := rowsOf(dir, Options{}); err != nil || has != 1 {
		t.Errorf("%d rows, %v", has, err)
	}
}

// A log whose changes are all in table files may be there after a crash, although a
// later log was removed: logs are not removed in order. It is not damage.
func TestAnObsoleteLogWhoseSuccessorIsGone(t *testing.T) {
	w := newWriter(t, Options{})
	logs := func(dir string) []string {
		paths, err := filepath.Glob(filepath.Join(dir, "*.log"))
		w.must(err)
		return paths
	}
	w.put(10)
	first := logs(w.dir)
	if len(first) != 1 {
		t.Fatalf("there are logs %v", first)
	}
	content, err := os.ReadFile(first[0])
	w.must(err)
	for range 2 {
		for _, family := range []string{"t", "u", "v"} {
			w.must(w.Flush(t.Context(), family))
		}
		w.put(10)
	}
	for slices.Contains(logs(w.dir), first[0]) { // it is removed in the background
		time.Sleep(time.Millisecond)
	}
	dir := w.copied()
	w.must(os.WriteFile(filepath.Join(dir, filepath.Base(first[0])), content, 0o644))
	if a, b, err := rowsOf(dir, Options{}); err != nil || a != 3 || b != 3 {
		t.Errorf("%d and %d rows, %v", a, b, err)
	}
}
