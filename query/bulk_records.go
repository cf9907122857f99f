package query

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
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

// A LoadedError is the cause of the error for a bulk load whose name has been loaded
// before. It matches [ErrLoaded].
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
	Lines int // how many lines it has
}

// A Repeat is a record that has the row key and the time of an earlier one.
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

// onRepeat makes a sorter call fn for each repeat.
func onRepeat(s *bulk.Sorter, fn func(Repeat)) {
	s.OnRepeat(func(row string, first, again []byte) { fn(Repeat{row, recordOf(first), recordOf(again)}) })
}
