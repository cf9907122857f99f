//go:build cgo && linux && !norocksdb

package scan

import (
	"math"
	"strings"
	"sync/atomic"
	"unsafe"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/internal/ahead"
)

// A blockSizer makes the blocks of one scan. The first blocks are small, so that a read
// of one row costs little. Later blocks grow, in a shape that it learns from the blocks
// before.
type blockSizer struct {
	cells    int           // in the next block
	perCell  int           // bytes of data for a cell
	perRow   int           // cells in a row
	keysOnly bool          // blocks have rows and no cells
	whole    bool          // the scan reads whole rows
	sparse   bool          // most rows have no cells, or probably have none
	lend     bool          // blocks are given back
	uses     *atomic.Int64 // uses of the snapshot, mostly its cursors; nil without a snapshot
}

const (
	firstCells = 64
	minCells   = 16
	maxCells   = 4096
	mostLent   = 1024 // cells of a block that is given back: a few of them fit into a cache
	growth     = 8

	sparseCells    = 8 // rows for each cell
	guessedPerKey  = 32
	guessedPerCell = 64
	guessedPerRow  = 8
	minData        = 512
	maxBlockData   = 512 << 10 // the largest, unless a single cell is larger
	smallBlock     = 32 << 10  // a block of this size is made even if memory is short

	// fewCursors is the number of cursors of one snapshot that may have the largest
	// blocks and read ahead. More cursors share the memory of this many: a read of a
	// row in two hundred families opens two hundred cursors at once.
	fewCursors = 8
)

func newBlockSizer(s *cf.Scan, like *shape, uses *atomic.Int64) blockSizer {
	f := &s.Filter
	b := blockSizer{cells: firstCells, uses: uses, lend: s.Lend, keysOnly: f.KeysOnly || f.CountOnly, whole: len(f.Qualifiers) == 0 && f.Versions == 0 && f.CellsPerRow == 0 && len(f.Values) == 0}
	b.perCell, b.perRow = like.load()
	b.sparse = len(f.Values) > 0
	if n := len(f.Qualifiers); n > 0 && f.Versions == 1 {
		b.perRow = min(b.perRow, n) // if each is one column
	}
	hint := s.Hint
	if len(s.Rows) > longList {
		hint = coldRanges // it is decided next how to read the list
	}
	switch {
	case hint == 0:
	case b.keysOnly:
		b.cells = min(max(hint, minCells), maxCells)
	default:
		b.cells = min(min(hint, maxCells)*(min(b.perRow, firstCells)+1), maxCells)
	}
	return b
}

// A shape describes the blocks of a family's last reads: the bytes of data of a cell,
// and the cells of a row.
type shape struct{ bits atomic.Uint64 }

func (s *shape) load() (perCell, perRow int) {
	if bits := s.bits.Load(); bits != 0 {
		return int(bits >> 32), int(bits & math.MaxUint32)
	}
	return guessedPerCell, guessedPerRow
}

func (s *shape) store(perCell, perRow int) {
	if bits := uint64(perCell)<<32 | uint64(perRow); bits != s.bits.Load() {
		s.bits.Store(bits)
	}
}

// make gives a block its memory: as much as suits the scan if there is room for it, and
// little otherwise.
func (s *blockSizer) make(b *cf.Block, r *ahead.Room) error {
	s.cells = min(s.cells, max(s.share(s.most()), minCells))
	cells, rows, data := s.sizes()
	size := blockBytes(cells, rows, data)
	if size <= smallBlock || r.Take(size, false) != nil {
		if size > smallBlock {
			s.cells = max(s.cells*smallBlock/size, minCells)
			cells, rows, data = s.sizes()
			data = min(data, smallBlock)
		}
		if err := r.Take(blockBytes(cells, rows, data), true); err != nil {
			return err
		}
	}
	makeBlock(b, cells, rows, data, s.lend)
	return nil
}

// sizes are the cells, rows and bytes of the next block.
func (s *blockSizer) sizes() (cells, rows, data int) {
	cells, rows = s.cells, s.cells/s.perRow+1
	if s.keysOnly {
		cells, rows = 0, s.cells
	}
	size := s.cells * s.perCell
	if s.perCell > maxBlockData { // a block then grows for each cell
		size = 0
	}
	if s.sparse {
		rows, cells = cells, cells/sparseCells
		size = rows*guessedPerKey + cells*s.perCell
	}
	return cells, rows, min(max(size, minData), max(s.share(maxBlockData), minData))
}

// most is the largest number of cells in a block.
func (s *blockSizer) most() int {
	if s.lend {
		return mostLent
	}
	return maxCells
}

// share is this scan's part of all, which is the amount for one of few scans.
func (s *blockSizer) share(all int) int {
	if s.uses == nil {
		return all
	}
	return all * fewCursors / max(int(s.uses.Load()), fewCursors)
}

// learn adapts the shape of the next blocks, and of the first blocks of later scans, to
// a filled block.
func (s *blockSizer) learn(b *cf.Block, family *shape) {
	used := len(b.Cells)
	if s.keysOnly || s.sparse {
		used = len(b.Rows)
	}
	s.sparse = s.sparse && len(b.Cells) < cap(b.Cells)
	if used < s.cells/4 && len(b.Rows) < cap(b.Rows) { // values are large, or most cells were not wanted
		s.cells = max(2*used, minCells)
	} else {
		s.cells = min(s.cells*growth, s.most())
	}
	if s.keysOnly && len(b.Rows) > 0 {
		s.perCell = len(b.Data)/len(b.Rows) + 1
	}
	if len(b.Cells) > 0 {
		s.perCell = len(b.Data)/len(b.Cells) + 1
		s.perRow = max(1, len(b.Cells)/(len(b.Rows)+1))
		if s.whole {
			family.store(s.perCell, max(1, len(b.Cells)/len(b.Rows)))
		}
	}
}

// uncleared is n bytes of uninitialised memory, aligned for any type without pointers.
// In the standard library only strings.Builder gives such memory.
func uncleared(n int) []byte {
	var b strings.Builder
	b.Grow(n)
	b.WriteByte(0)
	return unsafe.Slice(unsafe.StringData(b.String()), n)
}
