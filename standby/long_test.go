package standby_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/standby"
)

var longLog = flag.Int64("log-bytes", 0, "have a standby follow about `N` bytes of log, and compare its memory with that after a tenth, and its disk with its primary's")

// The memory of a standby does not grow with the log that it has followed, and its disk
// does not grow more than that of its primary.
func TestALongLog(t *testing.T) {
	if *longLog == 0 {
		t.Skip("-log-bytes 4000000000, for example, runs this")
	}
	const kept = 128 << 20
	p := &node{t: t, dir: filepath.Join(t.TempDir(), "primary"), addr: "127.0.0.1:0"}
	p.primary = standby.NewPrimary(standby.PrimaryOptions{LogBytes: kept})
	var err error
	p.db, err = query.Open(p.dir, query.Options{Memory: 64 << 20, Durability: query.DurabilityAsync, GCInterval: time.Second, Standbys: p.primary.Hook()})
	must(t, err)
	p.served = serve(t, p.primary.Service(), &p.addr)
	t.Cleanup(p.close)
	a := table("a", "f")
	a.Families[0].GC = schema.MaxVersions(1)
	declare(t, p.db, a)
	dir := filepath.Join(t.TempDir(), "standby")
	s := spawn(t, "follower", dir, p.addr)
	t.Cleanup(func() { s.kill() })
	value, random := make([]byte, 4096), rand.NewChaCha8([32]byte{})
	var memory [2][]int64 // in the first tenth, later
	var own, primarys int64
	for done, step := int64(0), *longLog/100; done < *longLog; done += step {
		for n := int64(0); n < step; n += int64(len(value)) {
			_, _ = random.Read(value) // it never fails
			m := write.NewMutation()
			m.Set("f", "q", cells.Bytes(slices.Clone(value)))
			must(t, p.db.Table("a").Apply(t.Context(), fmt.Sprint(rand.IntN(5000)), m))
		}
		await(t, "the standby has gone", func() bool {
			is := describe(t, p)
			return len(is.GetReplicas()) == 1 && is.GetReplicas()[0].GetApplied() == is.GetPosition()
		})
		half := 0
		if done > *longLog/10 {
			half = 1
		}
		memory[half] = append(memory[half], resident(t, s.cmd.Process.Pid))
		own, primarys = max(own, sizeOf(t, dir)), max(primarys, sizeOf(t, p.dir))
	}
	early, later := slices.Max(memory[0]), slices.Max(memory[1][len(memory[1])/2:])
	t.Logf("memory: at most %d MiB in the first tenth, and %d MiB in the last half", early>>20, later>>20)
	t.Logf("disk: at most %d MiB, and %d MiB of the primary", own>>20, primarys>>20)
	if later > 2*early+kept || own > 2*primarys+kept {
		t.Error("the standby has grown with the log")
	}
}

// resident is the memory of a process.
func resident(t *testing.T, pid int) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Skip(err)
	}
	kib, err := strconv.ParseInt(regexp.MustCompile(`VmRSS:\s+(\d+)`).FindStringSubmatch(string(text))[1], 10, 64)
	must(t, err)
	return kib << 10
}

// sizeOf is the size of the files of a directory. Some may be removed meanwhile.
func sizeOf(t *testing.T, dir string) (sum int64) {
	t.Helper()
	_ = filepath.WalkDir(dir, func(_ string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil
		}
		if info, err := e.Info(); err == nil {
			sum += info.Size()
		}
		return nil
	})
	return sum
}
