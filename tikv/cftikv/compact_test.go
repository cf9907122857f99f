package cftikv_test

import (
	"fmt"
	"maps"
	"testing"

	"github.com/smolwc/smolwc/cf"
)

// stored is the number of keys that TiKV has now, of all kinds.
func (c *cluster) stored() (n int) {
	c.Helper()
	client := c.connect(nil)
	ts, err := client.CurrentTimestamp("global")
	if err != nil {
		c.Fatal(err)
	}
	it, err := client.GetSnapshot(ts).Iter([]byte("smolwc/"), []byte("smolwc0"))
	if err != nil {
		c.Fatal(err)
	}
	defer it.Close()
	for ; it.Valid(); n++ {
		if err := it.Next(); err != nil {
			c.Fatal(err)
		}
	}
	return n
}

// Compact deletes the cells that were dropped, in the range, and no others. A snapshot
// from before the drop still has them.
func TestCompactDeletesWhatWasDropped(t *testing.T) {
	const rows = 2500 // more than a transaction deletes
	c := newCluster(t)
	s := c.open(nil)
	if err := s.CreateFamily(t.Context(), "f"); err != nil {
		t.Fatal(err)
	}
	write := func(from, to int, value string) {
		_, err := s.Write(t.Context(), nil, func(b *cf.Batch) error {
			for i := from; i < to; i++ {
				put(b, "f", fmt.Sprintf("%04d", i), value)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	write(0, rows, "old")
	old, err := s.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	if err := s.DropRange(t.Context(), []string{"f"}, cf.Range{Start: "0100"}); err != nil {
		t.Fatal(err)
	}
	write(200, 210, "new")
	want, before := values(t, s, nil, "f"), c.stored()
	for _, step := range []struct {
		rows cf.Range
		gone int
	}{
		{cf.Range{End: "0100"}, 0},
		{cf.Range{End: "0200"}, 100},
		{cf.Range{}, rows - 110},
		{cf.Range{}, rows - 110},
	} {
		if err := s.Compact(t.Context(), "f", step.rows); err != nil {
			t.Fatal(err)
		}
		if got := before - c.stored(); got != step.gone {
			t.Errorf("after compacting %q, %d cells are gone, want %d", step.rows, got, step.gone)
		}
		if got := values(t, s, nil, "f"); !maps.Equal(got, want) {
			t.Errorf("after compacting %q there are %d rows, want %d", step.rows, len(got), len(want))
		}
	}
	if got := len(values(t, s, old, "f")); got != rows {
		t.Errorf("the old snapshot has %d rows, want %d", got, rows)
	}
}

// A row of many cells is dropped and not read, in the order of the batch's changes; then
// Compact deletes its cells.
func TestARowOfManyCellsIsDropped(t *testing.T) {
	const cells = 10_001
	c := newCluster(t)
	s := c.open(nil)
	if err := s.CreateFamily(t.Context(), "f"); err != nil {
		t.Fatal(err)
	}
	empty := c.stored()
	_, err := s.Write(t.Context(), nil, func(b *cf.Batch) error {
		for _, row := range []string{"q", "s"} {
			put(b, "f", row, "beside")
		}
		b.Row(id("r"))
		for i := range int64(cells) {
			b.Put("f", "many", i, nil)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Update(t.Context(), []cf.RowID{id("r")}, func(snap cf.Snapshot, b *cf.Batch) error {
		if n := len(values(t, s, snap, "f")); n != 3 {
			t.Errorf("%d rows, want 3", n)
		}
		b.Row(id("r"))
		b.Put("f", "before", 0, []byte("gone"))
		b.DeleteRow("f")
		b.Put("f", "q", 0, []byte("kept"))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"q": "beside", "r": "kept", "s": "beside"}
	if got := values(t, s, nil, "f"); !maps.Equal(got, want) {
		t.Errorf("there are %q, want %q", got, want)
	}
	if got := c.stored() - empty; got < cells {
		t.Errorf("%d keys are stored, want all %d cells still", got, cells)
	}
	if err := s.Compact(t.Context(), "f", cf.Range{}); err != nil {
		t.Fatal(err)
	}
	if got := c.stored() - empty; got != 2*len(want) { // a cell and a sentinel for each row
		t.Errorf("%d keys are stored, want %d", got, 2*len(want))
	}
}
