//go:build linux

package sql_test

import (
	"context"
	"fmt"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// processTime is the processor time of this process, in nanoseconds.
func processTime(b *testing.B) int64 {
	var of unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &of); err != nil {
		b.Fatal(err)
	}
	return of.Utime.Nano() + of.Stime.Nano()
}

// reportProcessTime reports the processor time of an operation since a time before.
func reportProcessTime(b *testing.B, since int64) {
	b.ReportMetric(float64(processTime(b)-since)/1e9/float64(b.N), "cpu-s/op")
}

// BenchmarkWindows measures window functions over 1,000,000 rows.
func BenchmarkWindows(b *testing.B) {
	m := openSeveral(b, schema.Table{Name: "t", Families: []schema.Family{{Name: "n", Type: cells.TypeI64}}})
	for from := 0; from < 1_000_000; from += 10_000 {
		var keys []string
		var ms []*write.Mutation
		for i := from; i < from+10_000; i++ {
			of := write.NewMutation()
			of.SetAt("n", "part", 1000, cells.I64(int64(i*7919%1000)))
			of.SetAt("n", "x", 1000, cells.I64(int64(i)*7_919_117%1_000_003))
			keys, ms = append(keys, fmt.Sprintf("row#%07d", i)), append(ms, of)
		}
		if _, err := m.db.Table("t").ApplyBulk(context.Background(), keys, ms); err != nil {
			b.Fatal(err)
		}
	}
	for _, q := range []struct{ name, of string }{
		{"scan", "n['x'] + n['part']"},
		{"number", "ROW_NUMBER() OVER (PARTITION BY n['part'] ORDER BY n['x'])"},
		{"one", "ROW_NUMBER() OVER (ORDER BY n['x'])"},
		{"running", "SUM(n['x']) OVER (PARTITION BY n['part'] ORDER BY n['x'])"},
		{"sliding", "MAX(n['x']) OVER (PARTITION BY n['part'] ORDER BY n['x'] ROWS BETWEEN 100 PRECEDING AND CURRENT ROW)"},
		{"whole", "AVG(n['x']) OVER (ORDER BY n['x'] ROWS BETWEEN 1000 PRECEDING AND 1000 FOLLOWING)"},
	} {
		b.Run(q.name, func(b *testing.B) {
			b.ReportAllocs()
			defer reportProcessTime(b, processTime(b))
			for b.Loop() {
				if _, err := m.run(b.Context(), "SELECT COUNT(*), MAX(v) FROM (SELECT "+q.of+" AS v FROM t LIMIT 1000000)"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
