package ordered

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/smolwc/smolwc/cf"
)

// The size of blocks. The first ones are small, so that a read of one row is answered
// soon; a full one fits into a processor's cache.
const (
	firstCells = 64
	growth     = 8
	maxCells   = 2048
	maxData    = 128 << 10 // bytes, unless a single cell is larger

	// fewCursors is the number of cursors of one snapshot that may have full blocks. More
	// cursors share the memory of this many: a read of two hundred families opens two
	// hundred cursors at once.
	fewCursors = 8
	minCells   = 16
	minData    = 1 << 10
)

// A filling is the block that a cursor fills. It is in memory that is used again; the
// caller gets a copy of the right size. That costs less than new memory for each full
// block, which Go clears first.
type filling struct {
	memory    *memory // nil while there is nothing in the block
	b         *cf.Block
	cells     int  // the most cells, or rows, of the block
	bytes     int  // the most bytes of data, unless a single cell is larger
	undecided bool // rows have conditions: a row stays in one block until it is judged
	counts    bool // rows without cells have a number
	lend      bool
	uses      *atomic.Int64 // cursors of the snapshot; nil if they are few

	begun bool // the row is in the block, or in one before
	// Where the row begins in the block.
	rows, data, at int
}

// A memory is the memory of a block.
type memory struct {
	block cf.Block
	free  func() // gives it back
}

var memories sync.Pool

func newMemory() *memory {
	if m, ok := memories.Get().(*memory); ok {
		return m
	}
	m := &memory{block: cf.Block{
		Data:  make([]byte, 0, maxData),
		Rows:  make([]cf.RowSpan, 0, maxCells),
		Cells: make([]cf.CellSpan, 0, maxCells),
	}}
	m.free = func() { memories.Put(m) }
	return m
}

func newFilling(s *cf.Scan) filling {
	cells := firstCells
	if s.Hint > 0 {
		cells = min(max(s.Hint, firstCells), maxCells)
	}
	f := &s.Filter
	return filling{cells: cells, bytes: maxData, undecided: len(f.Where) > 0, counts: f.CountOnly && !f.KeysOnly, lend: s.Lend}
}

// begin takes memory for the block, unless there is something in it.
func (f *filling) begin() {
	if f.memory == nil {
		f.memory = newMemory()
		f.b = &f.memory.block
		f.clear()
	}
}

// crowd is how many times more cursors there are than few.
func (f *filling) crowd() int {
	if f.uses == nil {
		return 1
	}
	return max(1, int(f.uses.Load())/fewCursors)
}

func (f *filling) clear() {
	if n := f.crowd(); n > 1 || f.bytes < maxData {
		f.cells, f.bytes = min(f.cells, max(maxCells/n, minCells)), max(maxData/n, minData)
	}
	f.b.Data, f.b.Rows, f.b.Cells, f.b.Continued = f.b.Data[:0], f.b.Rows[:0], f.b.Cells[:0], false
}

// rest gives the memory back if there is nothing in the block.
func (f *filling) rest() {
	if f.memory != nil && len(f.b.Rows) == 0 {
		f.end()
	}
}

func (f *filling) end() {
	if f.memory != nil && isUsual(f.b) {
		f.memory.free()
	}
	f.memory, f.b = nil, nil
}

// isUsual reports whether a block was not grown for a huge row or value.
func isUsual(b *cf.Block) bool { return cap(b.Data) <= 2*maxData && cap(b.Cells) <= 2*maxCells }

const rowSize, cellSize = int(unsafe.Sizeof(cf.RowSpan{})), int(unsafe.Sizeof(cf.CellSpan{}))

// size is the memory of the filling, in bytes.
func (f *filling) size() int {
	if f.memory == nil {
		return 0
	}
	return f.b.Size()
}

func (f *filling) beginRow() {
	f.begun, f.rows, f.data, f.at = false, len(f.b.Rows), len(f.b.Data), len(f.b.Cells)
}

// row puts the key of the row into the block, unless it is there.
func (f *filling) row(r *row) *cf.RowSpan {
	if n := len(f.b.Rows); n == f.rows {
		f.b.Continued = f.b.Continued || n == 0 && f.begun
		f.b.Rows = append(f.b.Rows, cf.RowSpan{Key: uint32(len(f.b.Data)), KeyLen: uint32(len(r.key)), First: uint32(len(f.b.Cells))})
		f.b.Data = append(f.b.Data, r.key...)
		f.begun = true
	}
	return &f.b.Rows[len(f.b.Rows)-1]
}

