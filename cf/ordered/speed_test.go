package ordered_test

import (
	"fmt"
	"testing"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/ordered"
)

// BenchmarkScans reads 2,000 rows of ten columns; the first column has ten versions.
func BenchmarkScans(b *testing.B) {
	all := new(list)
	for row := range 2000 {
		for q := range 10 {
			for ts := range int64(10) {
				if q == 0 || ts == 0 {
					all.put(fmt.Sprintf("row%06d", row), fmt.Sprintf("column%d", q), ts, "a value of some bytes")
				}
			}
		}
	}
	all.sort()
	every, prefix := []cf.Range{{}}, []cf.Range{cf.Prefix("row0010")}
	row := []cf.Range{cf.Single("row001000")}
	one := []cf.Range{cf.Single("column5")}
	for _, bench := range []struct {
		name string
		scan cf.Scan
	}{
		{"all", cf.Scan{Rows: every}},
		{"all, lent", cf.Scan{Rows: every, Lend: true}},
		{"all, reverse", cf.Scan{Rows: every, Reverse: true}},
		{"prefix", cf.Scan{Rows: prefix}},
		{"prefix, lent", cf.Scan{Rows: prefix, Lend: true}},
		{"row", cf.Scan{Rows: row, Hint: 1}},
		{"cell", cf.Scan{Rows: row, Hint: 1, Filter: cf.Filter{Qualifiers: one, Versions: 1}}},
		{"newest", cf.Scan{Rows: every, Filter: cf.Filter{Versions: 1}}},
		{"column", cf.Scan{Rows: every, Filter: cf.Filter{Qualifiers: one}}},
		{"count", cf.Scan{Rows: every, Filter: cf.Filter{CountOnly: true}}},
		{"keys", cf.Scan{Rows: every, Filter: cf.Filter{KeysOnly: true}}},
		{"values", cf.Scan{Rows: every, Filter: cf.Filter{Values: []cf.Range{{Start: "b"}}}}},
		{"where", cf.Scan{Rows: every, Filter: cf.Filter{Where: []cf.RowCondition{{Qualifier: "column5", Values: []cf.Range{{Start: "b"}}}}}}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			bench.scan.Family = "f"
			var cost cf.Cost
			for b.Loop() {
				c := ordered.New(&list{pairs: all.pairs}, bench.scan)
				cost = readAll(b, c)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(max(1, cost.CellsScanned)), "ns/cell")
		})
	}
}

// readAll reads a cursor to its end, and releases its blocks.
func readAll(t testing.TB, c cf.Cursor) cf.Cost {
	defer c.Close()
	for {
		b, err := c.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if b == nil {
			return c.Cost()
		}
		b.Release()
	}
}
