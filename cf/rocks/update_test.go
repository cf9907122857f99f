//go:build cgo && linux && !norocksdb

package rocks

import (
	"bytes"
	"fmt"
	"sync"
	"testing"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/cftest"
)

// TestAnUpdateTakesASnapshotForOtherRows: it reads its own rows without the engine's
// snapshot, unless they are many.
func TestAnUpdateTakesASnapshotForOtherRows(t *testing.T) {
	ctx := t.Context()
	s, err := Open("", Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.CreateFamily(ctx, "t"); err != nil {
		t.Fatal(err)
	}
	rows := []cf.RowID{{Space: "t", Row: "own"}, {Space: "t", Row: "second"}}
	one := func(row string) cf.Scan { return cf.Scan{Family: "t", Rows: []cf.Range{cf.Single(row)}} }
	for _, c := range []struct {
		name  string
		rows  int // beside those that are read
		scans []cf.Scan
		want  int64 // snapshots
	}{
		{"nothing", 0, nil, 0},
		{"its rows", 0, []cf.Scan{one("own"), one("second"), one("own")}, 0},
		{"another row", 0, []cf.Scan{one("own"), one("other")}, 1},
		{"all rows, twice", 0, []cf.Scan{{Family: "t", Rows: []cf.Range{{}}}, {Family: "t", Rows: []cf.Range{{}}}}, 1},
		{"its rows, which are many", fewLocked, []cf.Scan{one("own")}, 1},
	} {
		named := rows
		for i := range c.rows {
			named = append(named, cf.RowID{Space: "t", Row: fmt.Sprint("many", i)})
		}
		_, err := s.Update(ctx, named, func(snap cf.Snapshot, b *cf.Batch) error {
			for _, scan := range c.scans {
				if _, _, err := cftest.Collect(ctx, snap, scan); err != nil {
					return err
				}
			}
			if got := s.number("num-snapshots"); got != c.want {
				t.Errorf("%s: %d snapshots, want %d", c.name, got, c.want)
			}
			b.Row(rows[0])
			b.Put("t", "q", 0, []byte("v"))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := s.number("num-snapshots"); got != 0 {
			t.Errorf("%s: %d snapshots are left", c.name, got)
		}
	}
}

// After many writers, every write is there, and positions only grow.
func TestJoinedWritesAreAllThere(t *testing.T) {
	s, err := Open("", Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const writers, each = 16, 200
	var done sync.WaitGroup
	for w := range writers {
		done.Go(func() {
			var last cf.Position
			for i := range each {
				pos, err := s.Write(t.Context(), nil, func(b *cf.Batch) error {
					b.PutMeta(fmt.Sprintf("k/%02d/%03d", w, i), []byte{byte(w), byte(i)})
					return nil
				})
				if err != nil || pos <= last {
					t.Errorf("position %d after %d, %v", pos, last, err)
				}
				last = pos
			}
		})
	}
	done.Wait()
	snap, err := s.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	meta, err := snap.MetaPrefix(t.Context(), "k/")
	if err != nil || len(meta) != writers*each {
		t.Fatalf("%d entries, %v", len(meta), err)
	}
	for w := range writers {
		for i := range each {
			if got := meta[fmt.Sprintf("k/%02d/%03d", w, i)]; !bytes.Equal(got, []byte{byte(w), byte(i)}) {
				t.Errorf("entry %d of writer %d is %v", i, w, got)
			}
		}
	}
}
