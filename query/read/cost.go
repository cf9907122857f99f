package read

import "time"

// A Cost is the work of a read, summed over its families. The work for conditions
// counts too.
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
