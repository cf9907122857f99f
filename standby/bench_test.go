//go:build cgo

package standby_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/standby"
)

// BenchmarkWrites writes rows of 100 bytes with and without a standby, and with one that
// writes wait for. The standby is in the same process: it takes a part of the processors,
// but not of another machine's disk.
func BenchmarkWrites(b *testing.B) {
	for _, durability := range []query.Durability{query.DurabilitySync, query.DurabilityAsync} {
		for _, writers := range []int{1, 16} {
			name := fmt.Sprintf("%s/writers=%d", map[query.Durability]string{query.DurabilitySync: "sync", query.DurabilityAsync: "async"}[durability], writers)
			for _, standbys := range []int{0, 1} {
				b.Run(fmt.Sprintf("%s/standbys=%d", name, standbys), func(b *testing.B) { benchmarkWrites(b, durability, writers, standbys, standby.SemiSyncOff) })
			}
			b.Run(name+"/semi-sync", func(b *testing.B) { benchmarkWrites(b, durability, writers, 1, standby.SemiSyncStrict) })
		}
	}
}

func benchmarkWrites(b *testing.B, durability query.Durability, writers, standbys int, semi standby.SemiSyncMode) {
	dir := b.TempDir()
	primary := standby.NewPrimary(standby.PrimaryOptions{SemiSync: standby.SemiSync{Mode: semi}})
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
	var s *standby.Standby
	if standbys > 0 {
		if s, err = standby.Open(b.Context(), filepath.Join(dir, "standby"), standby.Options{Primary: addr}); err != nil {
			b.Fatal(err)
		}
		defer s.Close()
	}
	value := cells.String(strings.Repeat("v", 100))
	var next atomic.Int64
	b.ResetTimer()
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
	if s == nil {
		return
	}
	began := time.Now()
	for want := position(b, primary); s.Position() < want; {
		time.Sleep(time.Millisecond)
	}
	b.ReportMetric(float64(time.Since(began).Milliseconds()), "ms-behind")
}
