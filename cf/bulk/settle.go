package bulk

import (
	"bytes"
	"encoding/binary"
	"sync/atomic"

	"github.com/smolwc/smolwc/cf"
)

// A mark is a load's note about a row. It is stored in a group after the cells, as a
// cell whose key continues with markByte; no column begins with this byte. Marks never
// leave the sorter.
const markByte = 0xff

func isMark(c groupCell) bool { return len(c.rest) > 0 && c.rest[0] == markByte }

// A settler turns the cells with one key into one cell, and counts the cells that it
// drops. It is safe for concurrent use if its functions are.
type settler struct {
	merge    func(operands [][]byte) ([]byte, bool)
	repeated func(row string, first, again []byte) // see Sorter.OnRepeat; may be nil

	replaced, merged atomic.Int64
}

// settle turns the cells with one key, in the order in which they came, into one cell.
func (s *settler) settle(row []byte, same []groupCell) []groupCell {
	last := len(same) - 1
	switch {
	case last == 0:
		return same
	case isMark(same[0]):
		s.repeat(row, same)
		return same[:1]
	case !same[last].operand:
		s.replaced.Add(int64(last))
		return same[last:]
	}
	operands := make([][]byte, len(same))
	for i := range same {
		operands[i] = same[i].value
	}
	merged, ok := s.merge(operands)
	if !ok { // of different kinds: no caller does that
		s.replaced.Add(int64(last))
		return same[last:]
	}
	s.merged.Add(int64(last))
	return []groupCell{{rest: same[0].rest, value: merged, operand: true}}
}

// repeat reports marks with the same identity. A mark without an identity only says
// that the row exists.
func (s *settler) repeat(row []byte, marks []groupCell) {
	if s.repeated == nil || len(marks[0].rest) == 1 {
		return
	}
	key := rowKeyOf(row)
	for _, m := range marks[1:] {
		s.repeated(key, marks[0].value, m.value)
	}
}

// A rowCounter counts the rows of ordered groups, and removes the marks from the
// groups.
type rowCounter struct {
	rows int64
	last []byte // the row prefix of the group before
}

// take counts the groups' rows, and removes their marks and the groups without cells.
func (r *rowCounter) take(c *cf.CellGroups) {
	row := r.last
	left := c.At[:0]
	for _, at := range c.At {
		if next := rowAt(c.Data, at); r.rows == 0 || !bytes.Equal(row, next) {
			row = next
			r.rows++
		}
		if cutMarks(c.Data, at) > 0 {
			left = append(left, at)
		}
	}
	c.At = left
	r.last = append(r.last[:0], row...)
}

// cutMarks cuts the marks off the end of a group, and returns its number of cells.
func cutMarks(data []byte, at uint32) uint32 {
	n, next := cellsAt(data, at)
	for i := range n {
		var c groupCell
		if c, next = cellAt(data, next); isMark(c) {
			binary.NativeEndian.PutUint32(data[at+4:], i)
			return i
		}
	}
	return n
}
