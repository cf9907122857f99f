package bulk

import (
	"encoding/binary"
	"math"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/tuple"
)

// A Row is a row of a load, or a part of one, on its way into a family.
type Row struct {
	Row   string
	data  []byte
	first int
	cells uint32
}

// A Cell is a cell of a load, without the row.
type Cell struct {
	Column    []byte // as [cf.AppendQualifier] writes it
	Timestamp int64
	Value     []byte // or the operand to merge into the cell
}

// Rows returns the rows of groups of cells. They are valid as long as the groups are.
func Rows(c cf.CellGroups) []Row {
	rows := make([]Row, len(c.At))
	for i, at := range c.At {
		n, first := cellsAt(c.Data, at)
		rows[i] = Row{rowKeyOf(rowAt(c.Data, at)), c.Data, first, n}
	}
	return rows
}

// rowKeyOf is the row key of a prefix that cf.AppendRowPrefix wrote.
func rowKeyOf(prefix []byte) string {
	key, _, _ := tuple.DecodeBytes(prefix)
	return string(key)
}

// Cells returns a function that gives the next of the row's cells, and false at the
// end.
func (r *Row) Cells() func() (Cell, bool) {
	left, at := r.cells, r.first
	return func() (Cell, bool) {
		if left == 0 {
			return Cell{}, false
		}
		left--
		var c groupCell
		c, at = cellAt(r.data, at)
		n := len(c.rest) - cf.VersionLen
		return Cell{c.rest[:n], int64(math.MaxInt64 - binary.BigEndian.Uint64(c.rest[n+1:])), c.value}, true
	}
}

// EachCell calls fn with the key and the value of each cell of groups, and whether the
// value is an operand. The key is valid until fn returns; the value shares the memory of the
// groups.
func EachCell(c cf.CellGroups, fn func(key, value []byte, operand bool) error) error {
	var key []byte
	for _, at := range c.At {
		row := rowAt(c.Data, at)
		n, next := cellsAt(c.Data, at)
		for range n {
			var cell groupCell
			cell, next = cellAt(c.Data, next)
			key = append(append(key[:0], row...), cell.rest...)
			if err := fn(key, cell.value, cell.operand); err != nil {
				return err
			}
		}
	}
	return nil
}
