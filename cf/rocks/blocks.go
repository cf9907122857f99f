package rocks

import "github.com/smolwc/smolwc/cf"

// A blockSizer makes the blocks of one scan: small at first, so that a read of
// one row does not pay for a scan, then growing.
type blockSizer struct {
	cells    int
	keysOnly bool
}

const (
	bytesPerCell  = 64 // of data; a block ends when either is used up
	firstCells    = 64
	maxCells      = 4096 // with bytesPerCell, 256 KiB of data
	growth        = 8
	cellsPerRow   = 2 // rows in a block have no less room than this allows for
	bytesPerKey   = 32
	minBlockCells = 16
)

func newBlockSizer(s cf.Scan) blockSizer {
	cells := firstCells
	if s.Hint > 0 {
		cells = min(max(s.Hint, minBlockCells), maxCells)
	}
	return blockSizer{cells: cells, keysOnly: s.Filter.KeysOnly}
}

// block is the next block to fill.
func (s *blockSizer) block() *cf.Block {
	n := s.cells
	s.cells = min(n*growth, maxCells)
	if s.keysOnly {
		return &cf.Block{Data: make([]byte, 0, n*bytesPerKey), Rows: make([]cf.RowSpan, 0, n)}
	}
	return &cf.Block{
		Data:  make([]byte, 0, n*bytesPerCell),
		Rows:  make([]cf.RowSpan, 0, n/cellsPerRow+1),
		Cells: make([]cf.CellSpan, 0, n),
	}
}
