//go:build cgo && linux && !norocksdb

package rocks

import (
	"runtime"
	"testing"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/cftest"
)

func longStore(t *testing.T) *Store {
	t.Helper()
	s, err := Open("", Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() }) // a test may have done this already
	return s
}

func TestLongScans(t *testing.T) {
	s := longStore(t)
	cftest.LongTable(t, s)
	cftest.LongScans(t, s, s.scans.Helpers)
}

// TestAScanOfUnwantedCellsIsSoonLong: such a scan fills no blocks, but counts as long.
// It does not read cells again that it has scanned.
func TestAScanOfUnwantedCellsIsSoonLong(t *testing.T) {
	s := longStore(t)
	rows := int64(cftest.LongTable(t, s))
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
		if read := c.Cost().RowsScanned; read < rows || read > rows+100 { // a row at a bound may be looked at twice
			t.Errorf("reverse %v: %d rows read of %d", reverse, read, rows)
		}
	}
}
