package scan

import (
	"context"
	"unsafe"

	"github.com/smolwc/smolwc/cf"
)

// The size of blocks. The first ones are small, so that a read of one row is answered
// soon.
const (
	firstCells = 64
	growth     = 8
	maxCells   = 4096
	maxData    = 512 << 10 // bytes, unless a single cell is larger
)

// A filling is the block that a cursor fills.
type filling struct {
	b         *cf.Block
	cells     int  // the most cells, or rows, of the block
	undecided bool // rows have conditions: a row stays in one block until it is judged
	counts    bool // rows without cells have a number

	begun bool // the row is in the block, or in one before
	// Where the row begins in the block.
	rows, data, at int
}

func newFilling(s *cf.Scan) *filling {
	f := &s.Filter
	cells := firstCells
	if s.Hint > 0 {
		cells = min(max(s.Hint, firstCells), maxCells)
	}
	return &filling{b: new(cf.Block), cells: cells, undecided: len(f.Where) > 0, counts: f.CountOnly && !f.KeysOnly}
}

func (f *filling) beginRow(*row) {
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
func (f *filling) add(r *row, ts int64, value []byte) (full *cf.Block) {
	size := len(r.key) + len(r.qualifier) + len(value)
	if !f.undecided && f.isFull(size) {
		full = f.cut()
	}
	span := f.row(r)
	f.b.Cells = append(f.b.Cells, cf.CellSpan{
		Timestamp: ts, Offset: uint32(len(f.b.Data)), QualifierLen: uint32(len(r.qualifier)), ValueLen: uint32(len(value)),
	})
	f.b.Data = append(append(f.b.Data, r.qualifier...), value...)
	span.Len++
	return full
}

func (f *filling) isFull(more int) bool {
	return len(f.b.Cells) >= f.cells || len(f.b.Rows) > 0 && len(f.b.Data)+more > maxData
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
func (f *filling) drop(*row) {
	f.b.Rows, f.b.Data, f.b.Cells = f.b.Rows[:f.rows], f.b.Data[:f.data], f.b.Cells[:f.at]
	f.begun = false
}

// take is the block as far as it is filled, nil if it has no rows that are wanted for
// sure.
func (f *filling) take(r *row) *cf.Block {
	if len(f.b.Rows) == 0 || r.open && f.undecided {
		return nil
	}
	return f.next(new(cf.Block)) // perhaps nothing follows
}

// cut begins another block, since this one is full.
func (f *filling) cut() *cf.Block {
	return f.next(like(f.b, min(f.cells*growth, maxCells)))
}

func (f *filling) next(empty *cf.Block) *cf.Block {
	b := f.b
	f.cells = min(f.cells*growth, maxCells)
	f.b = empty
	f.rows, f.data, f.at = 0, 0, 0
	return b
}

// like is an empty block with room for a number of cells as those of another block.
func like(b *cf.Block, cells int) *cf.Block {
	room := func(n int) int { return n * cells / max(len(b.Cells), len(b.Rows), 1) }
	return &cf.Block{
		Data:  make([]byte, 0, min(room(len(b.Data))+len(b.Data)/8, maxData)),
		Rows:  make([]cf.RowSpan, 0, room(len(b.Rows))),
		Cells: make([]cf.CellSpan, 0, room(len(b.Cells))),
	}
}

// A holding counts the bytes of the block that the caller has.
type holding struct {
	in    cf.Holding
	bytes int
}

func (h *holding) take(ctx context.Context, b *cf.Block) error {
	h.in = cf.HoldingOf(ctx)
	if h.in == nil {
		return nil
	}
	n := cap(b.Data) + cap(b.Rows)*int(unsafe.Sizeof(cf.RowSpan{})) + cap(b.Cells)*int(unsafe.Sizeof(cf.CellSpan{}))
	if err := h.in.Hold(n, true); err != nil {
		return err
	}
	h.bytes = n
	return nil
}

func (h *holding) release() {
	if h.bytes > 0 {
		_ = h.in.Hold(-h.bytes, true) // a negative count never fails
		h.bytes = 0
	}
}
