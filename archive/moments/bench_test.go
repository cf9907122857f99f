//go:build !windows

package moments_test

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/smolwc/smolwc/archive/moments"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

var (
	written = flag.Int("written", 1_000_000, "cells in the log of a benchmark")
	live    = flag.Int("live", 200_000, "cells of it that are there at the end")
)

// BenchmarkRestoreOfALog restores a log in which cells were replaced again and again. vs-load compares its time with
// reading the segments and bulk loading the remaining cells, vs-load-cpu compares the processor time, which other work on the machine
// changes less, and vs-zstd compares the segments' size with the records compressed at once.
func BenchmarkRestoreOfALog(b *testing.B) {
	moments.ReplayTogether(0, 0)
	s := &source{t: b, dir: filepath.Join(b.TempDir(), "db"), target: filepath.Join(b.TempDir(), "archive"), clock: newClock(), logger: slog.New(slog.DiscardHandler), kept: 8 << 30}
	s.now, s.o = s.clock.now, moments.Options{Every: time.Millisecond, BaseEvery: 1000 * time.Hour}
	s.open()
	b.Cleanup(s.close)
	table := schema.Table{Name: "bench", Families: []schema.Family{{Name: "f", GC: schema.MaxVersions(1)}}}
	must(b, s.db.CreateTable(context.Background(), table))
	s.send()
	s.sent()
	from := s.store.Latest()
	r := rand.New(rand.NewPCG(1, 2))
	value := make([]byte, 100)
	ctx := context.Background()
	for done := 0; done < *written; {
		batch := write.NewBatch()
		for range 100 {
			n := done % *live
			for i := range value[:50] { // half of it compresses
				value[i] = byte(r.Uint32())
			}
			m := write.NewMutation()
			m.SetAt("f", "q", cells.Timestamp(done), cells.Bytes(value))
			batch.Add("bench", fmt.Sprintf("row%09d", n*7919%*live), m)
			done++
		}
		must(b, s.db.Apply(ctx, batch))
	}
	s.sent()
	if _, err := moments.Merge(ctx, s.archive(), s.clock.now().Add(48*time.Hour)); err != nil {
		b.Fatal(err)
	}
	log, err := s.store.Log(from)
	must(b, err)
	var raw []byte
	for {
		r, err := log.Next(ctx)
		must(b, err)
		if r == nil {
			break
		}
		raw = append(raw, r.Data...)
	}
	log.Close()
	zip, err := zstd.NewWriter(nil)
	must(b, err)
	compressed := len(zip.EncodeAll(raw, nil))
	raw = nil
	a := s.archive()
	var restore, read, bulk, used, usedElse time.Duration
	var segments int64
	b.ResetTimer()
	for range b.N {
		began, cpu := time.Now(), processorTime()
		dir := filepath.Join(b.TempDir(), "restored")
		_, err := moments.Restore(ctx, a, moments.Moment{}, dir, moments.RestoreOptions{})
		must(b, err)
		restore, used = restore+time.Since(began), used+processorTime()-cpu

		began, cpu = time.Now(), processorTime()
		report, err := moments.Verify(ctx, a, moments.VerifyOptions{})
		must(b, err)
		read, usedElse = read+time.Since(began), usedElse+processorTime()-cpu
		segments = report.Bytes

		b.StopTimer()
		from, err := query.OpenReadOnly(dir, query.Options{Memory: 64 << 20})
		must(b, err)
		b.StartTimer()
		began, cpu = time.Now(), processorTime()
		to := filepath.Join(b.TempDir(), "loaded")
		db, err := query.Open(to, query.Options{Memory: 64 << 20, Schema: &schema.Schema{Tables: []schema.Table{table}}})
		must(b, err)
		l, err := db.Table("bench").BulkLoad(ctx, query.BulkOptions{})
		must(b, err)
		n := 0
		for row, err := range from.Table("bench").ReadRows(ctx) {
			must(b, err)
			m := write.NewMutation()
			for c := range row.Cells() {
				m.SetAt(c.Family, c.Qualifier, c.Timestamp, c.Value)
				n++
			}
			must(b, l.Apply(row.Key(), m))
		}
		_, err = l.Commit(ctx)
		must(b, err)
		l.Close()
		must(b, db.Close())
		bulk, usedElse = bulk+time.Since(began), usedElse+processorTime()-cpu
		b.StopTimer()
		if n < *live {
			b.Errorf("%d cells are left; want %d", n, *live)
		}
		must(b, from.Close())
		must(b, os.RemoveAll(dir))
		must(b, os.RemoveAll(to))
		b.StartTimer()
	}
	per := func(d time.Duration) float64 { return d.Seconds() / float64(b.N) }
	b.ReportMetric(per(restore), "restore-s")
	b.ReportMetric(per(used), "restore-cpu-s")
	b.ReportMetric(per(usedElse), "else-cpu-s")
	b.ReportMetric(per(read), "read-s")
	b.ReportMetric(per(bulk), "load-s")
	b.ReportMetric(per(restore)/(per(read)+per(bulk)), "vs-load")
	b.ReportMetric(used.Seconds()/usedElse.Seconds(), "vs-load-cpu")
	b.ReportMetric(float64(segments)/float64(compressed), "vs-zstd")
	b.ReportMetric(0, "ns/op")
}

// processorTime is the process's.
func processorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
