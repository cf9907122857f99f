package rocks

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

// grow makes an empty block large enough for a cell that it has no room for. The
// engine has the cell's value too, until it goes on.
func (f *filler) grow(b *cf.Block, cb *C.smolwc_block) error {
	need, before := int(cb.need), blockBytes(cap(b.Cells), cap(b.Rows), cap(b.Data))
	if err := f.room.take(blockBytes(minCells, minCells, need)-before+need-f.engine, true); err != nil {
		return err
	}
	f.engine = need
	f.family.large.meet(need)
	makeBlock(b, minCells, minCells, need)
	cb.data_cap, cb.rows_cap, cb.cells_cap = cb.need, C.size_t(cap(b.Rows)), C.size_t(cap(b.Cells))
	return nil
}

// largeAtOnce is how many bytes of large values the engine may read at a time for
// scans that are counted: they are only counted once it has them.
const largeAtOnce = 64 << 20

// A largest is the size of the largest value of a family that has been met, 0 before
// the first block of it.
type largest struct{ bytes atomic.Int64 }

func (l *largest) meet(n int) {
	for was := l.bytes.Load(); int64(n) > was && !l.bytes.CompareAndSwap(was, int64(n)); was = l.bytes.Load() {
	}
}

// enter waits until the engine may read for a scan, of whose values one may be
// large. The function that it returns ends that.
func (f *filler) enter() (leave func()) {
	weight := f.family.large.bytes.Load()
	switch {
	case f.room == nil || weight > 0 && weight < maxBlockData:
		return func() {}
	case weight == 0: // nobody knows
		weight = largeAtOnce
	}
	weight = min(weight, largeAtOnce)
	gate := f.store.large
	_ = gate.Acquire(context.Background(), weight) // that context does not end
	return func() { gate.Release(weight) }
}
