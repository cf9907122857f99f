package cftest

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cf"
)

const longRows = 30_000

// LongTable makes a family t of more than ten chunks in a store: rows of three cells that
// do not compress, one row in the middle that is larger than a chunk, and some rows at the
// end that are in memory only. It returns the number of rows.
func LongTable(t *testing.T, s cf.Store) (rows int) {
	t.Helper()
	ctx := t.Context()
	if err := s.CreateFamily(ctx, "t"); err != nil {
		t.Fatal(err)
	}
	rng := rand.NewChaCha8([32]byte{1})
	put := func(from, to int) {
		_, err := s.Write(ctx, nil, func(b *cf.Batch) error {
			value := make([]byte, 120)
			for r := from; r < to; r++ {
				b.Row(cf.RowID{Space: "t", Row: longRow(r)})
				cells := 3
				if r == longRows/2 {
					cells = 30_000
				}
				for q := range cells {
					rng.Read(value)
					b.Put("t", fmt.Sprintf("q%05d", q), int64(r), value)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for r := 0; r < longRows; r += 1000 {
		put(r, r+1000)
	}
	if err := s.Flush(ctx, "t"); err != nil {
		t.Fatal(err)
	}
	put(longRows, longRows+2000)
	return longRows + 2000
}

func longRow(r int) string { return fmt.Sprintf("row#%06d", r) }

// A summary describes the cells of a scan in their order.
type summary struct {
	rows, cells int
	hash        uint64
	cost        cf.Cost
	seeks       int64
}

func summarise(t *testing.T, s cf.Store, spec cf.Scan, cores int) (sum summary) {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
	ctx := context.Background()
	snap, err := s.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	spec.Family = "t"
	c, err := snap.Scan(ctx, spec)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	h := fnv.New64a()
	for {
		b, err := c.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if b == nil {
			break
		}
		for i := range b.Rows {
			if i > 0 || !b.Continued {
				sum.rows++
				h.Write([]byte(b.RowKey(&b.Rows[i])))
			}
			if spec.Filter.CountOnly {
				sum.cells += int(b.Rows[i].Len)
				continue
			}
			for j := range b.RowCells(&b.Rows[i]) {
				cell := &b.Cells[int(b.Rows[i].First)+j]
				sum.cells++
				h.Write([]byte(b.Qualifier(cell)))
				h.Write(b.Value(cell))
			}
		}
	}
	sum.hash, sum.cost = h.Sum64(), c.Cost()
	sum.seeks = sum.cost.Seeks
	sum.cost.Seeks, sum.cost.BytesScanned, sum.cost.CellsScanned, sum.cost.RowsScanned = 0, 0, 0, 0
	return sum
}

// LongScans tests a store in which several goroutines read a long scan; helpers is how many
// of them help others. It closes the store, whose family t is a [LongTable].
func LongScans(t *testing.T, s cf.Store, helpers func() int) {
	t.Run("Parallel", func(t *testing.T) { testLongScans(t, s) })
	t.Run("Random", func(t *testing.T) { testRandomLongScans(t, s) })
	t.Run("Left", func(t *testing.T) { testLeftScans(t, s, helpers) })
}

// Several goroutines read the same cells as one.
func testLongScans(t *testing.T, s cf.Store) {
	var many []cf.Range
	for r := 0; r < longRows; r += 20 {
		many = append(many, cf.Single(longRow(r)))
	}
	half := cf.Range{Start: longRow(longRows / 3), End: longRow(longRows + 1000)}
	two := []cf.Range{{End: longRow(9_500)}, {Start: longRow(12_000)}}
	for _, test := range []struct {
		name     string
		spec     cf.Scan
		parallel bool
	}{
		{"all", cf.Scan{Rows: []cf.Range{{}}}, true},
		{"reverse", cf.Scan{Rows: []cf.Range{{}}, Reverse: true}, true},
		{"a range", cf.Scan{Rows: []cf.Range{half}}, true},
		{"a range in reverse", cf.Scan{Rows: []cf.Range{half}, Reverse: true}, true},
		{"two ranges", cf.Scan{Rows: two}, true},
		{"two ranges in reverse", cf.Scan{Rows: two, Reverse: true}, true},
		{"many rows", cf.Scan{Rows: many}, true},
		{"many rows in reverse", cf.Scan{Rows: many, Reverse: true}, true},
		{"keys", cf.Scan{Rows: []cf.Range{{}}, Filter: cf.Filter{KeysOnly: true}}, true},
		{"counts", cf.Scan{Rows: []cf.Range{{}}, Filter: cf.Filter{CountOnly: true}}, true},
		{"a column", cf.Scan{Rows: []cf.Range{{}}, Filter: cf.Filter{Qualifiers: []cf.Range{cf.Single("q00001")}}}, true},
		{"a sample", cf.Scan{Rows: []cf.Range{{}}, Sample: 1 << 63}, true},
		{"a condition", cf.Scan{Rows: []cf.Range{{}}, Filter: cf.Filter{Where: []cf.RowCondition{{Qualifier: "q00002", Values: []cf.Range{{Start: "\xf0"}}}}}}, true},
		{"a condition at the end of a large row", cf.Scan{Rows: []cf.Range{{}}, Filter: cf.Filter{Where: []cf.RowCondition{{Qualifier: "q29999", Values: []cf.Range{{}}}}}}, true},
		{"the absence of that", cf.Scan{Rows: []cf.Range{{}}, Reverse: true, Filter: cf.Filter{CountOnly: true, Where: []cf.RowCondition{{Qualifier: "q29999"}}}}, true},
		{"a limit", cf.Scan{Rows: []cf.Range{{}}, Limit: 20_000}, false},
		{"memory", cf.Scan{Rows: []cf.Range{{Start: longRow(longRows)}}}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			want := summarise(t, s, test.spec, 1)
			got := summarise(t, s, test.spec, 4)
			if parallel := got.seeks != want.seeks; parallel != test.parallel && len(test.spec.Rows) < len(many) { // each chunk begins with one, and so does each of many rows
				t.Errorf("%d seeks with four cores, %d with one; in parallel: want %t", got.seeks, want.seeks, test.parallel)
			}
			if want.rows == 0 {
				t.Error("no rows")
			}
			if got.seeks = want.seeks; got != want {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		})
	}
}

// testRandomLongScans compares scans by four cores with scans by one.
func testRandomLongScans(t *testing.T, s cf.Store) {
	for seed := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, 0))
		at := func() string { return longRow(rng.IntN(longRows + 2000)) }
		spec := cf.Scan{Rows: []cf.Range{{}}, Reverse: rng.IntN(2) == 0, Lend: rng.IntN(2) == 0, CountTombstones: rng.IntN(4) == 0, Filter: AnyFilter(rng, "q00001", "q01000")}
		switch rng.IntN(4) {
		case 0:
			spec.Rows = []cf.Range{{Start: min(at(), longRow(longRows/2))}}
		case 1:
			cut := []string{at(), at(), at(), at()}
			slices.Sort(cut)
			spec.Rows = []cf.Range{{End: cut[0]}, {Start: cut[1], End: cut[2]}, {Start: cut[3]}}
		}
		want, got := summarise(t, s, spec, 1), summarise(t, s, spec, 4)
		if got.seeks = want.seeks; got != want {
			t.Errorf("seed %d, %+v:\ngot  %+v\nwant %+v", seed, spec, got, want)
		}
	}
}

// AnyFilter is a random filter; some have conditions on the columns a and b, or only these.
func AnyFilter(rng *rand.Rand, a, b string) (f cf.Filter) {
	if rng.IntN(3) == 0 {
		f.Qualifiers = []cf.Range{cf.Single(a), cf.Single(b)}
	}
	if rng.IntN(4) == 0 {
		f.Versions = 1 + rng.IntN(2)
	}
	switch rng.IntN(9) {
	case 0:
		f.CellsPerRow = 1 + rng.IntN(3)
	case 1:
		f.KeysOnly = true
	case 2:
		f.CountOnly = true
	case 3:
		f.StripValues = true
	case 4:
		f.Where = []cf.RowCondition{{Qualifier: a, Values: []cf.Range{{Start: "\x40"}}}, {Qualifier: b}}[:1+rng.IntN(2)]
	case 5:
		f.Values = []cf.Range{{Start: "\x40", End: "\x80"}}
	case 6:
		f.EveryRow = len(f.Qualifiers) > 0
	}
	return f
}

// The helpers of a scan that is left end too.
func testLeftScans(t *testing.T, s cf.Store, helpers func() int) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	snap, err := s.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, leave := range []string{"close", "cancel", "close the store"} {
		c, err := snap.Scan(ctx, cf.Scan{Family: "t", Rows: []cf.Range{{}}})
		if err != nil {
			t.Fatal(err)
		}
		for range 7 {
			if b, err := c.Next(ctx); b == nil || err != nil {
				t.Fatal(b, err)
			}
		}
		switch leave {
		case "cancel":
			cancel()
			for err == nil {
				_, err = c.Next(ctx)
			}
			if !errors.Is(err, context.Canceled) {
				t.Errorf("after a cancel: %v", err)
			}
			ctx = context.Background()
		case "close the store":
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Next(ctx); !errors.Is(err, cf.ErrClosed) {
				t.Errorf("after the store was closed: %v", err)
			}
		}
		c.Close()
		for deadline := time.Now().Add(5 * time.Minute); helpers() != 0; {
			if time.Now().After(deadline) {
				t.Fatalf("%s: %d helpers are left", leave, helpers())
			}
			runtime.Gosched()
		}
	}
}

// A reverse scan that becomes long in the row of the empty key, its last row, does not
// begin again. The model found this.
func testReverseToTheEmptyRow(f *fixture) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	f.create("t")
	f.write("t", `"" q@2=v q@1=`+strings.Repeat("y", 3000)+` r@1=v s@1=v | \x00 q@1=z | \xff q@1=w`)
	snap := f.snapshot()
	defer snap.Close()
	got, _, err := Collect(f.ctx, snap, cf.Scan{Family: "t", Rows: []cf.Range{{End: "\x01"}, {Start: "\x02"}}, Reverse: true, Hint: 1})
	if err != nil || len(got) != 3 || got[2].Key != "" || len(got[2].Cells) != 4 {
		f.Errorf("%d rows, %v", len(got), err)
	}
}

