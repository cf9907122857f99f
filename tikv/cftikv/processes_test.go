package cftikv_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/cftest"
	"github.com/smolwc/smolwc/tikv/cftikv"
)

func id(row string) cf.RowID { return cf.RowID{Space: "t", Row: row} }

// put makes a cell with the qualifier q and the timestamp 0 part of a batch.
func put(b *cf.Batch, family, row, value string) {
	b.Row(id(row))
	b.Put(family, "q", 0, []byte(value))
}

// values are the values of such cells, by row.
func values(t testing.TB, s cf.Reader, snap cf.Snapshot, family string, rows ...cf.Range) map[string]string {
	t.Helper()
	if snap == nil {
		var err error
		if snap, err = s.Snapshot(t.Context()); err != nil {
			t.Fatal(err)
		}
		defer snap.Close()
	}
	if rows == nil {
		rows = []cf.Range{{}}
	}
	found, _, err := cftest.Collect(t.Context(), snap, cf.Scan{Family: family, Rows: rows})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, r := range found {
		all[r.Key] = r.Cells[0].Value
	}
	return all
}

// processes opens a store several times, as several processes would.
func processes(t *testing.T, n int, families ...string) (all []*cftikv.Store) {
	t.Helper()
	c := newCluster(t)
	for range n {
		all = append(all, c.open(nil))
	}
	if err := all[0].CreateFamily(t.Context(), families...); err != nil {
		t.Fatal(err)
	}
	return all
}

func increase(ctx context.Context, t testing.TB, s *cftikv.Store, row string) error {
	_, err := s.Update(ctx, []cf.RowID{id(row)}, func(snap cf.Snapshot, b *cf.Batch) error {
		n, _ := strconv.Atoi(values(t, s, snap, "f", cf.Single(row))[row])
		put(b, "f", row, strconv.Itoa(n+1))
		return nil
	})
	return err
}

// Updates of one row by several processes do not overwrite each other.
func TestNoUpdateIsLostBetweenProcesses(t *testing.T) {
	const workers, each = 3, 10
	stores := processes(t, 3, "f")
	var working sync.WaitGroup
	for _, s := range stores {
		for range workers {
			working.Go(func() {
				for range each {
					if err := increase(t.Context(), t, s, "r"); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	working.Wait()
	want := strconv.Itoa(len(stores) * workers * each)
	if got := values(t, stores[0], nil, "f")["r"]; got != want {
		t.Errorf("the row counts %s, want %s", got, want)
	}
}

// A cell that was committed after a drop is not hidden by it, and one that was committed
// before is. Each row is written and dropped at the same time, while others read: a
// reader that meets the locks of a commit pushes it to a later timestamp.
func TestDropsHideExactlyTheCellsBeforeThem(t *testing.T) {
	const rows = 150
	stores := processes(t, 3, "f")
	ways := []func(s *cftikv.Store, row string) (cf.Position, error){
		func(s *cftikv.Store, row string) (cf.Position, error) {
			return s.Write(t.Context(), nil, func(b *cf.Batch) error { put(b, "f", row, "x"); return nil })
		},
		func(s *cftikv.Store, row string) (cf.Position, error) {
			return s.Write(t.Context(), []cf.RowID{id(row)}, func(b *cf.Batch) error { put(b, "f", row, "x"); return nil })
		},
		func(s *cftikv.Store, row string) (cf.Position, error) {
			return s.Update(t.Context(), []cf.RowID{id(row)}, func(snap cf.Snapshot, b *cf.Batch) error {
				values(t, s, snap, "f", cf.Single(row))
				put(b, "f", row, "x")
				return nil
			})
		},
	}
	want := map[string]string{}
	for i := range rows {
		row := fmt.Sprintf("%03d", i)
		var written, dropped cf.Position
		var racing sync.WaitGroup
		racing.Go(func() {
			var err error
			if written, err = ways[i%len(ways)](stores[0], row); err != nil {
				t.Error(err)
			}
		})
		racing.Go(func() {
			var err error
			dropped, err = stores[1].Write(t.Context(), nil, func(b *cf.Batch) error { b.DeleteRows("f", cf.Single(row)); return nil })
			if err != nil {
				t.Error(err)
			}
		})
		racing.Go(func() {
			for range 3 {
				values(t, stores[2], nil, "f", cf.Single(row))
			}
		})
		racing.Wait()
		if written > dropped {
			want[row] = "x"
		}
	}
	got := values(t, stores[0], nil, "f")
	if !maps.Equal(got, want) {
		t.Errorf("there are the rows\n%q, want\n%q", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
	t.Logf("%d of %d rows were written after their drop", len(want), rows)
}

// The next writer of a row does not read the row's last timestamp. Its own is greater all
// the same, also after a write that has given the row many.
func TestStampsAscendBetweenProcesses(t *testing.T) {
	stores := processes(t, 2, "f")
	last := int64(0)
	for i := range 6 {
		_, err := stores[i%2].Write(t.Context(), []cf.RowID{id("r")}, func(b *cf.Batch) error {
			b.Row(id("r"))
			for range []int{1, 20, 200_000}[i%3] {
				ts, _ := b.Stamp()
				if ts <= last {
					t.Fatalf("%d after %d", ts, last)
				}
				last = ts
			}
			b.Put("f", "q", last, []byte("v"))
			return nil
		})
		must(t, err)
	}
}
