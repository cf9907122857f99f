package pebble

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	engine "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/smolwc/smolwc/cf"
)

func sumsStore(t *testing.T) *Store {
	t.Helper()
	s, err := Open("db", Options{FS: vfs.NewMem(), Memory: 64 << 20, Async: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if err := s.CreateFamily(t.Context(), "t/a"); err != nil {
		t.Fatal(err)
	}
	return s
}

var one = binary.BigEndian.AppendUint64([]byte{6}, 1) // an i64

// add adds 1 to a column of a row, some times in one batch.
func add(t *testing.T, s *Store, row, column string, times int) {
	t.Helper()
	_, err := s.Write(t.Context(), nil, func(b *cf.Batch) error {
		b.Row(cf.RowID{Space: "t", Row: row})
		for range times {
			b.Merge("t/a", column, 0, cf.MergeSum, one)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// sumOf is the sum in a cell, 0 without one.
func sumOf(t *testing.T, s cf.Snapshot, row string) uint64 {
	t.Helper()
	c, err := s.Scan(context.Background(), cf.Scan{Family: "t/a", Rows: []cf.Range{cf.Single(row)}})
	if err != nil {
		t.Error(err)
		return 0
	}
	defer c.Close()
	b, err := c.Next(context.Background())
	if err != nil {
		t.Error(err)
	}
	if b == nil {
		return 0
	}
	value := b.Value(&b.Cells[0])
	if len(value) != len(one) || value[0] != one[0] {
		t.Errorf("the value is %x", value)
		return 0
	}
	return binary.BigEndian.Uint64([]byte(value)[1:])
}

// A read of a counter that was just incremented often adds few merges up, also if counters
// take turns.
func TestACounterThatIsIncrementedOftenIsReadAtOnce(t *testing.T) {
	s := sumsStore(t)
	const adds = 30_000
	for range adds / 50 {
		for _, row := range []string{"r", "s"} {
			add(t, s, row, "q", 50)
		}
	}
	merges := func(row string) (n int) {
		it, err := s.db.NewIter(&engine.IterOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer it.Close()
		f := (*s.families.Load())["t/a"]
		it.SeekGE(append(append([]byte{}, f.prefix...), cf.AppendCellKey(nil, row, "q", 0)...))
		if _, err := it.ValueAndErr(); err != nil {
			t.Fatal(err)
		}
		stats := it.Stats()
		return stats.ForwardStepCount[engine.InternalIterCall]
	}
	for _, row := range []string{"r", "s"} {
		deadline := time.Now().Add(5 * time.Minute)
		for n := merges(row); n > 10*pendingMerges; n = merges(row) {
			if time.Now().After(deadline) {
				t.Fatalf("a read of %s adds %d merges up", row, n)
			}
			add(t, s, row, "q", 1) // a batch that was last may have been due before
			time.Sleep(time.Millisecond)
		}
	}
	snap, err := s.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	if n := sumOf(t, snap, "r"); n < adds || n > 2*adds {
		t.Errorf("the sum is %d", n)
	}
}

// While writers add, and updates take sums away, nothing is lost and nothing counts twice.
func TestSumsUnderWriters(t *testing.T) {
	s := sumsStore(t)
	const writers, adds, rows = 4, 3_000, 3
	var taken atomic.Uint64
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := range adds {
				row := fmt.Sprint("r", i%rows)
				add(t, s, row, "q", 1)
				if (i+w)%100 != 0 {
					continue
				}
				var sum uint64
				_, err := s.Update(t.Context(), []cf.RowID{{Space: "t", Row: row}}, func(snap cf.Snapshot, b *cf.Batch) error {
					sum = sumOf(t, snap, row)
					b.Row(cf.RowID{Space: "t", Row: row})
					b.DeleteCell("t/a", "q", 0)
					return nil
				})
				if err != nil {
					t.Error(err)
				}
				taken.Add(sum)
			}
		})
	}
	all.Wait()
	snap, err := s.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	left := uint64(0)
	for r := range rows {
		left += sumOf(t, snap, fmt.Sprint("r", r))
	}
	if sum := taken.Load() + left; sum != writers*adds {
		t.Errorf("%d were taken and %d are left, of %d", taken.Load(), left, writers*adds)
	}
}

// A replay writes without the names of rows, and so without their locks.
func TestNoAddOfAReplayIsLost(t *testing.T) {
	s := sumsStore(t)
	const adds = 20_000
	op := cf.LoggedOp{Kind: cf.OpMerge, Family: "t/a", Key: cf.AppendCellKey(nil, "r", "q", 0)}
	var b cf.Batch
	b.Row(cf.RowID{Space: "t", Row: "r"})
	b.Merge("t/a", "q", 0, cf.MergeSum, one)
	op.Value = b.Value(&b.Ops()[0])
	for range adds {
		if _, err := s.Write(t.Context(), nil, func(b *cf.Batch) error {
			b.Logged(&op)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	snap, err := s.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	if n := sumOf(t, snap, "r"); n != adds {
		t.Errorf("the sum is %d, of %d adds", n, adds)
	}
}

// The adds of a damaged counter are kept as they are.
func TestADamagedCounterIsNotSummedUp(t *testing.T) {
	s := sumsStore(t)
	row := cf.RowID{Space: "t", Row: "r"}
	if _, err := s.Write(t.Context(), nil, func(b *cf.Batch) error {
		b.Row(row)
		b.Put("t/a", "q", 0, []byte("\x02no number"))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	add(t, s, "r", "q", 1)
	before := s.acked.Load()
	if err := s.sumUpCell(mergedCell{family: "t/a", key: cf.AppendCellKey(nil, "r", "q", 0), rows: []cf.RowID{row}}); err != nil || s.acked.Load() != before {
		t.Errorf("it was written: %v", err)
	}
}

// While a bound of expiry is lowered, no cell is written again: the janitor may have deleted it
// under the greater bound.
func TestNothingIsSummedUpWhileLessExpires(t *testing.T) {
	s := sumsStore(t)
	add(t, s, "r", "q", 2)
	f, before := (*s.families.Load())["t/a"], s.acked.Load()
	c := mergedCell{family: "t/a", key: cf.AppendCellKey(nil, "r", "q", 0), rows: []cf.RowID{{Space: "t", Row: "r"}}}
	f.expiring.Lock()
	err := s.sumUpCell(c)
	f.expiring.Unlock()
	if err != nil || s.acked.Load() != before {
		t.Errorf("it was written: %v", err)
	}
	if err := s.sumUpCell(c); err != nil || s.acked.Load() == before {
		t.Errorf("it was not written after that: %v", err)
	}
	if !f.expiring.TryLock() {
		t.Error("the bound can no longer be lowered")
	}
}

// A transaction that read a counter does not conflict with its value being put in the place
// of its merges.
func TestSummingUpIsNoConflict(t *testing.T) {
	s := sumsStore(t)
	add(t, s, "r", "q", pendingMerges/2)
	txn, err := s.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer txn.Close()
	txn.Read("t", cf.Single("r"))
	if n := sumOf(t, txn, "r"); n != pendingMerges/2 {
		t.Errorf("it reads %d", n)
	}
	row := cf.RowID{Space: "t", Row: "r"}
	before := s.acked.Load()
	if err := s.sumUpCell(mergedCell{family: "t/a", key: cf.AppendCellKey(nil, "r", "q", 0), rows: []cf.RowID{row}}); err != nil {
		t.Fatal(err)
	}
	if s.acked.Load() == before {
		t.Error("nothing was written")
	}
	var b cf.Batch
	b.Row(row)
	b.Put("t/a", "p", 0, []byte("\x01seen"))
	if err := txn.Add(&b); err != nil {
		t.Fatal(err)
	}
	if _, err := txn.Commit(t.Context(), nil); err != nil {
		t.Error(err)
	}
}
