package query

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/bulk"
	"github.com/smolwc/smolwc/internal/excerpt"
	"github.com/smolwc/smolwc/query/internal/catalog"
	"github.com/smolwc/smolwc/query/internal/fault"
)

// A loadRecord is the catalog's entry of a load with a name.
type loadRecord struct {
	At cells.Timestamp `json:"at"` // microseconds
	BulkResult
}

// A LoadedError is the cause of the error for a bulk load whose name was loaded before.
// It matches [ErrLoaded].
type LoadedError struct {
	Name   string
	At     cells.Timestamp // when, by the database's wall clock
	Result BulkResult
}

// Error is the name, the time and the size.
func (e *LoadedError) Error() string {
	if e == nil {
		return ErrLoaded.Error()
	}
	return fmt.Sprintf("%q is %v: %d cells, at %s", excerpt.Of(e.Name), ErrLoaded, e.Result.Cells, e.At.Time().Format(time.RFC3339))
}

// Is makes it match ErrLoaded.
func (e *LoadedError) Is(target error) bool { return target == ErrLoaded }

// checkName refuses a load whose name was loaded before.
func (l *BulkLoad) checkName(ctx context.Context) error {
	if l.opts.Name == "" || l.opts.Again {
		return nil
	}
	snap, err := l.db.state.Store.Snapshot(ctx)
	if err != nil {
		return err
	}
	defer snap.Close()
	return l.checkNameAt(ctx, snap)
}

func (l *BulkLoad) checkNameAt(ctx context.Context, snap cf.Snapshot) error {
	key := catalog.LoadKey(l.table.Name, l.opts.Name)
	text, err := snap.Meta(ctx, key)
	if text == nil || err != nil {
		return err
	}
	var r loadRecord
	if err := json.Unmarshal(text, &r); err != nil {
		return fault.Errorf(fault.Corruption, "catalog entry %s: %w", excerpt.Of(key), err)
	}
	return fault.Of(fault.AlreadyExists, &LoadedError{l.opts.Name, r.At, r.BulkResult})
}

// record notes the load's name when the load becomes visible. No other load becomes
// visible meanwhile.
func (l *BulkLoad) record(snap cf.Snapshot, b *cf.Batch) error {
	if l.opts.Name == "" {
		return nil
	}
	if !l.opts.Again {
		if err := l.checkNameAt(context.Background(), snap); err != nil {
			return err
		}
	}
	text, err := json.Marshal(loadRecord{l.db.state.Clock.Now(), l.result})
	if err != nil {
		return err
	}
	b.PutMeta(catalog.LoadKey(l.table.Name, l.opts.Name), text)
	return nil
}

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
// repeat others. Its kind is [KindInvalidArgument].
var ErrRepeated = errors.New("records of the load repeat others")

// identity is the time of a record, which no other record of its row may have, and the
// record's place in the file as a note.
type identity struct {
	at   [8]byte
	note []byte
}

func (id *identity) set(at cells.Timestamp, r Record) {
	binary.BigEndian.PutUint64(id.at[:], uint64(at))
	id.note = binary.AppendUvarint(binary.AppendUvarint(id.note[:0], uint64(r.Line)), uint64(r.Lines))
}

func recordOf(note []byte) Record {
	line, n := binary.Uvarint(note)
	lines, _ := binary.Uvarint(note[n:])
	return Record{int(line), int(lines)}
}

func onRepeat(s *bulk.Sorter, fn func(Repeat)) {
	s.OnRepeat(func(row string, first, again []byte) { fn(Repeat{row, recordOf(first), recordOf(again)}) })
}

// A Ledger counts the different rows and cells that a caller names, in any order,
// and finds the records that repeat others. It uses up to an eighth of
// [Options.Memory]; the rest is in files until Close.
// It does not look at the database's cells.
//
// A Ledger belongs to one goroutine. It must be closed.
type Ledger struct {
	close  func() error // removes the directory
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

// NewLedger returns a new [Ledger], whose files are in the directory of the database. If
// db is nil, they are in a directory for temporary files, and the ledger uses up to
// 32 MiB. repeated, which may be nil, is called for each record that repeats another,
// until Count returns: by several goroutines, but one at a time.
func NewLedger(ctx context.Context, db *DB, repeated func(Repeat)) (*Ledger, error) {
	newLedger := db.ledger
	if db == nil {
		newLedger = looseLedger
	}
	l, err := newLedger(ctx)
	if err != nil {
		return nil, fail("ledger", "", "", err)
	}
	if repeated != nil {
		onRepeat(l.sorter, repeated)
	}
	return l, nil
}

func (db *DB) ledger(ctx context.Context) (*Ledger, error) {
	if err := db.ready(ctx); err != nil {
		return nil, err
	}
	temp, err := db.state.Store.Ingest(ctx)
	if err != nil {
		return nil, err
	}
	return &Ledger{close: temp.Close, sorter: bulk.NewSorter(1, db.memory/8, temp.TempDir(), temp.Merge)}, nil
}

// looseLedger is a ledger without a database. It names only cells without operands, so
// that there is nothing to merge.
func looseLedger(ctx context.Context) (*Ledger, error) {
	if ctx == nil {
		return nil, errNoContext
	}
	dir, err := os.MkdirTemp("", "smolwc-")
	if err != nil {
		return nil, err
	}
	return &Ledger{
		close:  func() error { return os.RemoveAll(dir) },
		sorter: bulk.NewSorter(1, 32<<20, dir, func([][]byte) ([]byte, bool) { return nil, false }),
	}, nil
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
	return fail("ledger", "", "", l.close())
}

// over reports whether the account is closed, or never began.
func (l *Ledger) over() bool { return l == nil || l.sorter == nil || l.closed }

var errLedgerOver = fault.Errorf(fault.FailedPrecondition, "the ledger is closed; NewLedger begins a new one")
