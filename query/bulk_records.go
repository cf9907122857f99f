package query

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/bulk"
	"github.com/smolwc/smolwc/internal/excerpt"
	"github.com/smolwc/smolwc/query/internal/catalog"
	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/query/plumbing"
	"github.com/smolwc/smolwc/query/write"
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

// Plumbing is for smolwc's imports.
func (l *BulkLoad) Plumbing() plumbing.Load { return recordLoad{l} }

// A recordLoad is a [plumbing.Load].
type recordLoad struct{ *BulkLoad }

func (l recordLoad) OnRepeat(fn func(plumbing.Repeat)) {
	if l.BulkLoad != nil {
		l.repeated = fn
	}
}

func (l recordLoad) ApplyRecord(key string, at cells.Timestamp, r plumbing.Record, m *write.Mutation) error {
	if l.over() {
		return l.fail(key, errLoadOver)
	}
	l.id.set(at, r)
	return l.fail(key, l.apply(key, m, &l.id))
}

func (l *BulkLoad) tell(r plumbing.Repeat) {
	l.repeats.Add(1)
	if l.repeated != nil {
		l.telling.Lock()
		defer l.telling.Unlock()
		l.repeated(r)
	}
}

// identity is the time of a record, which no other record of its row may have, and the
// record's place in the file as a note.
type identity struct {
	at   [8]byte
	note []byte
}

func (id *identity) set(at cells.Timestamp, r plumbing.Record) {
	binary.BigEndian.PutUint64(id.at[:], uint64(at))
	id.note = binary.AppendUvarint(binary.AppendUvarint(id.note[:0], uint64(r.Line)), uint64(r.Lines))
}

func recordOf(note []byte) plumbing.Record {
	line, n := binary.Uvarint(note)
	lines, _ := binary.Uvarint(note[n:])
	return plumbing.Record{Line: int(line), Lines: int(lines)}
}

func onRepeat(s *bulk.Sorter, fn func(plumbing.Repeat)) {
	s.OnRepeat(func(row string, first, again []byte) {
		fn(plumbing.Repeat{Row: row, First: recordOf(first), Again: recordOf(again)})
	})
}

// A ledger is a [plumbing.Ledger].
type ledger struct {
	close  func() error // removes the directory
	sorter *bulk.Sorter
	id     identity // scratch
	closed bool
}

func (db plumbed) NewLedger(ctx context.Context, repeated func(plumbing.Repeat)) (plumbing.Ledger, error) {
	newLedger := db.ledger
	if db.DB == nil {
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

func (db *DB) ledger(ctx context.Context) (*ledger, error) {
	if err := db.ready(ctx); err != nil {
		return nil, err
	}
	temp, err := db.state.Store.Ingest(ctx)
	if err != nil {
		return nil, err
	}
	return &ledger{close: temp.Close, sorter: bulk.NewSorter(1, db.memory/8, temp.TempDir(), temp.Merge)}, nil
}

// looseLedger is a ledger without a database. It names only cells without operands, so
// that there is nothing to merge.
func looseLedger(ctx context.Context) (*ledger, error) {
	if ctx == nil {
		return nil, errNoContext
	}
	dir, err := os.MkdirTemp("", "smolwc-")
	if err != nil {
		return nil, err
	}
	return &ledger{
		close:  func() error { return os.RemoveAll(dir) },
		sorter: bulk.NewSorter(1, 32<<20, dir, func([][]byte) ([]byte, bool) { return nil, false }),
	}, nil
}

func (l *ledger) Record(key string, at cells.Timestamp, r plumbing.Record) error {
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

func (l *ledger) Cells(key string, all []cells.Cell) error {
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

func (l *ledger) Count(ctx context.Context) (plumbing.LedgerCount, error) {
	switch {
	case l.over():
		return plumbing.LedgerCount{}, fail("ledger", "", "", errLedgerOver)
	case ctx == nil:
		return plumbing.LedgerCount{}, fail("ledger", "", "", errNoContext)
	}
	sorted, err := l.sorter.Finish(ctx)
	if err != nil {
		return plumbing.LedgerCount{}, fail("ledger", "", "", err)
	}
	for _, part := range sorted.Parts(1) {
		if err := part.Each(ctx, func(cf.CellGroups) error { return nil }); err != nil {
			return plumbing.LedgerCount{}, fail("ledger", "", "", err)
		}
	}
	n := sorted.Count()
	return plumbing.LedgerCount{Rows: n.Rows, Cells: n.Cells, Replaced: n.Replaced}, nil
}

func (l *ledger) Close() error {
	if l.over() {
		return nil
	}
	l.closed = true
	l.sorter.Close()
	return fail("ledger", "", "", l.close())
}

// over reports whether the account is closed, or never began.
func (l *ledger) over() bool { return l == nil || l.sorter == nil || l.closed }

var errLedgerOver = fault.Errorf(fault.FailedPrecondition, "the ledger is closed; NewLedger begins a new one")
