//go:build cgo && linux && !norocksdb

package rocks

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cf"
)

const longRows = 30_000

// longTable is a family of more than ten chunks: rows of three cells that do not
// compress, one row in the middle that is larger than a chunk, and some rows at
// the end that are in memory only.
func longTable(t *testing.T) *Store {
	t.Helper()
	s, err := Open("", Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() }) // a test may have done this already
	ctx := context.Background()
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
	return s
}

func longRow(r int) string { return fmt.Sprintf("row#%06d", r) }

// A summary describes the cells of a scan in their order.
type summary struct {
	rows, cells int
	hash        uint64
	cost        cf.Cost
	seeks       int64
}

func summarise(t *testing.T, s *Store, spec cf.Scan, cores int) (sum summary) {
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

// TestLongScansAreTheSameInParallel: several goroutines read the same cells as one.
func TestLongScansAreTheSameInParallel(t *testing.T) {
	s := longTable(t)
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

// TestAScanOfUnwantedCellsIsSoonLong: such a scan fills no blocks, but counts as long.
// It does not read cells again that it has scanned.
func TestAScanOfUnwantedCellsIsSoonLong(t *testing.T) {
	s := longTable(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	snap, err := s.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	for _, reverse := range []bool{false, true} {
		opened, err := snap.Scan(t.Context(), cf.Scan{Family: "t", Rows: []cf.Range{{}}, Reverse: reverse,
			Filter: cf.Filter{Where: []cf.RowCondition{{Qualifier: "none", Values: []cf.Range{{}}}}}})
		if err != nil {
			t.Fatal(err)
		}
		c := opened.(*cursor)
		defer c.Close()
		if err := c.Fill(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := c.Cost().CellsScanned; n > 3<<12 || c.Ahead() {
			t.Errorf("reverse %v: %d cells before anybody helps, %v", reverse, n, c.Ahead())
		}
		if err := c.Fill(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !c.Ahead() {
			t.Errorf("reverse %v: nobody helps", reverse)
		}
		if b, err := c.Next(t.Context()); b != nil || err != nil {
			t.Errorf("reverse %v: %v, %v", reverse, b, err)
		}
		const rows = longRows + 2000
		if read := c.Cost().RowsScanned; read < rows || read > rows+100 { // a row at a bound may be looked at twice
			t.Errorf("reverse %v: %d rows read of %d", reverse, read, rows)
		}
	}
}

// TestLongScansEndWhenTheyAreLeft: the helpers end too.
func TestLongScansEndWhenTheyAreLeft(t *testing.T) {
	s := longTable(t)
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
		for deadline := time.Now().Add(5 * time.Minute); s.scans.Helpers() != 0; {
			if time.Now().After(deadline) {
				t.Fatalf("%s: %d helpers are left", leave, s.scans.Helpers())
			}
			runtime.Gosched()
		}
	}
}
