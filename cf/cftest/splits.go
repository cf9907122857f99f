package cftest

import (
	"fmt"
	"strings"

	"github.com/smolwc/smolwc/cf"
)

// testSplits divides the rows of two families, in memory and in files.
func testSplits(f *fixture) {
	const rows = 1000
	f.create("t/a", "t/b", "t/empty")
	f.blind(func(b *cf.Batch) {
		for r := range rows {
			b.Row(id(fmt.Sprintf("row%04d", r)))
			b.Put("t/a", "q", 1, []byte(strings.Repeat("v", 100)))
			if r >= rows/2 {
				b.Put("t/b", "q", 1, []byte(strings.Repeat("v", 200)))
			}
		}
	})
	both, all := []string{"t/a", "t/b"}, cf.Range{}
	check := func(f *fixture) {
		for _, test := range []struct {
			name     string
			families []string
			rows     cf.Range
			n        int
			most     int64 // bytes of a part
		}{
			{"in one part", both, all, 1, 500_000},
			{"in two parts", both, all, 2, 300_000},
			{"in many parts", both, all, 16, 60_000},
			{"in more parts than there are rows", both, all, 5000, 1000},
			{"one family", []string{"t/a"}, all, 10, 30_000},
			{"a range", both, cf.Range{Start: "row0100", End: "row0200"}, 10, 3000},
			{"a range without rows", both, cf.Range{Start: "s"}, 3, 0},
			{"an empty family", []string{"t/empty"}, all, 3, 0},
			{"no family", nil, all, 3, 0},
		} {
			f.run(test.name, func(f *fixture) {
				parts, err := f.store.Splits(f.ctx, test.families, test.rows, test.n)
				f.must(err)
				if n := len(parts); n == 0 || n > test.n || parts[n-1].End != test.rows.End {
					f.Fatalf("parts %v; want up to %d, the last ending at %q", parts, test.n, test.rows.End)
				}
				start := test.rows.Start
				for i, p := range parts {
					if p.Bytes < 0 || p.Bytes > test.most {
						f.Errorf("part %d, to %q, of %d bytes, want up to %d", i, p.End, p.Bytes, test.most)
					}
					if i < len(parts)-1 && p.End <= start {
						f.Errorf("part %d ends at %q, the one before at %q", i, p.End, start)
					}
					start = p.End
				}
			})
		}
		_, err := f.store.Splits(f.ctx, []string{"t/none"}, all, 2)
		f.expectError("Splits of no such family", err, cf.ErrNotExist)
	}
	f.run("in memory", check)
	for _, name := range both {
		f.must(f.store.Flush(f.ctx, name))
	}
	f.run("in files", check)
}
