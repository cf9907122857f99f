package standby_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/standby"
)

var copyBytes = flag.Int64("copy-bytes", 256<<20, "let BenchmarkReadsDuringACopy copy about `N` bytes")

// BenchmarkReadsDuringACopy reads rows of a primary one after the other, alone and while a
// standby copies it, and compares the copy with one of its files alone. An operation is one
// copy.
func BenchmarkReadsDuringACopy(b *testing.B) {
	dir := b.TempDir()
	primary := standby.NewPrimary(standby.PrimaryOptions{})
	db, err := query.Open(filepath.Join(dir, "primary"), query.Options{Memory: 64 << 20, Durability: query.DurabilityAsync, Standbys: primary.Hook()})
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	rows := fillRandom(b, db, *copyBytes)
	addr := "127.0.0.1:0"
	served := serve(b, primary.Service(), &addr)
	defer func() { primary.Service().Stop(); served.Stop() }()
	var alone, beside []time.Duration
	var copies, files time.Duration
	to := filepath.Join(dir, "standby")
	for range b.N {
		alone = append(alone, readFor(b, db, rows, time.After(2*time.Second))...)
		done := make(chan struct{})
		go func() { defer close(done); copyOnce(b, to, addr); _ = os.RemoveAll(to) }()
		beside = append(beside, readFor(b, db, rows, done)...)
		copies += copyOnce(b, to, addr)
		files += copyFiles(b, to, to+".cp")
		_ = os.RemoveAll(to)
	}
	for name, all := range map[string][]time.Duration{"alone": alone, "beside": beside} {
		slices.Sort(all)
		b.ReportMetric(float64(all[len(all)/2].Microseconds()), name+"-p50-µs")
		b.ReportMetric(float64(all[len(all)*99/100].Microseconds()), name+"-p99-µs")
	}
	for name, took := range map[string]time.Duration{"copy": copies, "files": files} {
		b.ReportMetric(float64(*copyBytes)*float64(b.N)/1e6/took.Seconds(), name+"-MB/s")
	}
}

// copyOnce makes a standby, and returns how long that took.
func copyOnce(b *testing.B, to, addr string) time.Duration {
	began := time.Now()
	s, err := standby.Open(b.Context(), to, standby.Options{Primary: addr, Database: query.Options{Memory: 16 << 20}})
	took := time.Since(began)
	if err != nil {
		b.Error(err)
		return took
	}
	_ = s.Close() // nothing was written
	return took
}

// fillRandom writes rows of a KiB that do not compress, and returns their number.
func fillRandom(b *testing.B, db *query.DB, bytes int64) (rows int) {
	if _, err := db.Declare(b.Context(), schemaOf(table("a", "f"))); err != nil {
		b.Fatal(err)
	}
	value, random := make([]byte, 1024), rand.NewChaCha8([32]byte{})
	for batch := write.NewBatch(); int64(rows) < bytes>>10; batch = write.NewBatch() {
		for range 500 {
			_, _ = random.Read(value) // it never fails
			m := write.NewMutation()
			m.Set("f", "q", cells.Bytes(slices.Clone(value)))
			batch.Add("a", fmt.Sprintf("%08d", rows), m)
			rows++
		}
		if err := db.Apply(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
	}
	if err := db.Table("a").Flush(b.Context()); err != nil {
		b.Fatal(err)
	}
	return rows
}

// readFor reads random rows until done, and returns how long each read took.
func readFor[T any](b *testing.B, db *query.DB, rows int, done <-chan T) (took []time.Duration) {
	for {
		select {
		case <-done:
			return took
		default:
		}
		began := time.Now()
		if _, err := db.Table("a").ReadRow(b.Context(), fmt.Sprintf("%08d", rand.IntN(rows))); err != nil {
			b.Error(err)
			return []time.Duration{0}
		}
		took = append(took, time.Since(began))
	}
}

// copyFiles copies a directory to the disk, and returns how long that took.
func copyFiles(b *testing.B, from, to string) time.Duration {
	began := time.Now()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		b.Error(err)
	}
	err := filepath.WalkDir(to, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err == nil {
			err = f.Sync()
			_ = f.Close() // it was not written
		}
		return err
	})
	if err != nil {
		b.Error(err)
	}
	took := time.Since(began)
	_ = os.RemoveAll(to)
	return took
}
