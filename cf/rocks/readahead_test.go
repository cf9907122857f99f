//go:build cgo && linux && !norocksdb

package rocks_test

import (
	"crypto/rand"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/cftest"
	"github.com/smolwc/smolwc/cf/rocks"
)

// A reverse scan that becomes long in the row of the empty key, its last row, does not
// begin again. The model found this.
func TestReverseScanEndsInTheEmptyRow(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	s := open(t, "", rocks.Options{InMemory: true})
	defer s.Close()
	if err := s.CreateFamily(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	text := `"" q@2=v q@1=` + strings.Repeat("y", 3000) + ` r@1=v s@1=v | \x00 q@1=z | \xff q@1=w`
	for _, r := range cftest.ParseRows(text) {
		_, err := s.Write(t.Context(), nil, func(b *cf.Batch) error {
			b.Row(cf.RowID{Space: "t", Row: r.Key})
			for _, c := range r.Cells {
				b.Put("t", c.Qualifier, c.Timestamp, []byte(c.Value))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	snap, err := s.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	got, _, err := cftest.Collect(t.Context(), snap, cf.Scan{Family: "t", Rows: []cf.Range{{End: "\x01"}, {Start: "\x02"}}, Reverse: true, Hint: 1})
	if err != nil || len(got) != 3 || got[2].Key != "" || len(got[2].Cells) != 4 {
		t.Errorf("%d rows, %v", len(got), err)
	}
}

// A row that does not fit into the last block before a scan becomes long has been begun
// and not returned. If the scan is cut before it, it is still returned once.
func TestALongScanIsCutBeforeARowThatWasBegun(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	s := open(t, "", rocks.Options{InMemory: true})
	defer s.Close()
	if err := s.CreateFamily(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	const n = 80
	value := make([]byte, 64<<10) // that does not compress
	key := func(i int) string { return fmt.Sprintf("%02d#%02d", i/20, i%20) }
	for i := range n {
		_, _ = rand.Read(value)
		_, err := s.Write(t.Context(), nil, func(b *cf.Batch) error {
			b.Row(cf.RowID{Space: "t", Row: key(i)})
			b.Put("t", "q", 1, value)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, where := range []string{"memory", "files"} {
		for i := range 40 {
			for _, reverse := range []bool{false, true} {
				rows := cf.Range{Start: key(i)}
				if reverse {
					rows = cf.Range{End: key(n - i)}
				}
				snap, err := s.Snapshot(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				got, _, err := cftest.Collect(t.Context(), snap, cf.Scan{Family: "t", Rows: []cf.Range{rows}, Reverse: reverse})
				snap.Close()
				if err != nil || len(got) != n-i {
					t.Fatalf("in %s, %d rows left out, reverse %v: %d rows, %v", where, i, reverse, len(got), err)
				}
			}
		}
		if err := s.Flush(t.Context(), "t"); err != nil {
			t.Fatal(err)
		}
	}
}
