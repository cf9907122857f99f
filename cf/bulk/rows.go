package bulk

import (
	"encoding/binary"
	"math"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/tuple"
)

// A Row is a row of a load on its way into a family, or a part of one.
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
	Value     []byte // or what is merged into the cell
}

// Rows are the rows of groups of cells. They are valid as long as the groups are.
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

// Cells gives the row's cells in order, one a call, and false at the end.
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
