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
	if err := r.hold.Hold(n, needed); err != nil {
		return err
	}
	r.taken.Add(int64(n))
	return nil
}

// spare reports whether there is room for what is not needed.
func (r *room) spare() bool { return r == nil || r.hold.Hold(0, false) == nil }

// drop no longer counts a block, which may be nil.
func (r *room) drop(b *cf.Block) {
	if r != nil && b != nil {
		_ = r.take(-blockBytes(cap(b.Cells), cap(b.Rows), cap(b.Data)), true) // less is never too much
	}
}

// close ends the count of all that the scan holds.
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

// counts takes over the count of the large blocks that the engine has read, or lets go
// of those that it has no more. When there is no room for them and for what is made of
// them, they stay uncounted.
func (f *filler) counts(l *C.smolwc_large) error {
	if l.refused {
		f.uncounted += l.read
		return f.room.refusal(l)
	}
	if l.more == 0 && l.read == 0 {
		return nil
	}
	more := max(int(l.more), -f.large)
	made := max(more, 0) // of them
	if f.room.take(more+made, true) != nil {
		f.uncounted += l.read
		return nil
	}
	_ = f.room.take(-made, true) // until it is
	f.large += more
	f.engine.counted(l.read)
	return nil
}

// refusal is the error of a scan that had no room for a block, and for what would have
// been made of it.
func (r *room) refusal(l *C.smolwc_large) error { return r.hold.Refusal(2 * int(l.size)) }

// letGo lets others read where the filler has read large blocks without a count.
func (f *filler) letGo() {
	f.engine.counted(f.uncounted)
	f.uncounted = 0
}

// counted lets others read large blocks.
func (e *Engine) counted(large C.size_t) {
	if large > 0 {
		C.smolwc_large_counted(e.cache, large)
	}
}

// large is what C is told of a room that a scan has beside what it holds.
func (r *room) large(held int) C.smolwc_large {
	if r == nil {
		return C.smolwc_large{}
	}
	n, alone := r.hold.Room()
	return C.smolwc_large{on: true, alone: C.bool(alone), room: C.size_t(max(0, n+held))}
}
