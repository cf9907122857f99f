package query

import (
	"context"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/bulk"
	"github.com/smolwc/smolwc/query/internal/fault"
)

// A Ledger counts the different rows and cells that a caller names, in any order,
// and finds the records that repeat others. It uses up to an eighth of
// [Options.Memory]; the rest is in files in the database's directory until Close.
// It does not look at the database's cells.
//
// A Ledger belongs to one goroutine. It must be closed.
type Ledger struct {
	temp   cf.Ingestion // for its directory
	sorter *bulk.Sorter
	id     identity // scratch
	closed bool
}

// A LedgerCount is the number of different rows and cells named to a [Ledger].
type LedgerCount struct {
	Rows     int64
	Cells    int64
	Replaced int64 // cells that were named again
}

// Ledger returns a new [Ledger]. repeated, which may be nil, is called for each record
// that repeats another, until Count returns: by several goroutines, but one at a time.
func (db *DB) Ledger(ctx context.Context, repeated func(Repeat)) (*Ledger, error) {
	if err := db.ready(ctx); err != nil {
		return nil, fail("ledger", "", "", err)
	}
	temp, err := db.state.Store.Ingest(ctx)
	if err != nil {
		return nil, fail("ledger", "", "", err)
	}
	l := &Ledger{temp: temp, sorter: bulk.NewSorter(1, db.memory/8, temp.TempDir(), temp.Merge)}
	if repeated != nil {
		onRepeat(l.sorter, repeated)
	}
	return l, nil
}

// Record names a record of a row at a time. The time is any number that distinguishes
// the records of one row.
func (l *Ledger) Record(key string, at cells.Timestamp, r Record) error {
	if l.over() {
		return fail("ledger", "", key, errLedgerOver)
	}
	l.sorter.Row(key)
	l.sorter.Group(0)
	l.id.set(at, r)
	l.sorter.Mark(l.id.at[:], l.id.note)
	l.sorter.EndGroup()
	return fail("ledger", "", key, l.sorter.Err())
}

// Cells names cells of a row; their values do not matter.
func (l *Ledger) Cells(key string, all []cells.Cell) error {
	if l.over() {
		return fail("ledger", "", key, errLedgerOver)
	}
	l.sorter.Row(key)
	l.sorter.Group(0)
	for _, c := range all {
		l.sorter.Value(l.sorter.Cell(c.Family+"\x00"+c.Qualifier, int64(c.Timestamp)), false)
	}
	l.sorter.EndGroup()
	return fail("ledger", "", key, l.sorter.Err())
}

// Count ends the account and returns its numbers.
func (l *Ledger) Count(ctx context.Context) (LedgerCount, error) {
	switch {
	case l.over():
		return LedgerCount{}, fail("ledger", "", "", errLedgerOver)
	case ctx == nil:
		return LedgerCount{}, fail("ledger", "", "", errNoContext)
	}
	sorted, err := l.sorter.Finish(ctx)
	if err != nil {
		return LedgerCount{}, fail("ledger", "", "", err)
	}
	for _, part := range sorted.Parts(1) {
		if err := part.Each(ctx, func(cf.CellGroups) error { return nil }); err != nil {
			return LedgerCount{}, fail("ledger", "", "", err)
		}
	}
	n := sorted.Count()
	return LedgerCount{n.Rows, n.Cells, n.Replaced}, nil
}

// Close removes the files of the account.
func (l *Ledger) Close() error {
	if l.over() {
		return nil
	}
	l.closed = true
	l.sorter.Close()
	return fail("ledger", "", "", l.temp.Close())
}

// over reports whether the account is closed, or never began.
func (l *Ledger) over() bool { return l == nil || l.sorter == nil || l.closed }

var errLedgerOver = fault.Errorf(fault.FailedPrecondition, "the account is closed; DB.Ledger begins one")
