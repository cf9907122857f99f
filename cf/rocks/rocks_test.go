//go:build cgo

package rocks

import (
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
