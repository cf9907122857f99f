package cftikv_test

import (
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tikv/client-go/v2/tikvrpc"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/cftest"
	"github.com/smolwc/smolwc/tikv/cftikv"
)

// cellsOf reads a row at once, as qualifiers with values.
func cellsOf(t testing.TB, s *cftikv.Store, row string, filter cf.Filter) map[string]string {
	t.Helper()
	rows, err := cftest.Read(t.Context(), s, cf.Scan{Family: "f", Rows: []cf.Range{cf.Single(row)}, Filter: filter})
	must(t, err)
	all := map[string]string{}
	for _, r := range rows {
		for _, c := range r.Cells {
			all[c.Qualifier] = c.Value
		}
	}
	return all
}

// A read of a small row takes one request for its cells and one for the version of the
// families, and no timestamp. A large one is read whole.
func TestAReadOfASmallRow(t *testing.T) {
	c, client := newCluster(t), new(faulty)
	s := c.open(client.wrap)
	must(t, s.CreateFamily(t.Context(), "f"))
	for _, n := range []int{0, 1, 63, 64, 200} {
		row, want := fmt.Sprint("row", n), map[string]string{}
		_, err := s.Write(t.Context(), nil, func(b *cf.Batch) error {
			b.Row(id(row))
			for i := range n {
				q := fmt.Sprintf("q%03d", i)
				b.Put("f", q, 1, []byte(q))
				b.Put("f", q, 2, []byte(q+" new"))
				want[q] = q
			}
			return nil
		})
		must(t, err)
		if got := cellsOf(t, s, row, cf.Filter{}); !maps.Equal(got, want) { // the older versions come last
			t.Errorf("a row of %d columns has %d: %q", n, len(got), got)
		}
	}
	var scans, gets atomic.Int32
	client.set(func(req *tikvrpc.Request, send func() (*tikvrpc.Response, error)) (*tikvrpc.Response, error) {
		switch req.Type {
		case tikvrpc.CmdScan:
			scans.Add(1)
		case tikvrpc.CmdGet:
			gets.Add(1)
		}
		return send()
	})
	newest := cf.Filter{Versions: 1, Qualifiers: []cf.Range{cf.Single("q007")}}
	if got := cellsOf(t, s, "row200", newest); got["q007"] != "q007 new" || len(got) != 1 {
		t.Errorf("the newest version: %q", got)
	}
	if scans.Load() != 1 || gets.Load() != 1 {
		t.Errorf("%d scans and %d gets, want one of each", scans.Load(), gets.Load())
	}
}

// A read of a row is of one moment: it shows a whole commit, and all that was acknowledged
// before, while others drop the row.
func TestReadsOfARowAreOfOneMoment(t *testing.T) {
	stores := processes(t, 3, "f")
	var written, dropped atomic.Int64
	var working sync.WaitGroup
	done := make(chan struct{})
	working.Go(func() {
		defer close(done)
		for i := range int64(100) {
			_, err := stores[0].Write(t.Context(), []cf.RowID{id("r")}, func(b *cf.Batch) error {
				b.Row(id("r"))
				b.Put("f", "a", 1, fmt.Append(nil, i+1))
				b.Put("f", "b", 1, fmt.Append(nil, i+1))
				return nil
			})
			if err != nil {
				t.Error(err)
			}
			written.Store(i + 1)
			if i%5 == 4 {
				if err := stores[1].DropRange(t.Context(), []string{"f"}, cf.Single("r")); err != nil {
					t.Error(err)
				}
				dropped.Store(i + 1)
			}
		}
	})
	working.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			before, gone := written.Load(), dropped.Load()
			got := cellsOf(t, stores[2], "r", cf.Filter{})
			var n int64
			fmt.Sscan(got["a"], &n)
			if got["a"] != got["b"] || len(got) > 0 && (n < before || n <= gone) {
				t.Errorf("after %d, and the drop of %d: %q", before, gone, got)
			}
		}
	})
	working.Wait()
}

// A read of every row finds a row by any column, also where only one row is asked for.
func TestAReadOfEveryRowOfOneRow(t *testing.T) {
	s := newCluster(t).open(nil)
	must(t, s.CreateFamily(t.Context(), "f"))
	_, err := s.Write(t.Context(), nil, func(b *cf.Batch) error {
		b.Row(id("r"))
		b.Put("f", "m", 1, []byte("v"))
		return nil
	})
	must(t, err)
	snap, err := s.Snapshot(t.Context())
	must(t, err)
	defer snap.Close()
	for _, qualifier := range []string{"a", "m", "z"} {
		sc := cf.Scan{Family: "f", Rows: []cf.Range{cf.Single("r")}, Filter: cf.Filter{EveryRow: true, Versions: 1, Qualifiers: []cf.Range{cf.Single(qualifier)}}}
		once, err := cftest.Read(t.Context(), s, sc)
		must(t, err)
		scanned, _, err := cftest.Collect(t.Context(), snap, sc)
		must(t, err)
		for how, rows := range map[string]cftest.Rows{"at once": once, "in a snapshot": scanned} {
			if len(rows) != 1 || rows[0].Key != "r" {
				t.Errorf("%s, column %s: %v, want row r", how, qualifier, rows)
			}
		}
	}
}
