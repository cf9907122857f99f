package query_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/query"
)

// The memory of a process that scans is bounded by the setting plus a little, for one
// family and for two hundred. The pages of the program itself do not count: they are a file,
// which the system can take back. The processes are built without the race detector, which
// takes memory of its own.
func TestMemoryOfAScanIsBounded(t *testing.T) {
	program := filepath.Join(t.TempDir(), "memory")
	build := exec.Command("../scripts/go", "build", "-ldflags=-w", "-o", program, "./testdata/memory")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	const (
		memory = 32 // in MiB, as is the additional memory
		cells  = 1_000_000
	)
	beside := int64(44)
	if !query.HasRocksDB {
		beside += memory // without cgo the cache is of the heap, and GOGC=100 lets it double
	}
	for _, families := range []int{1, 200} {
		t.Run(strconv.Itoa(families), func(t *testing.T) {
			dir := t.TempDir()
			peak := func(mode string) int64 {
				t.Helper()
				run := exec.Command(program, mode, dir, strconv.Itoa(families), strconv.Itoa(cells), strconv.Itoa(memory)+"MiB", string(query.DefaultEngine()))
				run.Env = append(os.Environ(), "GOGC=100", "GOMEMLIMIT=off")
				out, err := run.CombinedOutput()
				if err != nil {
					t.Fatalf("%s: %v: %s", mode, err, out)
				}
				var all, program int64
				_, said, _ := strings.Cut(string(out), "peak ")
				if _, err := fmt.Sscanf(said, "%d kB with the program's %d kB", &all, &program); err != nil || all <= program {
					t.Fatalf("%s says %s", mode, out)
				}
				return (all - program) >> 10
			}
			t.Logf("filling took %d MiB", peak("fill"))
			// If other processes use the processors, the garbage collector may run
			// late; a scan that keeps too much fails every attempt.
			var took []int64
			for len(took) < 3 && (took == nil || took[len(took)-1] > memory+beside) {
				took = append(took, peak("scan"))
			}
			t.Logf("scanning took %d MiB", took)
			if slices.Min(took) > memory+beside {
				t.Errorf("scanning took %d MiB, with a budget of %d and %d beside", took, memory, beside)
			}
		})
	}
}
