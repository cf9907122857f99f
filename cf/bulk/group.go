package bulk

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/smolwc/smolwc/cf"
)

// maxGroup is about the largest size in bytes of a combined group. It lets a row of any
// size be merged group by group.
const maxGroup = 256 << 10

// rowAt is the row prefix of the group at offset at of data.
func rowAt(data []byte, at uint32) []byte {
	n := binary.NativeEndian.Uint32(data[at:])
	return data[at+groupHeader : at+groupHeader+n]
}

// A groupCell is a cell of a group.
type groupCell struct {
	rest    []byte // of the key: qualifier and version
	value   []byte
	operand bool
}

// cellAt is the cell at offset at of data, and the offset after it.
func cellAt(data []byte, at int) (c groupCell, end int) {
	n := int(binary.NativeEndian.Uint32(data[at:]))
	v := binary.NativeEndian.Uint32(data[at+4:])
	at += cellHeader
	c.rest = data[at : at+n]
	end = at + n + int(v&^cf.OperandBit)
	c.value, c.operand = data[at+n:end], v&cf.OperandBit != 0
	return c, end
}

// cellsAt is the number of cells of the group at offset at, and the offset of the first
// cell.
func cellsAt(data []byte, at uint32) (n uint32, first int) {
	row := binary.NativeEndian.Uint32(data[at:])
	return binary.NativeEndian.Uint32(data[at+4:]), int(at + groupHeader + row)
}

// A combiner makes groups of the cells of one row.
type combiner struct {
	settler *settler
	most    int // bytes of a group, from which on the next cell begins another
	row     []byte
	cells   []groupCell
	at      []uint32
}

func (c *combiner) collect(data []byte, at uint32) {
	c.row = rowAt(data, at)
	n, next := cellsAt(data, at)
	for range n {
		var cell groupCell
		cell, next = cellAt(data, next)
		c.cells = append(c.cells, cell)
	}
}

// groups appends the collected cells as groups to dst, and returns the offsets where
// the groups begin. They are copies of the collected cells.
func (c *combiner) groups(dst []byte) (data []byte, at []uint32) {
	slices.SortStableFunc(c.cells, func(a, b groupCell) int { return bytes.Compare(a.rest, b.rest) })
	w := groupWriter{data: dst, at: c.at[:0], row: c.row, most: c.most}
	for from := 0; from < len(c.cells); {
		to := from + 1
		for to < len(c.cells) && bytes.Equal(c.cells[to].rest, c.cells[from].rest) {
			to++
		}
		for _, cell := range c.settler.settle(c.row, c.cells[from:to]) {
			w.add(cell)
		}
		from = to
	}
	w.end()
	c.at = w.at
	return w.data, w.at
}

// A groupWriter appends ordered cells of one row as groups.
type groupWriter struct {
	data  []byte
	at    []uint32
	row   []byte
	most  int
	open  bool
	cells uint32
}

func (w *groupWriter) add(c groupCell) {
	if w.open && len(w.data)-int(w.at[len(w.at)-1]) >= w.most {
		w.end()
	}
	if !w.open {
		w.open, w.cells = true, 0
		w.at = append(w.at, uint32(len(w.data)))
		w.data = binary.NativeEndian.AppendUint32(w.data, uint32(len(w.row)))
		w.data = binary.NativeEndian.AppendUint32(w.data, 0)
		w.data = append(w.data, w.row...)
	}
	n := uint32(len(c.value))
	if c.operand {
		n |= cf.OperandBit
	}
	w.data = binary.NativeEndian.AppendUint32(w.data, uint32(len(c.rest)))
	w.data = binary.NativeEndian.AppendUint32(w.data, n)
	w.data = append(append(w.data, c.rest...), c.value...)
	w.cells++
}

func (w *groupWriter) end() {
	if w.open {
		binary.NativeEndian.PutUint32(w.data[w.at[len(w.at)-1]+4:], w.cells)
	}
	w.open = false
}
