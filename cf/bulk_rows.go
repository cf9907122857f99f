package cf

import (
	"encoding/binary"

	"github.com/smolwc/smolwc/tuple"
)

// A LoadedRow is a row of a load on its way into a family, or a part of one.
type LoadedRow struct {
	Row   string
	data  []byte
	first int
	cells uint32
}

// A LoadedCell is a cell of a load, without the row.
type LoadedCell struct {
	Column    []byte // as [AppendQualifier] writes it
	Timestamp int64
	Value     []byte // or what is merged into the cell
}

// LoadedRows are the rows of groups of cells. They are good for as long as those.
func LoadedRows(c CellGroups) []LoadedRow {
	rows := make([]LoadedRow, len(c.At))
	for i, at := range c.At {
		n, first := cellsAt(c.Data, at)
		rows[i] = LoadedRow{rowKeyOf(rowAt(c.Data, at)), c.Data, first, n}
	}
	return rows
}

// rowKeyOf is the row key of a prefix that AppendRowPrefix wrote.
func rowKeyOf(prefix []byte) string {
	key, _, _ := tuple.DecodeBytes(prefix)
	return string(key)
}

// Cells gives the row's cells in order, one a call, and false at the end.
func (r *LoadedRow) Cells() func() (LoadedCell, bool) {
	left, at := r.cells, r.first
	return func() (LoadedCell, bool) {
		if left == 0 {
			return LoadedCell{}, false
		}
		left--
		var c groupCell
		c, at = cellAt(r.data, at)
		n := len(c.rest) - versionLen
		return LoadedCell{c.rest[:n], int64(maxInt64 - binary.BigEndian.Uint64(c.rest[n+1:])), c.value}, true
	}
}
