package server_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"cloud.google.com/go/bigtable"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/server"
)

var beside = flag.Bool("beside", false, "measure smolwc and the emulator side by side")

// TestBeside measures smolwc, on disk with asynchronous durability, and
// Bigtable's emulator in memory side by side, with the official client: 100,000
// rows of five cells of 100 bytes.
//
//	go test ./server -run Beside -beside -v
func TestBeside(t *testing.T) {
	if !*beside {
		t.Skip("only with -beside")
	}
	db, err := query.Open(t.TempDir(), query.Options{Durability: query.Async})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	r := serve(t, db, server.Options{})
	ours, theirs := r.table("t", "f"), r.emulated("t", "f")
	r.load(ours)
	r.load(theirs)
	for _, m := range besides {
		a := testing.Benchmark(func(b *testing.B) { m.run(b, ours) })
		b := testing.Benchmark(func(b *testing.B) { m.run(b, theirs) })
		t.Logf("%-12s smolwc %10d ns  emulator %12d ns  %6.2f times as fast", m.name, a.NsPerOp(), b.NsPerOp(), float64(b.NsPerOp())/float64(a.NsPerOp()))
	}
}

const besideRows = 100_000

func besideKey(i int) string { return fmt.Sprintf("row%08d", i) }

func besideRow() *bigtable.Mutation {
	m := bigtable.NewMutation()
	for q := range 5 {
		m.Set("f", fmt.Sprintf("q%d", q), 1000, []byte(strings.Repeat("v", 100)))
	}
	return m
}

func (r *rig) load(tab *bigtable.Table) {
	r.t.Helper()
	for i := 0; i < besideRows; i += 1000 {
		var keys []string
		var ms []*bigtable.Mutation
		for j := i; j < i+1000; j++ {
			keys, ms = append(keys, besideKey(j)), append(ms, besideRow())
		}
		if errs, err := tab.ApplyBulk(r.ctx(), keys, ms); err != nil || errs != nil {
			r.t.Fatal(errs, err)
		}
	}
}

var besides = []struct {
	name string
	run  func(b *testing.B, tab *bigtable.Table)
}{
	{"read", func(b *testing.B, tab *bigtable.Table) {
		for b.Loop() {
			readOne(b, tab)
		}
	}},
	{"read16", func(b *testing.B, tab *bigtable.Table) {
		b.SetParallelism(8)
		b.RunParallel(func(p *testing.PB) {
			for p.Next() {
				readOne(b, tab)
			}
		})
	}},
	{"write", func(b *testing.B, tab *bigtable.Table) {
		for b.Loop() {
			writeOne(b, tab)
		}
	}},
	{"write16", func(b *testing.B, tab *bigtable.Table) {
		b.SetParallelism(8)
		b.RunParallel(func(p *testing.PB) {
			for p.Next() {
				writeOne(b, tab)
			}
		})
	}},
	{"scan100", scanning(100, bigtable.LimitRows(100))},
	{"scan", scanning(besideRows)},
	{"column", scanning(besideRows, bigtable.RowFilter(bigtable.ColumnFilter("q3")))},
	{"key_regex", scanning(besideRows/100, bigtable.RowFilter(bigtable.RowKeyFilter(".*77")))},
	{"value_regex", scanning(0, bigtable.RowFilter(bigtable.ValueFilter("zzz.*")))},
	{"value_range", scanning(0, bigtable.RowFilter(bigtable.ValueRangeFilter([]byte("b"), []byte("c"))))},
}

func readOne(b *testing.B, tab *bigtable.Table) {
	row, err := tab.ReadRow(context.Background(), besideKey(rand.IntN(besideRows)))
	if err != nil || len(row["f"]) != 5 {
		b.Errorf("%d cells, %v", len(row["f"]), err)
	}
}

func writeOne(b *testing.B, tab *bigtable.Table) {
	if err := tab.Apply(context.Background(), besideKey(rand.IntN(besideRows)), besideRow()); err != nil {
		b.Error(err)
	}
}

func scanning(want int, opts ...bigtable.ReadOption) func(*testing.B, *bigtable.Table) {
	return func(b *testing.B, tab *bigtable.Table) {
		for b.Loop() {
			n := 0
			if err := tab.ReadRows(context.Background(), bigtable.InfiniteRange(""), func(bigtable.Row) bool { n++; return true }, opts...); err != nil || n != want {
				b.Fatalf("%d rows, want %d: %v", n, want, err)
			}
		}
	}
}
