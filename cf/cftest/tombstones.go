package cftest

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/smolwc/smolwc/cf"
)

// manyTombstones are more than an engine may step over before it looks at its context.
const manyTombstones = 5_000

// Scans over many deleted cells have the same result as without these: between rows, within a
// row and within a column, in their snapshot and after it.
func testScansOverTombstones(f *fixture) {
	f.create("t", "plain")
	rng := rand.New(rand.NewPCG(1, 0))
	const rows = 6
	row := func(i int) string { return fmt.Sprintf("row#%d", i) }
	for _, family := range []string{"t", "plain"} {
		f.blind(func(b *cf.Batch) {
			for i := range rows {
				b.Row(cf.RowID{Space: family, Row: row(i)})
				for _, column := range []string{"a", "b", "v", "z"} {
					if column == "z" && i == 3 {
						break // a condition demands that there is no z
					}
					for ts := range int64(1 + i%3) {
						b.Put(family, column, 4+2*ts, []byte{byte(37 * i), column[0]})
					}
				}
				if i == 2 {
					b.Put(family, "a", 1, []byte("the condition's column is read to its end"))
				}
			}
		})
	}
	delete := func(row func(int) string, column func(int) string, ts func(int) int64) {
		f.blind(func(b *cf.Batch) {
			for i := range manyTombstones {
				b.Row(cf.RowID{Space: "t", Row: row(i)})
				b.DeleteCell("t", column(i), ts(i))
			}
		})
	}
	is := func(s string) func(int) string { return func(int) string { return s } }
	numbered := func(prefix string) func(int) string {
		return func(i int) string { return fmt.Sprintf("%s%05d", prefix, i) }
	}
	at := func(int) int64 { return 1 }
	delete(numbered("before#"), is("q"), at)
	for _, i := range []int{0, 1, rows - 1} {
		delete(numbered(row(i)+"#"), is("q"), at)
	}
	for i, column := range []string{"a", "b", "v", "z"} {
		delete(is(row(i+1)), numbered(column+"#"), at)
	}
	versions := func(i int) int64 { return int64(100 + i) }
	delete(is(row(3)), is("v"), versions)
	delete(is(row(3)), is("z"), versions)
	delete(is(row(4)), is("a"), versions)
	delete(is(row(5)), numbered("#"), at)

	compare := func(when string, snap cf.Snapshot) {
		f.Helper()
		for n := range 150 {
			s := cf.Scan{Rows: []cf.Range{{}}, Reverse: rng.IntN(2) == 0, Lend: rng.IntN(2) == 0, CountTombstones: rng.IntN(4) == 0, Hint: rng.IntN(3), Limit: rng.IntN(4), Filter: AnyFilter(rng, "a", "z")}
			if rng.IntN(4) == 0 {
				s.Filter.Until = 5
			}
			switch rng.IntN(5) {
			case 0:
				s.Rows = []cf.Range{cf.Single(row(rng.IntN(rows)))}
			case 1:
				s.Rows = []cf.Range{{Start: row(rng.IntN(rows))}}
			case 2:
				s.Rows = []cf.Range{cf.Single(row(0)), {Start: row(2) + "#01000", End: row(2 + rng.IntN(3))}, cf.Single(row(5))}
				if s.Rows[1].Empty() {
					s.Rows = s.Rows[:1]
				}
			case 3:
				s.Rows = []cf.Range{cf.Single(row(0)), cf.Single(row(2) + "#02500"), cf.Single(row(3)), cf.Single(row(4))}[rng.IntN(2):]
			}
			s.Family = "plain"
			want, _, err := Collect(f.ctx, snap, s)
			f.must(err)
			s.Family = "t"
			got, _, err := Collect(f.ctx, snap, s)
			if err != nil || !got.Equal(want) {
				f.Errorf("%s, scan %d %+v:\ngot  %v, %v\nwant %v", when, n, s, got, err, want)
			}
		}
	}
	snap := f.snapshot()
	defer snap.Close()
	compare("newest", snap)
	txn, err := f.store.Begin(f.ctx)
	f.must(err)
	defer txn.Close()
	var own cf.Batch
	for _, family := range []string{"t", "plain"} {
		for i := range rows {
			own.Row(cf.RowID{Space: family, Row: row(i) + "#02500"})
			own.Put(family, "a", 1, []byte(strings.Repeat("w", i)))
		}
	}
	f.must(txn.Add(&own))
	compare("in a transaction", txn)
	f.blind(func(b *cf.Batch) {
		for i := range manyTombstones {
			b.Row(cf.RowID{Space: "t", Row: row(i%2) + fmt.Sprintf("#%05d", i)})
			b.Put("t", "a", 1, []byte("later"))
		}
	})
	compare("before later writes", snap)
	f.must(f.store.Flush(f.ctx, "t"))
	compare("in files", snap)
}
