package query

import (
	"time"

	"github.com/smolwc/smolwc/cf"
)

// ReportCost has the read write to c what it cost, when it ends; nil is nowhere.
func ReportCost(c *Cost) ReadOption { return optionFunc(func(r *readSpec) { r.cost = c }) }

// A Cost is what a read did, summed over its families. What was looked at for
// conditions counts too.
type Cost struct {
	Families     int           // families read
	Seeks        int64         // positionings of an engine's iterator
	RowsScanned  int64         // rows looked at, once for each family, wanted or not
	RowsSeen     int64         // rows looked at in the family where these are the most
	CellsScanned int64         // cells looked at, wanted or not
	BytesScanned int64         // bytes of their keys and values
	Tombstones   int64         // deleted cells, and marks of deletion, passed over
	Cells        int64         // cells that passed in the engine
	Rows         int64         // rows that were returned
	Elapsed      time.Duration // from the beginning of the read to its end
}

// add counts what a cursor did.
func (c *Cost) add(d cf.Cost) {
	c.Families++
	c.Seeks += d.Seeks
	c.RowsScanned += d.RowsScanned
	c.RowsSeen = max(c.RowsSeen, d.RowsScanned)
	c.CellsScanned += d.CellsScanned
	c.BytesScanned += d.BytesScanned
	c.Tombstones += d.Tombstones
	c.Cells += d.Cells
}

// merge adds the cost of a part of a read.
func (c *Cost) merge(d Cost) {
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
