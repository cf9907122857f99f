package query_test

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/query"
)

// A database does not change the settings of its process: the garbage collector's, the
// number of processors, and the heap.
func TestTheProcessIsTheProgramsOwn(t *testing.T) {
	program := filepath.Join(t.TempDir(), "process")
	if out, err := exec.Command("../scripts/go", "build", "-ldflags=-w", "-o", program, "./testdata/process").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	run := exec.Command(program, filepath.Join(t.TempDir(), "db"))
	run.Env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "GOGC=") || strings.HasPrefix(v, "GOMEMLIMIT=") || strings.HasPrefix(v, "GOMAXPROCS=")
	})
	out, err := run.Output()
	if err != nil {
		t.Fatal(err)
	}
	mostHeap := int64(8) // MiB: the program holds next to nothing
	if !query.HasRocksDB {
		mostHeap += 2 * 10 // without cgo the cached blocks and the write buffers are of the heap
	}
	var percent, limit, processors, heap int64
	for i, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		if _, err := fmt.Sscan(line, &percent, &limit, &processors, &heap); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if percent != 100 || limit != math.MaxInt64 || int(processors) != processorsByDefault() || heap > mostHeap {
			t.Errorf("report %d: collections at %d %%, a limit of %d bytes, %d processors and %d MiB of heap; want 100, none, %d and at most %d",
				i+1, percent, limit, processors, heap, processorsByDefault(), mostHeap)
		}
	}
}

// processorsByDefault is Go's default number of processors.
func processorsByDefault() int {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	runtime.SetDefaultGOMAXPROCS()
	return runtime.GOMAXPROCS(0)
}
