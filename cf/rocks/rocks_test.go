package rocks

import (
	"context"
	"fmt"
	"testing"
	"unsafe"

	"github.com/linxGnu/grocksdb"

	"github.com/smolwc/smolwc/cf"
)

func TestGrocksdbKeepsItsHandlesWhereWeReadThem(t *testing.T) {
	opts := grocksdb.NewDefaultOptions()
	defer opts.Destroy()
	opts.SetEnv(grocksdb.NewMemEnv())
	opts.SetCreateIfMissing(true)
	db, err := grocksdb.OpenDb(opts, "/pin")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	snap := db.NewSnapshot()
	defer db.ReleaseSnapshot(snap)
	h, err := db.CreateColumnFamily(opts, "f")
	if err != nil {
		t.Fatal(err)
	}
	defer h.Destroy()
	w := grocksdb.NewDefaultWriteOptions()
	defer w.Destroy()
	for _, v := range []any{opts, db, snap, h, w} {
		if handleOf(v) == nil {
			t.Errorf("%T: nil handle", v)
		}
	}
}

func TestBlocksHaveTheLayoutThatCWrites(t *testing.T) {
	if got := unsafe.Sizeof(cf.RowSpan{}); got != 16 {
		t.Errorf("a RowSpan has %d bytes, C writes 16", got)
	}
	if got := unsafe.Sizeof(cf.CellSpan{}); got != 24 {
		t.Errorf("a CellSpan has %d bytes, C writes 24", got)
	}
	if got := unsafe.Offsetof(cf.CellSpan{}.ValueLen); got != 16 {
		t.Errorf("a CellSpan's value length is at %d, C writes it at 16", got)
	}
}

func TestSmoke(t *testing.T) {
	s, err := Open("", Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx := context.Background()
	if err := s.CreateFamily(ctx, "fleet/meta"); err != nil {
		t.Fatal(err)
	}
	_, err = s.Update(ctx, nil, func(_ cf.Snapshot, b *cf.Batch) error {
		for r := range 5 {
			b.Row(cf.RowID{Space: "fleet", Row: fmt.Sprintf("r%d", r)})
			for q := range 3 {
				for ts := range 4 {
					b.Put("fleet/meta", fmt.Sprintf("q%d", q), int64(ts), fmt.Appendf(nil, "v%d", ts))
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	snap, err := s.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	for _, rev := range []bool{false, true} {
		c, err := snap.Scan(ctx, cf.Scan{Family: "fleet/meta", Rows: []cf.RowRange{{Start: "r1", End: "r4"}}, Reverse: rev,
			Filter: cf.Filter{Versions: 2, Qualifiers: []cf.QualifierRange{cf.SingleQualifier("q0"), cf.SingleQualifier("q2")}}})
		if err != nil {
			t.Fatal(err)
		}
		for {
			b, err := c.Next(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if b == nil {
				break
			}
			for i := range b.Rows {
				r := &b.Rows[i]
				for j := range b.RowCells(r) {
					cell := &b.RowCells(r)[j]
					t.Logf("%s %s@%d=%s", b.RowKey(r), b.Qualifier(cell), cell.Timestamp, b.Value(cell))
				}
			}
		}
		t.Logf("%+v", c.Cost())
		c.Close()
	}
}
