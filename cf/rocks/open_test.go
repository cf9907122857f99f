//go:build cgo && linux && !norocksdb

package rocks_test

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/linxGnu/grocksdb"
	"go.uber.org/goleak"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/cftest"
	"github.com/smolwc/smolwc/cf/rocks"
)

// childDir makes the test binary a child that writes to a database.
const childDir = "SMOLWC_TEST_CHILD_DIR"

// otherProgram is the prefix of childDir for a child that uses RocksDB without smolwc.
const otherProgram = "other:"

func TestMain(m *testing.M) {
	if dir, ok := strings.CutPrefix(os.Getenv(childDir), otherProgram); ok {
		other(dir)
		return
	} else if dir != "" {
		child(dir)
		return
	}
	// Each history of the model opens a database; -rapid.checks makes more of them.
	if err := flag.Set("rapid.checks", "20"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// child writes the rows w0, w1, ... one after another. It prints each to its standard
// output, and continues until it is killed.
func child(dir string) {
	s, err := rocks.Open(dir, rocks.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := s.CreateFamily(context.Background(), "t"); err != nil {
		fmt.Println(err)
		return
	}
	for i := 0; ; i++ {
		if err := put(s, fmt.Sprintf("w%d q@1=v", i)); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("wrote w%d\n", i)
	}
}

// other opens a database with RocksDB alone, prints that, and keeps it open until it is
// killed.
func other(dir string) {
	db, err := openAlone(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	fmt.Println("open")
	select {}
}

// openAlone opens a database without smolwc's claim.
func openAlone(dir string) (*grocksdb.DB, error) {
	opts := grocksdb.NewDefaultOptions()
	defer opts.Destroy()
	opts.SetCreateIfMissing(true)
	return grocksdb.OpenDb(opts, dir)
}

// spawn starts a child and waits until it has printed n lines.
func spawn(t *testing.T, dir string, n int) (said []string, kill func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childDir+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for len(said) < n && lines.Scan() {
		said = append(said, lines.Text())
	}
	if len(said) < n {
		t.Fatalf("the child said only %q", said)
	}
	return said, func() {
		cmd.Process.Kill()
		for lines.Scan() { // all output until then is true
			said = append(said, lines.Text())
		}
		cmd.Wait()
	}
}

func put(s cf.Store, rows string) error {
	_, err := s.Write(context.Background(), nil, func(b *cf.Batch) error {
		for _, r := range cftest.ParseRows(rows) {
			b.Row(cf.RowID{Space: "t", Row: r.Key})
			for _, c := range r.Cells {
				b.Put("t", c.Qualifier, c.Timestamp, []byte(c.Value))
			}
		}
		return nil
	})
	return err
}

func scan(s cf.Reader, rows ...cf.Range) (cftest.Rows, cf.Cost, error) {
	snap, err := s.Snapshot(context.Background())
	if err != nil {
		return nil, cf.Cost{}, err
	}
	defer snap.Close()
	return cftest.Collect(context.Background(), snap, cf.Scan{Family: "t", Rows: rows})
}

// database makes a database with a family t and closes it; its cells are in a file.
func database(t *testing.T, rows string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	s := open(t, dir, rocks.Options{})
	ctx := context.Background()
	if err := errors.Join(s.CreateFamily(ctx, "t"), put(s, rows), s.Flush(ctx, "t"), s.Close()); err != nil {
		t.Fatal(err)
	}
	return dir
}

func expectOpenError(t *testing.T, dir string, o rocks.Options, want error) {
	t.Helper()
	s, err := rocks.Open(dir, o)
	if err == nil {
		s.Close()
	}
	if !errors.Is(err, want) {
		t.Errorf("opening %s: error %v, want %v", dir, err, want)
	}
}

func TestOpenInUseByAnotherProcess(t *testing.T) {
	dir := t.TempDir()
	_, kill := spawn(t, dir, 1)
	defer kill()
	expectOpenError(t, dir, rocks.Options{}, cf.ErrBusy)
	s := open(t, dir, rocks.Options{ReadOnly: true}) // beside the writer
	defer s.Close()
	if err := put(s, "r q@1=v"); !errors.Is(err, cf.ErrReadOnly) {
		t.Errorf("writing: error %v, want %v", err, cf.ErrReadOnly)
	}
}

// Other programs, and versions of smolwc before its claim, hold RocksDB's own lock alone.
func TestOpenInUseByAnotherProgram(t *testing.T) {
	dir := t.TempDir()
	_, kill := spawn(t, otherProgram+dir, 1)
	expectOpenError(t, dir, rocks.Options{}, cf.ErrBusy)
	kill()
	db, err := openAlone(dir)
	if err != nil {
		t.Fatal(err)
	}
	expectOpenError(t, dir, rocks.Options{}, cf.ErrOpenHere)
	db.Close()
	open(t, dir, rocks.Options{}).Close()
}

func TestOpenTwice(t *testing.T) {
	dir := database(t, "a q@1=v")
	s := open(t, dir, rocks.Options{})
	expectOpenError(t, dir, rocks.Options{}, cf.ErrOpenHere)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, dir, rocks.Options{}).Close()
}

func TestOpenMissing(t *testing.T) {
	empty, missing := t.TempDir(), filepath.Join(t.TempDir(), "missing")
	for _, o := range []rocks.Options{{MustExist: true}, {ReadOnly: true}} {
		expectOpenError(t, empty, o, cf.ErrNotExist)
		expectOpenError(t, missing, o, cf.ErrNotExist)
	}
	if _, err := os.Stat(missing); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is there now: %v", err)
	}
	open(t, filepath.Join(missing, "deep"), rocks.Options{}).Close() // creates it
}

func TestOpenOutOfReach(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	expectOpenError(t, file, rocks.Options{}, cf.ErrUnavailable)
	expectOpenError(t, filepath.Join(file, "below"), rocks.Options{}, cf.ErrUnavailable)
	if _, err := os.Stat("/proc/self"); err == nil {
		expectOpenError(t, "/proc/smolwc", rocks.Options{}, cf.ErrUnavailable)
		expectOpenError(t, "/proc/self", rocks.Options{}, cf.ErrUnavailable)
	}
}

func TestOpenLostCurrentFile(t *testing.T) {
	dir := database(t, "a q@1=v")
	if err := os.Remove(filepath.Join(dir, "CURRENT")); err != nil {
		t.Fatal(err)
	}
	expectOpenError(t, dir, rocks.Options{}, cf.ErrCorrupt)
	expectOpenError(t, dir, rocks.Options{MustExist: true}, cf.ErrCorrupt)
}

// A directory with a database on Pebble, also one that has lost its CURRENT, is not touched.
func TestOpenAnotherEnginesDirectory(t *testing.T) {
	for _, names := range [][]string{
		{"CURRENT", "marker.manifest.000001.MANIFEST-000001", "MANIFEST-000001"},
		{"marker.manifest.000001.MANIFEST-000001", "MANIFEST-000001"},
	} {
		for _, o := range []rocks.Options{{}, {ReadOnly: true}, {MustExist: true}} {
			dir := t.TempDir()
			for _, name := range names {
				if err := os.WriteFile(filepath.Join(dir, name), []byte("pebble\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := rocks.Open(dir, o); !errors.Is(err, cf.ErrUnavailable) || !strings.Contains(err.Error(), "on another engine") {
				t.Errorf("%v, %+v: %v", names, o, err)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) != len(names) {
				t.Errorf("%v, %+v: the directory has %v, %v", names, o, left, err)
			}
		}
	}
}

func TestOpenBadCurrentFile(t *testing.T) {
	for _, text := range []string{"", "garbage", "MANIFEST-999999\n"} {
		dir := database(t, "a q@1=v")
		if err := os.WriteFile(filepath.Join(dir, "CURRENT"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := rocks.Open(dir, rocks.Options{})
		if err == nil {
			s.Close()
			t.Errorf("CURRENT %q: opened", text)
		}
		t.Logf("CURRENT %q: %v", text, err)
	}
}

// damage changes a byte in the middle of the one file that matches.
func damage(t *testing.T, dir, pattern string, at func(size int) int) {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(dir, pattern))
	if len(files) != 1 {
		t.Fatalf("files %q match %s, want one", files, pattern)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	b[at(len(b))] ^= 0xff
	if err := os.WriteFile(files[0], b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestOpenCorruptManifest(t *testing.T) {
	dir := database(t, "a q@1=v")
	damage(t, dir, "MANIFEST-*", func(size int) int { return size / 2 })
	expectOpenError(t, dir, rocks.Options{}, cf.ErrCorrupt)
}

// TestCorruptBlocksAreReported damages a file of cells at many places. A read of all
// cells then gives an error or, if the damage affects no cell, the right cells; never
// wrong cells.
func TestCorruptBlocksAreReported(t *testing.T) {
	var want strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&want, "| r%05d q@1=%s", i, strings.Repeat("v", i%97))
	}
	rows := cftest.ParseRows(want.String())
	pristine := database(t, want.String())
	const places = 24
	reported := 0
	for i := range places {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(pristine)); err != nil {
			t.Fatal(err)
		}
		damage(t, dir, "*.sst", func(size int) int { return size * i / places })
		s, err := rocks.Open(dir, rocks.Options{})
		if err == nil {
			var got cftest.Rows
			if got, _, err = scan(s, cf.Range{}); err == nil && !got.Equal(rows) {
				t.Errorf("damage at %d/%d: other cells, no error", i, places)
			}
			s.Close()
		}
		if err != nil {
			reported++
			if !errors.Is(err, cf.ErrCorrupt) {
				t.Errorf("damage at %d/%d: error %v, want %v", i, places, err, cf.ErrCorrupt)
			}
		}
	}
	if reported < places/2 {
		t.Errorf("%d of %d damages reported", reported, places)
	}
}

func TestAcknowledgedWritesSurviveAKill(t *testing.T) {
	dir := t.TempDir()
	for round := range 3 {
		said, kill := spawn(t, dir, 20*(round+1))
		kill()
		s := open(t, dir, rocks.Options{MustExist: true})
		rows, _, err := scan(s, cf.Range{})
		if err != nil {
			t.Fatal(err)
		}
		there := map[string]bool{}
		for _, r := range rows {
			there[r.Key] = true
		}
		for _, line := range said {
			if row, ok := strings.CutPrefix(line, "wrote "); !ok || !there[row] {
				t.Errorf("the child said %q; %d rows are there", line, len(rows))
			}
		}
		s.Close()
	}
}

func TestOpenAndCloseAHundredTimes(t *testing.T) {
	for _, o := range []rocks.Options{{InMemory: true}, small} {
		dir := memoryDir(t)
		for i := range 100 {
			s := open(t, dir, o)
			if err := s.CreateFamily(context.Background(), "t"); err != nil {
				t.Fatal(err)
			}
			if err := put(s, fmt.Sprintf("r%d q@1=v", i)); err != nil {
				t.Fatal(err)
			}
			rows, _, err := scan(s, cf.Range{})
			if want := (i + 1); err != nil || !o.InMemory && len(rows) != want {
				t.Fatalf("opened %d times: %d rows, %v", i+1, len(rows), err)
			}
			if snapshots, cursors := s.Open(); snapshots != 0 || cursors != 0 {
				t.Fatalf("left open: %d snapshots, %d cursors", snapshots, cursors)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestATableFileThatIsGone: the error names the missing file.
func TestATableFileThatIsGone(t *testing.T) {
	dir := database(t, "r q@1=v")
	tables, _ := filepath.Glob(filepath.Join(dir, "*.sst"))
	if len(tables) != 1 {
		t.Fatalf("table files %q", tables)
	}
	if err := os.Remove(tables[0]); err != nil {
		t.Fatal(err)
	}
	_, err := rocks.Open(dir, rocks.Options{})
	if !errors.Is(err, cf.ErrCorrupt) || !strings.Contains(err.Error(), filepath.Base(tables[0])) || strings.Contains(err.Error(), ".ldb") {
		t.Errorf("got %v, want the name of %s", err, tables[0])
	}
}