// A row that does not fit into the last block before a scan becomes long has been begun
// and not returned. If the scan is cut before it, it is still returned once.
func testCutBeforeABegunRow(f *fixture) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	f.create("t")
	const n = 80
	value := make([]byte, 64<<10) // that does not compress
	random := rand.NewChaCha8([32]byte{1})
	key := func(i int) string { return fmt.Sprintf("%02d#%02d", i/20, i%20) }
	for i := range n {
		_, _ = random.Read(value)
		f.blind(func(b *cf.Batch) {
			b.Row(cf.RowID{Space: "t", Row: key(i)})
			b.Put("t", "q", 1, value)
		})
	}
	for _, where := range []string{"memory", "files"} {
		for i := range 40 {
			for _, reverse := range []bool{false, true} {
				rows := cf.Range{Start: key(i)}
				if reverse {
					rows = cf.Range{End: key(n - i)}
				}
				snap := f.snapshot()
				got, _, err := Collect(f.ctx, snap, cf.Scan{Family: "t", Rows: []cf.Range{rows}, Reverse: reverse})
				snap.Close()
				if err != nil || len(got) != n-i {
					f.Fatalf("in %s, %d rows left out, reverse %v: %d rows, %v", where, i, reverse, len(got), err)
				}
			}
		}
		f.must(f.store.Flush(f.ctx, "t"))
	}
}
