package query_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
)

// markers are the states of the marker that a crash can leave while the format is
// raised.
var markers = map[string]func(dir string) error{
	"old": func(dir string) error { return writeMarkerFile(dir, "SMOLWC", "smolwc database, format 1\n") },
	"old, and the new one half written": func(dir string) error {
		return errors.Join(writeMarkerFile(dir, "SMOLWC", "smolwc database, format 1\n"), writeMarkerFile(dir, "SMOLWC.tmp", "smolwc da"))
	},
	"new": func(dir string) error { return writeMarkerFile(dir, "SMOLWC", "smolwc database, format 2\n") },
}

func writeMarkerFile(dir, name, text string) error {
	return os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)
}

// A crash comes at any moment of the first late write: the log is cut off anywhere, and
// the marker is the old one or the new one. The database opens, for reading and for
// writing; it has no late timestamp without its format; and its marker agrees with its
// catalog.
func TestNoLateTimestampIsThereWithoutItsFormat(t *testing.T) {
	dir := fixture(t, "1")
	db := mustOpen(t, dir, query.Options{GCInterval: -1})
	if err := lateWrites["set"](db, 1); err != nil {
		t.Fatal(err)
	}
	log := filepath.Base(newestLog(t, dir))
	from := len(mustRead(t, filepath.Join(dir, log)))
	synced := mustRead(t, filepath.Join(dir, "SYNCED"))
	if err := errors.Join(lateWrites["set"](db, cells.MaxTimestamp), db.Close()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "SYNCED"), synced, 0o600); err != nil {
		t.Fatal(err)
	}
	length := len(mustRead(t, filepath.Join(dir, log)))
	seen := map[string]int{}
	for end := length; end >= from; end -= max(1, (length-from)/8) {
		for name, mark := range markers {
			cut := filepath.Join(t.TempDir(), "cut")
			if err := errors.Join(os.CopyFS(cut, os.DirFS(dir)), os.Truncate(filepath.Join(cut, log), int64(end)), mark(cut)); err != nil {
				t.Fatal(err)
			}
			late, format := expectFormatOfCells(t, cut, fmt.Sprintf("cut off at %d of %d, with a marker that is %s", end, length, name))
			seen[fmt.Sprintf("format %d, late %t", format, late)]++
		}
	}
	if seen["format 1, late false"] == 0 || seen["format 2, late false"] == 0 || seen["format 2, late true"] == 0 {
		t.Errorf("the cuts left %v; some of each were wanted", seen)
	}
}

// expectFormatOfCells opens a database after a crash, and returns whether it has a late
// timestamp, and its format.
func expectFormatOfCells(t *testing.T, dir, when string) (late bool, format int) {
	t.Helper()
	for _, o := range []query.Options{{ReadOnly: true}, {}, {}} {
		o.GCInterval = -1
		db, err := query.Open(dir, o)
		if err != nil {
			t.Fatalf("%s, read-only %t: %v", when, o.ReadOnly, err)
		}
		late, format = strings.Contains(text(t, db, "a"), cells.MaxTimestamp.String()), db.Format()
		if late && format != 2 {
			t.Errorf("%s: the database has the timestamp, and format %d", when, format)
		}
		if !o.ReadOnly {
			wantFormat(t, db, format)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return late, format
}

// newestLog is the path of the log that the engine writes.
func newestLog(t *testing.T, dir string) string {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil || len(logs) == 0 {
		t.Fatal(err, logs)
	}
	return logs[len(logs)-1]
}

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// raiseChild makes the test binary write a late timestamp in some way until it is
// killed. Its value is the directory and the number of the way.
const raiseChild = "SMOLWC_TEST_RAISE_CHILD"

func raiseUntilKilled(dir string, way int) error {
	db, err := query.Open(dir, query.Options{GCInterval: -1})
	if err != nil {
		return err
	}
	names := slices.Sorted(maps.Keys(lateWrites))
	name := names[way%len(names)]
	fmt.Println("try", name)
	if err := lateWrites[name](db, cells.MaxTimestamp); err != nil {
		return err
	}
	fmt.Println("ok", name)
	time.Sleep(time.Hour)
	return nil
}

// A process is killed with kill -9 while it makes the first late write, on a disk with
// slow syncs. Acknowledged writes are there, and the database has the format that it
// needs.
func TestKilledWhileTheFormatIsRaised(t *testing.T) {
	wantRocksDB(t, "a database on Pebble has format 6 from birth")
	library := filepath.Join(t.TempDir(), "slowdisk.so")
	if out, err := exec.Command("cc", "-shared", "-fPIC", "-O1", "-o", library, "../cf/rocks/testdata/slowdisk.c", "-ldl").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	seed := *crashSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-crash-seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	left := map[string]int{}
	for round := range max(1, *crashes/3) {
		dir := fixture(t, "1")
		said := runUntilKilled(t, time.Duration(rng.Int64N(int64(50*time.Millisecond))), fmt.Sprintf("%s=%s %d", raiseChild, dir, rng.Uint32()),
			"LD_PRELOAD="+library, "SLOWDISK_DIR=/", "SLOWDISK_MS=3", "ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0")
		when := fmt.Sprintf("-crash-seed %d, round %d, which said %q", seed, round, said)
		if !strings.HasPrefix(said, "try ") || strings.Contains(said, "fail") {
			t.Fatal(when)
		}
		late, format := expectFormatOfCells(t, dir, when)
		acknowledged := strings.Contains(said, "\nok ")
		if acknowledged && format != 2 {
			t.Errorf("%s: the write was acknowledged, and the format is %d", when, format)
		}
		if acknowledged && !late && !strings.Contains(said, "delete") {
			t.Errorf("%s: the write was acknowledged, and is gone", when)
		}
		left[fmt.Sprintf("acknowledged %t, format %d, late %t", acknowledged, format, late)]++
	}
	t.Logf("the kills left %v", left)
}
