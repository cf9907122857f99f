//go:build cgo && linux && !norocksdb

package rocks

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/cftest"
)

// TestMaintenanceBlocksNobody: a compaction may take an hour. Creating a family must
// not wait for it, or all later reads and writes would wait too.
func TestMaintenanceBlocksNobody(t *testing.T) {
	s, err := Open("", Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx := context.Background()
	if err := s.CreateFamily(ctx, "t"); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(5*time.Minute, func() { panic("blocked by maintenance") })
	defer late.Stop()
	err = s.maintain("t", func(*family) error {
		return errors.Join(s.CreateFamily(ctx, "u"), s.DropFamily(ctx, "t"))
	})
	if err != nil {
		t.Error(err)
	}
}

// TestDropRangeDoesNotFallBetweenReadAndWrite: the row is dropped after an update, or
// before it, and then the update sees that.
func TestDropRangeDoesNotFallBetweenReadAndWrite(t *testing.T) {
	s, err := Open("", Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx := context.Background()
	if err := s.CreateFamily(ctx, "t"); err != nil {
		t.Fatal(err)
	}
	for range 30 {
		putCells(t, s, "r n@0=old")
		hasRead := make(chan struct{})
		var working sync.WaitGroup
		working.Go(func() {
			_, err := s.Update(ctx, []cf.RowID{{Space: "t", Row: "r"}}, func(snap cf.Snapshot, b *cf.Batch) error {
				rows, _, err := cftest.Collect(ctx, snap, cf.Scan{Family: "t", Rows: []cf.Range{cf.Single("r")}})
				close(hasRead)
				time.Sleep(time.Millisecond)
				b.Row(cf.RowID{Space: "t", Row: "r"})
				b.Put("t", "copy", 0, []byte(rows.String()))
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
		<-hasRead
		if err := s.DropRange(ctx, []string{"t"}, cf.Range{}); err != nil {
			t.Error(err)
		}
		working.Wait()
		snap, err := s.Snapshot(ctx)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := scanFor(t, snap, cf.Scan{Rows: []cf.Range{{}}})
		if err != nil || len(rows) != 0 {
			t.Errorf("left: %s, %v", rows, err)
		}
		snap.Close()
	}
}

// TestACursorMayOutliveItsSnapshot, although callers must not let it: RocksDB's
// iterators read the snapshot at each new file.
func TestACursorMayOutliveItsSnapshot(t *testing.T) {
	s, snap := storeWith(t, "a q@2=x q@1=y | b q@1=z", cf.AppendCellKey(nil, "c", "q", 1))
	defer s.Close()
	ctx := context.Background()
	c, err := snap.Scan(ctx, cf.Scan{Family: "t", Rows: []cf.Range{{}}})
	if err != nil {
		t.Fatal(err)
	}
	putCells(t, s, "d q@1=later")
	snap.Close()
	if n := s.db.GetProperty("rocksdb.num-snapshots"); n != "1" {
		t.Errorf("%s snapshots while a cursor reads", n)
	}
	if b, err := c.Next(ctx); err != nil || len(b.Rows) != 3 {
		t.Errorf("block %+v, %v, want three rows", b, err)
	}
	c.Close()
	if n := s.db.GetProperty("rocksdb.num-snapshots"); n != "0" {
		t.Errorf("%s snapshots left", n)
	}
}

// TestCloseAmidEverything closes a store while other goroutines use it in every way.
// They may see only ErrClosed, or ErrNotExist for a dropped family.
func TestCloseAmidEverything(t *testing.T) {
	for range 20 {
		closeAmidEverything(t)
	}
}

func closeAmidEverything(t *testing.T) {
	s, err := Open("", Options{InMemory: true, Memory: 8 << 20})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	if err := s.CreateFamily(ctx, "t"); err != nil {
		t.Fatal(err)
	}
	putCells(t, s, "a q@2=x q@1=y | b q@1=z")
	row := []cf.RowID{{Space: "t", Row: "a"}}
	write := func(_ cf.Snapshot, b *cf.Batch) error {
		b.Row(row[0])
		b.Put("t", "q", 3, []byte("w"))
		b.PutMeta("k", []byte("v"))
		return nil
	}
	scan := func(rows ...cf.Range) error {
		snap, err := s.Snapshot(ctx)
		if err != nil {
			return err
		}
		defer snap.Close()
		_, err = snap.MetaPrefix(ctx, "")
		_, _, err2 := cftest.Collect(ctx, snap, cf.Scan{Family: "t", Rows: rows})
		return errors.Join(err, err2)
	}
	canceled := func() error {
		ctx, cancel := context.WithCancel(ctx)
		go cancel()
		if err := s.Compact(ctx, "t", cf.Range{}); !errors.Is(err, context.Canceled) {
			return err
		}
		return nil
	}
	transaction := func() error {
		tx, err := s.Begin(ctx)
		if err != nil {
			return err
		}
		defer tx.Close()
		for range 3 {
			var b cf.Batch
			b.Row(row[0])
			b.Put("t", "q", 4, []byte("t"))
			_, _, err := cftest.Collect(ctx, tx, cf.Scan{Family: "t", Rows: []cf.Range{{}}})
			if err := errors.Join(err, tx.Add(&b)); err != nil {
				return err
			}
		}
		if _, err = tx.Commit(ctx, nil); errors.Is(err, cf.ErrConflict) {
			return nil
		}
		return err
	}
	var working sync.WaitGroup
	for name, do := range map[string]func() error{
		"transaction": transaction,
		"update":      func() error { _, err := s.Update(ctx, row, write); return err },
		"blind": func() error {
			_, err := s.Write(ctx, row, func(b *cf.Batch) error { return write(nil, b) })
			return err
		},
		"scan":    func() error { return scan(cf.Range{}) },
		"row":     func() error { return scan(cf.Single("a")) },
		"drop":    func() error { return errors.Join(s.DropFamily(ctx, "t"), s.CreateFamily(ctx, "t")) },
		"create":  func() error { return errors.Join(s.CreateFamily(ctx, "u"), s.DropFamily(ctx, "u")) },
		"range":   func() error { return s.DropRange(ctx, []string{"t"}, cf.Range{Start: "b"}) },
		"flush":   func() error { return s.Flush(ctx, "t") },
		"compact": func() error { return s.Compact(ctx, "t", cf.Range{}) },
		"cancel":  canceled,
		"list":    func() error { s.Families(); return nil },
	} {
		working.Go(func() {
			for range 10_000 {
				err := do()
				if errors.Is(err, cf.ErrClosed) {
					return
				}
				if err != nil && !errors.Is(err, cf.ErrNotExist) {
					t.Errorf("%s: %v", name, err)
					return
				}
			}
		})
	}
	time.Sleep(15 * time.Millisecond)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	working.Wait()
	if snapshots, cursors := s.Open(); snapshots != 0 || cursors != 0 {
		t.Errorf("left open: %d snapshots, %d cursors", snapshots, cursors)
	}
}
