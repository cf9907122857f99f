//go:build !windows

package standby_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/standby"
)

var standbyCPU = flag.Int("standby-cpu", -1, "run the standby of BenchmarkWrites as a process on processor `N`, by taskset")
var standbyDir = flag.String("standby-dir", "", "BenchmarkWrites: the standby's directory is in `DIR`, such as one on another disk")

// BenchmarkWrites writes rows of 100 bytes with and without a standby, with one that writes wait
// for, and with two: writes wait for one of them, or for both. The standby is in the same process: it takes a part of the processors,
// and of the disk. With -standby-cpu it takes none of the writers' processors, if the
// benchmark runs on others, and with -standby-dir it may have another disk.
func BenchmarkWrites(b *testing.B) {
	for _, durability := range []query.Durability{query.DurabilitySync, query.DurabilityAsync} {
		for _, writers := range []int{1, 16} {
			name := fmt.Sprintf("%s/writers=%d", map[query.Durability]string{query.DurabilitySync: "sync", query.DurabilityAsync: "async"}[durability], writers)
			for _, standbys := range []int{0, 1} {
				b.Run(fmt.Sprintf("%s/standbys=%d", name, standbys), func(b *testing.B) { benchmarkWrites(b, durability, writers, standbys, standby.SemiSync{}) })
			}
			strict := standby.SemiSync{Mode: standby.SemiSyncStrict}
			b.Run(name+"/semi-sync", func(b *testing.B) { benchmarkWrites(b, durability, writers, 1, strict) })
			for acks := range 2 {
				strict.Acks = acks + 1
				b.Run(fmt.Sprintf("%s/semi-sync/acks=%d-of-2", name, strict.Acks), func(b *testing.B) { benchmarkWrites(b, durability, writers, 2, strict) })
			}
		}
	}
}

func benchmarkWrites(b *testing.B, durability query.Durability, writers, standbys int, semi standby.SemiSync) {
	dir := b.TempDir()
	primary := standby.NewPrimary(standby.PrimaryOptions{SemiSync: semi})
	db, err := query.Open(filepath.Join(dir, "primary"), query.Options{Durability: durability, Standbys: primary.Hook()})
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	t := table("a", "f")
	if _, err := db.Declare(standby.Async(b.Context()), schemaOf(t)); err != nil {
		b.Fatal(err)
	}
	addr := "127.0.0.1:0"
	served := serve(b, primary.Service(), &addr)
	defer func() { primary.Service().Stop(); served.Stop() }()
	for i := range standbys {
		at := dir
		if *standbyDir != "" {
			at, err = os.MkdirTemp(*standbyDir, "standby")
			if err != nil {
				b.Fatal(err)
			}
			defer os.RemoveAll(at)
		}
		defer benchmarkedStandby(b, filepath.Join(at, fmt.Sprint("standby", i)), addr)()
	}
	value := cells.String(strings.Repeat("v", 100))
	var next atomic.Int64
	b.ResetTimer()
	worked := processorTime(b)
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
				m := write.NewMutation()
				m.Set("f", "q", value)
				if err := db.Table("a").Apply(b.Context(), fmt.Sprintf("%012d", n*2654435761%1_000_000_007), m); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	b.StopTimer()
	b.ReportMetric(float64((processorTime(b)-worked).Nanoseconds())/float64(b.N), "cpu-ns/op")
	began := time.Now()
	for want := position(b, primary); standbys > 0; time.Sleep(time.Millisecond) {
		is, err := primary.Service().ListReplicas(b.Context(), nil)
		if err != nil || len(is.GetReplicas()) == standbys && !slices.ContainsFunc(is.GetReplicas(), func(r *smolwcpb.Replica) bool { return r.GetApplied() < want }) {
			break
		}
	}
	b.ReportMetric(float64(time.Since(began).Milliseconds()), "ms-behind")
}

// processorTime is what this process has used of all processors. Other processes of a
// machine change it less than the time of a write.
func processorTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// benchmarkedStandby begins to follow, until stop is called.
func benchmarkedStandby(b *testing.B, dir, addr string) (stop func()) {
	if *standbyCPU < 0 {
		s, err := standby.Open(b.Context(), dir, standby.Options{Primary: addr, Name: filepath.Base(dir)})
		if err != nil {
			b.Fatal(err)
		}
		return func() { _ = s.Close() }
	}
	exe, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	c := spawnAs(b, exec.Command("taskset", "-c", fmt.Sprint(*standbyCPU), exe), "follower", dir, addr)
	return func() { c.kill() }
}
