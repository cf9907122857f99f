package scan

import (
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/read"
)

// addCost counts what a cursor did.
func addCost(c *read.Cost, d cf.Cost) {
	c.Families++
	c.Seeks += d.Seeks
	c.RowsScanned += d.RowsScanned
	c.RowsSeen = max(c.RowsSeen, d.RowsScanned)
	c.CellsScanned += d.CellsScanned
	c.BytesScanned += d.BytesScanned
	c.Tombstones += d.Tombstones
	c.Cells += d.Cells
}

// MergeCost adds the cost of a part of a read.
func MergeCost(c *read.Cost, d read.Cost) {
	c.Families = max(c.Families, d.Families)
	c.Seeks += d.Seeks
	c.RowsScanned += d.RowsScanned
	c.RowsSeen += d.RowsSeen
	c.CellsScanned += d.CellsScanned
	c.BytesScanned += d.BytesScanned
	c.Tombstones += d.Tombstones
	c.Cells += d.Cells
	c.Rows += d.Rows
}
