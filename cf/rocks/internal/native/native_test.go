//go:build cgo && linux && !norocksdb

package native_test

import (
	"testing"

	"github.com/linxGnu/grocksdb"

	"github.com/smolwc/smolwc/cf/rocks/internal/native"
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
		if native.Handle(v) == nil {
			t.Errorf("%T: nil handle", v)
		}
	}
}
