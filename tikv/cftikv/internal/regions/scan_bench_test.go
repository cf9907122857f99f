package regions_test

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/smolwc/smolwc/tikv/cftikv/internal/regions"
)

var delay = flag.Duration("delay", time.Millisecond, "what each request takes in the benchmarks, and 2 µs for each key")

// BenchmarkScan reads 200,000 keys by client-go's iterator and by this one. The mock
// answers a request after a delay.
func BenchmarkScan(b *testing.B) {
	const keys = 200_000
	for _, n := range []int{1, 20} {
		c := newCluster(b, 1)
		c.fill(keys, 100)
		for i := 1; i < n; i++ {
			c.split("p/" + number(i*keys/n))
		}
		c.wire.delay.Store(int64(*delay))
		c.wire.perKey.Store(2000)
		at := c.now()
		for name, read := range map[string]func() int{
			"client-go, 256 keys":   func() int { return c.clientGo(at, 256) },
			"client-go, 10240 keys": func() int { return c.clientGo(at, 10_240) },
			"nothing ahead":         func() int { return c.ours(at, -1) },
			"ahead":                 func() int { return c.ours(at, 0) },
		} {
			b.Run(fmt.Sprintf("regions=%d/%s", n, name), func(b *testing.B) {
				for b.Loop() {
					if got := read(); got != keys {
						b.Fatalf("%d keys", got)
					}
				}
				b.ReportMetric(float64(keys)*float64(b.N)/b.Elapsed().Seconds(), "keys/s")
			})
		}
	}
}

// clientGo scans with the iterator of client-go.
func (c *cluster) clientGo(at uint64, batch int) (n int) {
	s := c.store.GetSnapshot(at)
	s.SetScanBatchSize(batch)
	it, err := s.Iter([]byte("p/"), []byte("p0"))
	ok(c, err)
	defer it.Close()
	for ; it.Valid(); n++ {
		ok(c, it.Next())
	}
	return n
}

func (c *cluster) ours(at uint64, ahead int) (n int) {
	it := regions.New(c.store, regions.Options{At: at, Prefix: []byte("p/"), Ahead: ahead})
	defer it.Close()
	for it.Seek(c.Context(), nil); it.Valid(); n++ {
		it.Next(c.Context())
	}
	ok(c, it.Err())
	return n
}
