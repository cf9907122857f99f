package cftikv_test

import (
	"encoding/binary"
	"sync"
	"testing"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/tikv/cftikv"
)

func sum(n int64) []byte { return binary.BigEndian.AppendUint64([]byte{0x06}, uint64(n)) }

func addTo(t *testing.T, s *cftikv.Store, row string, n int64) {
	t.Helper()
	_, err := s.Write(t.Context(), nil, func(b *cf.Batch) error {
		b.Row(id(row))
		b.Merge("f", "q", 0, cf.MergeSum, sum(n))
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// Several processes add to one cell, and nothing is lost.
func TestMergesOfSeveralProcesses(t *testing.T) {
	const each = 20
	stores := processes(t, 3, "f")
	var working sync.WaitGroup
	for _, s := range stores {
		working.Go(func() {
			for range each {
				addTo(t, s, "r", 1)
			}
		})
	}
	working.Wait()
	if got, want := values(t, stores[0], nil, "f")["r"], string(sum(3*each)); got != want {
		t.Errorf("the sum is %x, want %x", got, want)
	}
}

// A merge sees the changes before it in its batch, and in its transaction, and nothing
// that was dropped.
func TestMergesSeeWhatComesBefore(t *testing.T) {
	s := processes(t, 1, "f")[0]
	expect := func(what string, snap cf.Snapshot, want int64) {
		t.Helper()
		if got := values(t, s, snap, "f")["r"]; got != string(sum(want)) {
			t.Errorf("%s: the sum is %x, want %d", what, got, want)
		}
	}
	addTo(t, s, "r", 1)
	addTo(t, s, "r", 2)
	expect("twice", nil, 3)
	if err := s.DropRange(t.Context(), []string{"f"}, cf.Range{}); err != nil {
		t.Fatal(err)
	}
	addTo(t, s, "r", 4)
	expect("after a drop", nil, 4)
	_, err := s.Write(t.Context(), nil, func(b *cf.Batch) error {
		b.Row(id("r"))
		b.DeleteRow("f")
		b.Merge("f", "q", 0, cf.MergeSum, sum(8))
		b.Merge("f", "q", 0, cf.MergeSum, sum(16))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	expect("after a delete in the batch", nil, 24)
	tx, err := s.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Close()
	var b cf.Batch
	b.Row(id("r"))
	b.Merge("f", "q", 0, cf.MergeSum, sum(32))
	if err := tx.Add(&b); err != nil {
		t.Fatal(err)
	}
	expect("in the transaction", tx, 56)
	addTo(t, s, "r", 1000)
	if _, err := tx.Commit(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	expect("with a write that came in between", nil, 1056)
}
