//go:build cgo && linux && !norocksdb

package rocks

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/cftest"
)

// A reverse scan reads a row's cells forwards. When a fill ends after the row's last
// cell, the engine's iterator is at the row that was read before. If such a scan
// becomes long and is cut there, each row is still returned once.
func TestAReverseScanIsCutBehindARow(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	for _, test := range []struct {
		name   string
		at     int64 // the time of cells that are wanted; the others' is 1
		filter cf.Filter
		cells  []int // of the row after which the fill ends; about 2 * cellsBeforeAhead
		rows   int
	}{
		{"in a block", 1, cf.Filter{Values: []cf.Range{{Start: "\x02"}}}, []int{8242, 8243, 8244, 8245, 8246}, 42},
		{"not wanted", 10, cf.Filter{Since: 5}, []int{8061, 8062, 8063, 8064, 8065}, 41},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, n := range test.cells {
				s := openRows(t, n, test.at)
				snap, err := s.Snapshot(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				got, _, err := cftest.Collect(t.Context(), snap, cf.Scan{Family: "t", Rows: []cf.Range{{}}, Reverse: true, Filter: test.filter})
				if err != nil || len(got) != test.rows {
					t.Errorf("%d cells: %d rows, %v; want %d", n, len(got), err, test.rows)
				}
				snap.Close()
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// openRows is a store with many chunks, a row of this many small cells, and a row that
// is larger than a chunk.
func openRows(t *testing.T, cells int, at int64) *Store {
	t.Helper()
	s, err := Open("", Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.CreateFamily(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	rng := rand.NewChaCha8([32]byte{1})
	large := func(n int) []byte { // that does not compress
		v := make([]byte, n)
		_, _ = rng.Read(v)
		v[0] = 1
		return v
	}
	_, err = s.Write(t.Context(), nil, func(b *cf.Batch) error {
		for r := range 40 {
			b.Row(cf.RowID{Space: "t", Row: fmt.Sprintf("a%03d", r)})
			b.Put("t", "q", at, large(50_000))
		}
		b.Row(cf.RowID{Space: "t", Row: "k"})
		for q := range cells {
			b.Put("t", fmt.Sprintf("q%05d", q), 1, []byte{1})
		}
		b.Row(cf.RowID{Space: "t", Row: "z"})
		b.Put("t", "q", at, large(3_000_000))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Flush(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	return s
}
