package read

import "time"

// A Cost is the work of a read, summed over its families. The work for conditions
// counts too.
type Cost struct {
	Families     int           // families read
	Seeks        int64         // positionings of an engine's iterator
	RowsScanned  int64         // rows looked at, once for each family, selected or not
	RowsSeen     int64         // the most rows looked at in one family
	CellsScanned int64         // cells looked at, selected or not
	BytesScanned int64         // bytes of the keys and values of these cells
	Tombstones   int64         // deleted cells, and marks of deletion, passed over
	Cells        int64         // cells that passed in the engine
	Rows         int64         // rows that were returned
	Elapsed      time.Duration // from the beginning of the read to its end
}
