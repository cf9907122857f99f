// Package activity describes a server's own work, as plain values: the calls under way, the
// slowest calls, and how often rows are read and written. The server, its client and the
// shell share them.
package activity

import "time"

// A Call is a call of a client. It may have ended.
type Call struct {
	ID     uint64 // of this run of the server, from 1
	Method string // such as google.bigtable.v2.Bigtable/ReadRows, or json.v1/Scan
	Table  string // its name in the database; "" for a call about no single table
	// Rows says in words which rows the call is about, such as key plane#TF-FIR. It is at
	// most some 200 bytes long, and "" for a call that is not about rows.
	Rows string
	// RowsRead and CellsRead are how much was read until now, and RowsWritten how many rows
	// were written. Rows that a filter rejected count as read, but their cells do not.
	// Rows that the engine skips by itself do not count.
	RowsRead, CellsRead, RowsWritten int64
	Began                            time.Time
	Took                             time.Duration // until now, or until its end
	Token                            string        // the name of the client's token; "" without a token
	Peer                             string        // the client's address
	Code                             string        // of gRPC, such as OK; "" while the call is under way
}

// Calls are the calls of a server that a client may see: all of them for a client that may
// administer all tables, otherwise those that were made with its own token.
type Calls struct {
	Running []Call // those under way, the oldest first
	Slow    []Call // the slowest that have ended in the last hour or two, the slowest first
}

// A HeatRequest names the rows and the time whose load is asked for.
type HeatRequest struct {
	// Table is the table, by its name in the database. "" is all tables that the client
	// may read; there is then no map.
	Table string
	// Since and Until bound the time. A zero Until is now, and a zero Since is a day before
	// Until.
	Since, Until time.Time
	Rows         int // how many of the hottest rows to return at most; 0 is 20
}

// A Heat is how often rows were read and written. All counts are estimates, from samples.
type Heat struct {
	Since, Until  time.Time // of the map, which begins and ends between columns
	Column        time.Duration
	Keys          []string // the first row key of each key bucket, ascending; the first bucket also covers all keys before its own
	Reads, Writes [][]uint64
	Rows          []HotRow // the hottest rows, the hottest first
}

// A HotRow is a row that many reads and writes are about.
type HotRow struct {
	Table, Key    string
	Reads, Writes uint64
}
