package rocks

// #include "cache.h"
// #include "cursor.h"
import "C"

import (
	"context"
	"sync/atomic"
	"unsafe"

	"github.com/smolwc/smolwc/cf"
)

// A room counts what a scan holds: its blocks, and the large values that the engine
// has of it. Of a nil one nothing is counted.
type room struct {
	hold  cf.Holding
	taken atomic.Int64
}

// newRoom is nil when nothing counts the reads of a context.
func newRoom(ctx context.Context) *room {
	if hold := cf.HoldingOf(ctx); hold != nil {
		return &room{hold: hold}
	}
	return nil
}

// take counts n more bytes.
func (r *room) take(n int, needed bool) error {
	if r == nil {
		return nil
	}
	if err := r.hold(n, needed); err != nil {
		return err
	}
	r.taken.Add(int64(n))
	return nil
}

// spare reports whether there is room for what is not needed.
func (r *room) spare() bool { return r == nil || r.hold(0, false) == nil }

// drop counts a block that the scan has no more; nil is none.
func (r *room) drop(b *cf.Block) {
	if r != nil && b != nil {
		_ = r.take(-blockBytes(cap(b.Cells), cap(b.Rows), cap(b.Data)), true) // less is never too much
	}
}

// close counts nothing any more.
func (r *room) close() {
	if r != nil {
		_ = r.take(-int(r.taken.Load()), true)
	}
}

// blockBytes is what a block takes.
func blockBytes(cells, rows, data int) int { return cells*cellSize + rows*rowSize + data }

const rowSize, cellSize = int(unsafe.Sizeof(cf.RowSpan{})), int(unsafe.Sizeof(cf.CellSpan{}))

// makeBlock gives a block the memory to fill. It is not cleared: C writes it before
// anyone reads it.
func makeBlock(b *cf.Block, cells, rows, data int) {
	raw := uncleared(blockBytes(cells, rows, data))
	b.Cells = unsafe.Slice((*cf.CellSpan)(unsafe.Pointer(unsafe.SliceData(raw))), cells)[:0]
	b.Rows = unsafe.Slice((*cf.RowSpan)(unsafe.Pointer(unsafe.SliceData(raw[cells*cellSize:]))), rows)[:0]
	b.Data = raw[cells*cellSize+rows*rowSize:][:0:data]
}

// grow makes an empty block large enough for a cell that it has no room for.
func (f *filler) grow(b *cf.Block, cb *C.smolwc_block) error {
	need, before := int(cb.need), blockBytes(cap(b.Cells), cap(b.Rows), cap(b.Data))
	if err := f.room.take(blockBytes(minCells, minCells, need)-before, true); err != nil {
		return err
	}
	makeBlock(b, minCells, minCells, need)
	cb.data_cap, cb.rows_cap, cb.cells_cap = cb.need, C.size_t(cap(b.Rows)), C.size_t(cap(b.Cells))
	return nil
}

// counts takes over the count of a large block that the engine has read, 0 bytes when
// it has read none, and now has in place of the one before.
func (f *filler) counts(large C.size_t) error {
	if large == 0 && f.large == 0 {
		return nil
	}
	err := f.room.take(int(large)-f.large, true)
	if err == nil {
		f.large = int(large)
	}
	f.store.counted(large)
	return err
}

// counted lets others read large blocks.
func (s *Store) counted(large C.size_t) {
	if large > 0 {
		C.smolwc_large_counted((*C.rocksdb_cache_t)(handleOf(s.engine.cache)), large)
	}
}

// counted is what C is told of a room.
func (r *room) counted() C.uint8_t {
	if r == nil {
		return 0
	}
	return 1
}
