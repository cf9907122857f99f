//go:build cgo && linux && !norocksdb

package scan

// #include "cache.h"
// #include "cursor.h"
import "C"

import (
	"context"
	"sync/atomic"
	"unsafe"

	"github.com/smolwc/smolwc/cf"
)

// A room counts the bytes that a scan holds: its blocks, and the large values that the
// engine read for it. A nil room counts nothing.
type room struct {
	hold  cf.Holding
	taken atomic.Int64
}

// newRoom is nil when the reads of the context are not counted.
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
	if err := r.hold.Hold(n, needed); err != nil {
		return err
	}
	r.taken.Add(int64(n))
	return nil
}

// spare reports whether there is room for bytes that are not needed.
func (r *room) spare() bool { return r == nil || r.hold.Hold(0, false) == nil }

// drop ends the count of n bytes.
func (r *room) drop(n int) {
	if n > 0 {
		_ = r.take(-n, true) // a negative count never fails
	}
}

// close ends the count of everything that the scan holds.
func (r *room) close() {
	if r != nil {
		_ = r.take(-int(r.taken.Load()), true)
	}
}

// sizeOf is the size of a block.
func sizeOf(b *cf.Block) int { return blockBytes(cap(b.Cells), cap(b.Rows), cap(b.Data)) }

// blockBytes is the size of a block with room for these.
func blockBytes(cells, rows, data int) int { return cells*cellSize + rows*rowSize + data }

const rowSize, cellSize = int(unsafe.Sizeof(cf.RowSpan{})), int(unsafe.Sizeof(cf.CellSpan{}))

// makeBlock gives a block the memory to fill. It is not cleared: C writes it before it
// is read.
func makeBlock(b *cf.Block, cells, rows, data int, lend bool) {
	var raw []byte
	if size := blockBytes(cells, rows, data); lend && size <= maxLent {
		raw, b.Free = lentMemory(size)
	} else {
		raw, b.Free = uncleared(size), nil
	}
	b.Cells = unsafe.Slice((*cf.CellSpan)(unsafe.Pointer(unsafe.SliceData(raw))), cells)[:0]
	b.Rows = unsafe.Slice((*cf.RowSpan)(unsafe.Pointer(unsafe.SliceData(raw[cells*cellSize:]))), rows)[:0]
	b.Data = raw[cells*cellSize+rows*rowSize:][:0:data]
}

// grow makes an empty block large enough for the next cell.
func (f *filler) grow(b *cf.Block, cb *C.smolwc_block) error {
	need, before := int(cb.need), sizeOf(b)
	if err := f.room.take(blockBytes(minCells, minCells, need)-before, true); err != nil {
		return err
	}
	b.Release()
	makeBlock(b, minCells, minCells, need, f.size.lend)
	cb.data_cap, cb.rows_cap, cb.cells_cap = cb.need, C.size_t(cap(b.Rows)), C.size_t(cap(b.Cells))
	return nil
}

// counts counts the large blocks that the engine read, and ends the count of blocks
// that it no longer holds. If there is no room for the blocks and their copies, they
// stay uncounted.
func (f *filler) counts(l *C.smolwc_large) error {
	if l.refused {
		f.uncounted += l.read
		return f.room.refusal(l)
	}
	if l.more == 0 && l.read == 0 {
		return nil
	}
	more := max(int(l.more), -f.large)
	made := max(more, 0) // bytes of the copies
	if f.room.take(more+made, true) != nil {
		f.uncounted += l.read
		return nil
	}
	_ = f.room.take(-made, true) // the copies are not made yet
	f.large += more
	f.engine.counted(l.read)
	return nil
}

// refusal is the error of a scan that had no room for a block and the copy that would
// have been made of it.
func (r *room) refusal(l *C.smolwc_large) error { return r.hold.Refusal(2 * int(l.size)) }

// letGo releases the uncounted large blocks of the filler, so that other scans may read
// large blocks.
func (f *filler) letGo() {
	f.engine.counted(f.uncounted)
	f.uncounted = 0
}

// counted tells the engine's cache that this many bytes of large blocks are counted
// elsewhere or released.
func (e *Engine) counted(large C.size_t) {
	if large > 0 {
		C.smolwc_large_counted(e.cache, large)
	}
}

// large is the number of bytes that a scan may read, for C. held is the number of bytes
// that it already holds.
func (r *room) large(held int) C.smolwc_large {
	if r == nil {
		return C.smolwc_large{}
	}
	n, alone := r.hold.Room()
	return C.smolwc_large{on: true, alone: C.bool(alone), room: C.size_t(max(0, n+held))}
}
