package cf

import (
	"context"
	"iter"
	"unsafe"
)

// A Block holds consecutive cells of one family: the rows in the order of the scan, the
// qualifiers of a row ascending, the newest version of a column first. Strings and
// bytes that its methods return alias its memory, which is not written again, unless it is
// given back; see Release.
type Block struct {
	// Data holds row keys, and for each cell the qualifier and, right
	// after it, the value.
	Data []byte
	// Cells are the cells of all Rows, one row after another.
	Rows  []RowSpan
	Cells []CellSpan
	// Continued says that the first row continues the last row of the block before.
	Continued bool
	// Free, unless it is nil, takes back the memory of a block of a scan with Lend.
	Free func()
}

// Release gives the memory of a block back to the store, which writes to it again: neither
// the block nor anything of it may be used afterwards. Blocks that are not released are left
// to the garbage collector.
func (b *Block) Release() {
	if free := b.Free; free != nil {
		b.Free = nil
		free()
	}
}

// Size is the memory of the block, in bytes.
func (b *Block) Size() int {
	const row, cell = int(unsafe.Sizeof(RowSpan{})), int(unsafe.Sizeof(CellSpan{}))
	return cap(b.Data) + cap(b.Rows)*row + cap(b.Cells)*cell
}

// An Answer is the result of [Reader.Read]. The caller makes it, so that a read of a row
// can have its first block where the row is.
type Answer struct {
	First Block    // without rows, if nothing was found
	More  []*Block // the blocks after it
	Cost  Cost
}

// Add adds a block, unless it is empty.
func (a *Answer) Add(b *Block) {
	switch {
	case len(b.Rows) == 0:
	case len(a.First.Rows) == 0:
		a.First = *b
	default:
		a.More = append(a.More, b)
	}
}

// ReadAll reads a cursor to its end into the answer, and closes the cursor.
func (a *Answer) ReadAll(ctx context.Context, c Cursor) error {
	defer c.Close()
	*a = Answer{}
	for {
		b, err := c.Next(ctx)
		if b == nil || err != nil {
			a.Cost = c.Cost()
			return err
		}
		a.Add(b)
	}
}

// EachBlock calls fn for the blocks of a scan, until it returns an error. fn may not keep
// them.
func EachBlock(ctx context.Context, snap Snapshot, s Scan, fn func(*Block) error) error {
	c, err := snap.Scan(ctx, s)
	if err != nil {
		return err
	}
	defer c.Close()
	for {
		b, err := c.Next(ctx)
		if b == nil || err != nil {
			return err
		}
		if err := fn(b); err != nil {
			return err
		}
	}
}

// Blocks are the blocks with rows.
func (a *Answer) Blocks() iter.Seq[*Block] {
	return func(yield func(*Block) bool) {
		if len(a.First.Rows) == 0 || !yield(&a.First) {
			return
		}
		for _, b := range a.More {
			if !yield(b) {
				return
			}
		}
	}
}

// A RowSpan is a row's place in its block. The layout is shared with C.
type RowSpan struct {
	Key, KeyLen uint32 // the row key in Data
	First, Len  uint32 // its cells in Cells; see also [Filter.CountOnly]
}

// A CellSpan is a cell's place in its block. The layout is shared with C.
type CellSpan struct {
	Timestamp    int64
	Offset       uint32 // of the qualifier in Data; the value follows it
	QualifierLen uint32
	ValueLen     uint32
	_            uint32
}

// RowKey is the key of a row of the block.
func (b *Block) RowKey(r *RowSpan) string { return b.text(r.Key, r.KeyLen) }

// RowCells are the cells of a row of the block.
func (b *Block) RowCells(r *RowSpan) []CellSpan {
	return b.Cells[r.First : r.First+r.Len : r.First+r.Len]
}

// Qualifier is the qualifier of a cell of the block.
func (b *Block) Qualifier(c *CellSpan) string { return b.text(c.Offset, c.QualifierLen) }

// Value is the encoded value of a cell of the block.
func (b *Block) Value(c *CellSpan) []byte {
	from := c.Offset + c.QualifierLen
	return b.Data[from : from+c.ValueLen : from+c.ValueLen]
}

func (b *Block) text(off, n uint32) string {
	return unsafe.String(unsafe.SliceData(b.Data[off:off+n]), int(n))
}