// add adds a cell of the row. If the block had no room for it, that block is returned.
func (f *filling) add(r *row, ts int64, qualifier, value []byte) (full *cf.Block) {
	if !f.undecided && f.isFull(len(r.key)+len(qualifier)+len(value)) {
		full = f.cut()
	}
	span := f.row(r)
	f.b.Cells = append(f.b.Cells, cf.CellSpan{
		Timestamp: ts, Offset: uint32(len(f.b.Data)), QualifierLen: uint32(len(qualifier)), ValueLen: uint32(len(value)),
	})
	f.b.Data = append(append(f.b.Data, qualifier...), value...)
	span.Len++
	return full
}

// push is add for a row that is already in the block, if there is room.
func (f *filling) push(ts int64, qualifier, value []byte) bool {
	b := f.b
	from, cells := len(b.Data), len(b.Cells)
	end := from + len(qualifier) + len(value)
	if f.undecided || len(b.Rows) == f.rows || cells >= f.cells || end > min(cap(b.Data), f.bytes) {
		return false
	}
	b.Data = b.Data[:end]
	copy(b.Data[from:], qualifier)
	copy(b.Data[from+len(qualifier):], value)
	b.Cells = b.Cells[:cells+1]
	b.Cells[cells] = cf.CellSpan{
		Timestamp: ts, Offset: uint32(from), QualifierLen: uint32(len(qualifier)), ValueLen: uint32(len(value)),
	}
	b.Rows[len(b.Rows)-1].Len++
	return true
}

func (f *filling) isFull(more int) bool {
	return len(f.b.Cells) >= f.cells || len(f.b.Rows) > 0 && len(f.b.Data)+more > f.bytes
}

// endRow ends the row. If that fills the block, the block is returned.
func (f *filling) endRow(r *row) (full *cf.Block) {
	if r.any && !f.begun {
		if span := f.row(r); f.counts {
			span.Len = uint32(r.cells)
		}
	}
	f.begun = false
	if len(f.b.Rows) >= f.cells || f.isFull(0) {
		return f.cut()
	}
	f.rows = len(f.b.Rows)
	return nil
}

// drop takes the row out of the block.
func (f *filling) drop() {
	f.b.Rows, f.b.Data, f.b.Cells = f.b.Rows[:f.rows], f.b.Data[:f.data], f.b.Cells[:f.at]
	f.begun = false
}

// take returns the block as far as it is filled, nil if no row in it is certain to be
// wanted.
func (f *filling) take(r *row) *cf.Block {
	if f.b == nil || len(f.b.Rows) == 0 || r.open && f.undecided {
		return nil
	}
	return f.cut()
}

// cut is the block. The next one begins.
func (f *filling) cut() *cf.Block {
	b := *f.b
	switch {
	case !isUsual(&b):
		f.end()
		f.begin()
	case f.lend && f.crowd() == 1: // the block keeps memory for a full one
		b.Free = f.memory.free
		f.memory = nil
		f.begin()
	default: // copies that are not cleared first
		b.Data, b.Rows, b.Cells = clone(b.Data, b.Rows, b.Cells)
		f.clear()
	}
	f.cells = min(f.cells*growth, max(maxCells/f.crowd(), minCells))
	f.rows, f.data, f.at = 0, 0, 0
	return &b
}

// small is a number of bytes that cost less to clear than two allocations.
const small = 4 << 10

// clone copies the parts of a block. A small block is copied into one piece of memory.
func clone(data []byte, rows []cf.RowSpan, cells []cf.CellSpan) ([]byte, []cf.RowSpan, []cf.CellSpan) {
	const word = 8 // the largest alignment of RowSpan and CellSpan
	bytes := len(cells)*cellSize + len(rows)*rowSize + len(data)
	if bytes > small || len(rows) == 0 || len(cells) == 0 || len(data) == 0 { // no pointer to behind it
		return slices.Clone(data), slices.Clone(rows), slices.Clone(cells)
	}
	at := unsafe.Pointer(unsafe.SliceData(make([]uint64, (bytes+word-1)/word)))
	toCells := unsafe.Slice((*cf.CellSpan)(at), len(cells))
	toRows := unsafe.Slice((*cf.RowSpan)(unsafe.Add(at, len(cells)*cellSize)), len(rows))
	toData := unsafe.Slice((*byte)(unsafe.Add(at, len(cells)*cellSize+len(rows)*rowSize)), len(data))
	copy(toCells, cells)
	copy(toRows, rows)
	copy(toData, data)
	return toData, toRows, toCells
}

// A holding counts the bytes of the blocks that a cursor and its caller have.
type holding struct {
	in    cf.Holding
	bytes int
}

// set makes the count n bytes.
func (h *holding) set(ctx context.Context, n int) error {
	if n == h.bytes {
		return nil
	}
	if h.bytes == 0 {
		h.in = cf.HoldingOf(ctx)
	}
	if h.in == nil {
		return nil
	}
	if err := h.in.Hold(n-h.bytes, true); err != nil {
		return err
	}
	h.bytes = n
	return nil
}
