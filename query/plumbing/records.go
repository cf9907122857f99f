package plumbing

import (
	"context"
	"errors"

	"github.com/smolwc/smolwc/cells"
)

// A Record is the place in a file that a mutation comes from.
type Record struct {
	Line  int // the record's first line, from 1
	Lines int // how many lines make it up
}

// A Repeat is a record with the row key and the time of an earlier one.
type Repeat struct {
	Row          string
	First, Again Record
}

// ErrRepeated matches, with errors.Is, the error for a bulk load with records that
// repeat others. Its kind is that of an invalid argument.
var ErrRepeated = errors.New("records of the load repeat others")

// A Ledger counts the different rows and cells that a caller names, in any order,
// and finds the records that repeat others. It uses up to an eighth of the database's
// memory; the rest is in files until Close. It does not look at the database's cells.
//
// A Ledger belongs to one goroutine. It must be closed.
type Ledger interface {
	// Record names a record of a row at a time. The time is any number that distinguishes
	// the records of one row.
	Record(key string, at cells.Timestamp, r Record) error
	// Cells names cells of a row; their values do not matter.
	Cells(key string, all []cells.Cell) error
	// Count ends the account and returns its numbers.
	Count(ctx context.Context) (LedgerCount, error)
	// Close removes the files of the account.
	Close() error
}

// A LedgerCount is the number of different rows and cells named to a [Ledger].
type LedgerCount struct {
	Rows     int64
	Cells    int64
	Replaced int64 // cells that were named again
}
