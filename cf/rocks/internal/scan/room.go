//go:build cgo && linux && !norocksdb

package scan

// #include "cache.h"
// #include "cursor.h"
import "C"

import (
	"unsafe"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/internal/ahead"
)

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
	need, before := int(cb.need), b.Size()
	if err := f.room.Take(blockBytes(minCells, minCells, need)-before, true); err != nil {
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
		return refusal(f.room, l)
	}
	if l.more == 0 && l.read == 0 {
		return nil
	}
	more := max(int(l.more), -f.large)
	made := max(more, 0) // bytes of the copies
	if f.room.Take(more+made, true) != nil {
		f.uncounted += l.read
		return nil
	}
	_ = f.room.Take(-made, true) // the copies are not made yet
	f.large += more
	f.engine.counted(l.read)
	return nil
}

// refusal is the error of a scan that had no room for a block and the copy that would
// have been made of it.
func refusal(r *ahead.Room, l *C.smolwc_large) error { return r.Hold.Refusal(2 * int(l.size)) }

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
func large(r *ahead.Room, held int) C.smolwc_large {
	if r == nil {
		return C.smolwc_large{}
	}
	n, alone := r.Hold.Room()
	return C.smolwc_large{on: true, alone: C.bool(alone), room: C.size_t(max(0, n+held))}
}
