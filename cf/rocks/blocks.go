package rocks

import (
	"strings"
	"sync/atomic"
	"unsafe"

	"github.com/smolwc/smolwc/cf"
)

// A blockSizer makes the blocks of one scan: small at first, so that a read of
// one row does not pay for a scan, then growing, shaped like the data that the
// blocks before turned out to hold.
type blockSizer struct {
	cells    int           // that the next block has room for
	perCell  int           // bytes of data that a cell takes
	perRow   int           // cells that a row has
	keysOnly bool          // blocks have rows and no cells
	uses     *atomic.Int64 // of the snapshot: its cursors, mostly; nil without one
}

const (
	firstCells = 64
	minCells   = 16
	maxCells   = 4096
	growth     = 8

	guessedPerCell = 64
	guessedPerRow  = 2
	maxBlockData   = 512 << 10 // unless one cell is larger

	// fewCursors may have the largest blocks, and read ahead; more of one
	// snapshot share what so many take. A row of two hundred families is read
	// with as many cursors at once.
	fewCursors = 8
)

func newBlockSizer(s cf.Scan, uses *atomic.Int64) blockSizer {
	cells := firstCells
	if s.Hint > 0 {
		cells = min(max(s.Hint, minCells), maxCells)
	}
	return blockSizer{cells: cells, perCell: guessedPerCell, perRow: guessedPerRow, uses: uses, keysOnly: s.Filter.KeysOnly || s.Filter.CountOnly}
}

// block is the next block to fill. Its memory is not cleared: C writes it
// before anyone reads it.
func (s *blockSizer) block() *cf.Block {
	s.cells = min(s.cells, max(s.share(maxCells), minCells))
	n := s.cells
	rows := n/s.perRow + 1
	if s.keysOnly {
		rows = n
		n = 0
	}
	data := min(max(s.cells*s.perCell, minCells*guessedPerCell), max(s.share(maxBlockData), minCells*guessedPerCell))
	const rowSize, cellSize = int(unsafe.Sizeof(cf.RowSpan{})), int(unsafe.Sizeof(cf.CellSpan{}))
	raw := uncleared(n*cellSize + rows*rowSize + data)
	return &cf.Block{
		Cells: unsafe.Slice((*cf.CellSpan)(unsafe.Pointer(unsafe.SliceData(raw))), n)[:0],
		Rows:  unsafe.Slice((*cf.RowSpan)(unsafe.Pointer(unsafe.SliceData(raw[n*cellSize:]))), rows)[:0],
		Data:  raw[n*cellSize+rows*rowSize:][:0],
	}
}

// share is a scan's part of what one of few may take.
func (s *blockSizer) share(all int) int {
	if s.uses == nil {
		return all
	}
	return all * fewCursors / max(int(s.uses.Load()), fewCursors)
}

// learn shapes the next blocks after one that was filled.
func (s *blockSizer) learn(b *cf.Block) {
	used := len(b.Cells)
	if s.keysOnly {
		used = len(b.Rows)
	}
	if used < s.cells/4 { // values are large, or few cells are wanted
		s.cells = max(2*used, minCells)
	} else {
		s.cells = min(s.cells*growth, maxCells)
	}
	if s.keysOnly && len(b.Rows) > 0 {
		s.perCell = len(b.Data)/len(b.Rows) + 1
	}
	if len(b.Cells) > 0 {
		s.perCell = len(b.Data)/len(b.Cells) + 1
		s.perRow = max(1, len(b.Cells)/(len(b.Rows)+1))
	}
}

// uncleared is n bytes of memory, aligned for any type without pointers, that
// hold what was there before. A strings.Builder is the only thing in the
// standard library that gives such memory.
func uncleared(n int) []byte {
	var b strings.Builder
	b.Grow(n)
	b.WriteByte(0)
	return unsafe.Slice(unsafe.StringData(b.String()), n)
}
