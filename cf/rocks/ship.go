//go:build cgo && linux && !norocksdb

package rocks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/linxGnu/grocksdb"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/internal/kept"
	"github.com/smolwc/smolwc/cf/internal/wal"
)

var (
	_ cf.Shipper = (*Store)(nil)
	_ cf.Dater   = (*Store)(nil)
)

// DateLog implements cf.Dater.
func (s *Store) DateLog(clock func() time.Time) { s.changes.clock.Store(&clock) }

// The log says what RocksDB does without its log: that families were created and dropped,
// and that the files of a load became part of the database. It says so by deletes of
// entries of the catalog that never exist. docs/format.md describes them.
const (
	shipPrefix    = "standby/"
	createdPrefix = shipPrefix + "created/" // then the family's number, a slash and its name
	droppedPrefix = shipPrefix + "dropped/" // then the family's name
	loadedPrefix  = cf.LoadedPrefix         // then the load's id
	expiryPrefix  = cf.ExpiryPrefix         // then the family's name; an entry that exists
)

// Ship implements cf.Shipper.
func (s *Store) Ship(history string, bytes int64) error {
	was := s.Ships()
	if err := s.ship(history, bytes); err != nil || history == "" || history == was {
		return err
	}
	return s.noteExpiries(context.Background())
}

// noteExpiries corrects the catalog's entries of the families that may drop something.
// While no log was shipped it did not change, whatever became of the families.
func (s *Store) noteExpiries(ctx context.Context) error {
	if s.options.Standby {
		return nil
	}
	gone, err := s.readExpiries(ctx)
	if err != nil {
		return err
	}
	err = s.note(ctx, func(b *cf.Batch) {
		for _, name := range gone {
			b.DeleteMeta(expiryPrefix + name)
		}
	})
	if err != nil {
		return err
	}
	for name, f := range *s.families.Load() {
		var e cf.Expiry
		if given := f.given.Load(); given != nil {
			e = *given
		}
		if err := s.noteExpiry(name, e); err != nil && !errors.Is(err, cf.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (s *Store) ship(history string, bytes int64) error {
	s.changes.keeping.Lock()
	defer s.changes.keeping.Unlock()
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.writable(); err != nil {
		return err
	}
	if s.options.InMemory {
		return fmt.Errorf("a database in memory has no files for standbys: %w", cf.ErrUnavailable)
	}
	if history == "" {
		return s.changes.kept.End()
	}
	k := kept.Shipping{History: history, Bytes: bytes}
	if was := s.changes.kept.Shipping(); was != nil && *was == k {
		return nil
	}
	if err := s.keepLogs(); err != nil {
		return err
	}
	return s.changes.kept.Ship(k)
}

// Ships implements cf.Shipper.
func (s *Store) Ships() string { return s.changes.kept.Ships() }

// Pin implements cf.Shipper.
func (s *Store) Pin(at cf.Position) (release func()) { return s.changes.kept.Pin(at) }

// firstAfter is the first change in the logs after a log.
func (s *Store) firstAfter(number uint64) (first uint64, ok bool, err error) {
	files, err := s.logFiles()
	if err != nil {
		return 0, false, err
	}
	for _, f := range files {
		if f.number <= number {
			continue
		}
		if first, ok, err = s.firstChange(f.number); err != nil || ok {
			return first, ok, err
		}
	}
	return 0, false, nil
}

// keepLoad keeps the files of a load for standbys; see [kept.Kept.KeepLoad].
func (s *Store) keepLoad(m *marker, at uint64) error {
	var files []string
	for _, names := range m.Files {
		for _, name := range names {
			files = append(files, filepath.Join(m.dir, name))
		}
	}
	return s.changes.kept.KeepLoad(m.id, at, files)
}

// Fence implements cf.Shipper.
func (s *Store) Fence(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fence = why
}

// Home implements cf.Shipper.
func (s *Store) Home() string {
	if s.options.InMemory {
		return ""
	}
	return s.dir
}

// LoadDir implements cf.Shipper.
func (s *Store) LoadDir(id string) (string, error) { return s.changes.kept.LoadDir(id) }

// files is the number of files of a load.
func (m *marker) files() (n int) {
	for _, names := range m.Files {
		n += len(names)
	}
	return n
}

// noteLoad says in the log that the files of a load are part of the database. A file
// takes a sequence number or not, depending on what is in memory and which snapshots
// there are. The note takes as many as are missing to one for each file, and one more:
// so standbys, where it may be different, have room.
func (s *Store) noteLoad(m *marker, taken int) error {
	if s.Ships() == "" {
		return nil
	}
	return s.fill(m.id, m.files()-taken+1)
}

// noteLate is noteLoad for a load whose note could not be written at once. Only an
// exclusive lock keeps RocksDB from joining the note with another write into one record,
// which standbys could not apply. The caller does not hold s.mu.
func (s *Store) noteLate(m *marker) error {
	if m.noted {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(); err != nil {
		return err
	}
	err := s.noteLoad(m, 0)
	m.noted = err == nil
	s.unnoted.Store(!m.noted)
	return err
}

// fill writes a note about a load that takes n sequence numbers. The caller holds s.mu
// exclusively.
func (s *Store) fill(id string, n int) error {
	batch := grocksdb.NewWriteBatch()
	defer batch.Destroy()
	if at := s.changes.now(); at != 0 {
		batch.PutLogData(wal.AppendTime(nil, at)[2:])
	}
	for range n {
		batch.Delete([]byte(loadedPrefix + id))
	}
	return s.writeSynced(batch)
}

// note writes changes of the catalog for standbys, if there are any.
func (s *Store) note(ctx context.Context, fn func(*cf.Batch)) error {
	if s.Ships() == "" || s.options.Standby {
		return nil
	}
	var b cf.Batch
	fn(&b)
	_, err := s.gate.LetIn(ctx, func() (cf.Position, int, error) {
		pos, err := s.commit(ctx, nil, &b)
		return pos, b.Size(), err
	})
	return err
}

// noteCreated says in the log that families exist: all that it did not name since the
// store was opened, in the order of their numbers. A process that was killed may have
// created some of them without a note.
func (s *Store) noteCreated(ctx context.Context) error {
	var fresh []*family
	for name, f := range *s.families.Load() {
		if name != catalogFamily && !f.told.Load() {
			fresh = append(fresh, f)
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	slices.SortFunc(fresh, func(a, b *family) int { return cmp.Compare(a.id, b.id) })
	err := s.note(ctx, func(b *cf.Batch) {
		for _, f := range fresh {
			b.DeleteMeta(createdPrefix + strconv.FormatUint(uint64(f.id), 10) + "/" + f.Name)
		}
	})
	if err != nil {
		return err
	}
	for _, f := range fresh {
		f.told.Store(true) // the first copy for a standby contains those from before Ship
	}
	return nil
}

// noteDropped says in the log that families do not exist.
func (s *Store) noteDropped(ctx context.Context, names []string) error {
	return s.note(ctx, func(b *cf.Batch) {
		for _, name := range names {
			b.DeleteMeta(droppedPrefix + name)
			b.DeleteMeta(expiryPrefix + name)
		}
	})
}

// noteExpiry writes down what a family may drop before the family drops it. A standby must
// drop the same before a rule is relaxed: otherwise it would show it again.
func (s *Store) noteExpiry(name string, e cf.Expiry) error {
	if s.Ships() == "" || s.options.Standby {
		return nil
	}
	s.mu.RLock()
	f, err := s.families.Load().get(name)
	s.mu.RUnlock()
	if err != nil || f.noted.Load() == e.Before {
		return err
	}
	text, err := json.Marshal(e)
	if err == nil {
		err = s.PutMeta(context.Background(), expiryPrefix+name, text)
	}
	if err == nil { // the note must be on the disk before cells go
		_, err = s.SyncLog(context.Background())
	}
	if err == nil {
		f.noted.Store(e.Before)
	}
	return err
}

// Latest implements cf.Shipper.
func (s *Store) Latest() cf.Position {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return 0
	}
	return cf.Position(s.db.GetLatestSequenceNumber())
}

// Seen is the position that a standby needs for reads now: the next one while the
// log lacks the note about a load that is visible.
func (s *Store) Seen() cf.Position {
	if s.unnoted.Load() {
		return s.Latest() + 1
	}
	return s.Latest()
}

// SyncLog implements cf.Shipper.
func (s *Store) SyncLog(context.Context) (cf.Position, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return 0, cf.ErrClosed
	}
	at := cf.Position(s.db.GetLatestSequenceNumber())
	if s.options.Async {
		return at, s.syncLog()
	}
	return at, nil
}

// News implements cf.Shipper.
func (s *Store) News() <-chan struct{} { return s.changes.kept.News() }

// A recordLog implements cf.Log.
type recordLog struct{ changes }

// Log implements cf.Shipper.
func (s *Store) Log(after cf.Position) (cf.Log, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return nil, cf.ErrClosed
	}
	l := &recordLog{changes{store: s, after: after, asked: after, raw: true}}
	return l, l.start()
}

// Next implements cf.Log.
func (l *recordLog) Next(ctx context.Context) (*cf.LogRecord, error) {
	for l.record == nil {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if more, err := l.step(); err != nil || !more {
			return nil, err
		}
	}
	r := l.record
	l.record = nil
	l.after = max(l.after, r.Last)
	return r, nil
}

// takeRecord takes the next record as it is. before is the sequence number after the
// record before it, 0 for the first record.
func (c *changes) takeRecord(record []byte, head wal.Head, before uint64) error {
	if before == 0 { // the log was empty when the reading began
		before = uint64(c.asked) + 1
	}
	if head.First < before || head.First <= uint64(c.asked) {
		return fmt.Errorf("%w: no record ends at position %d", cf.ErrDiverged, c.asked)
	}
	c.record = &cf.LogRecord{After: cf.Position(before - 1), Last: cf.Position(head.End() - 1), Data: record}
	if c.store.changes.clock.Load() == nil {
		return nil
	}
	var err error
	c.record.Time, err = wal.TimeOf(record)
	return err
}

// Behind implements cf.Log.
func (l *recordLog) Behind() (sum int64) {
	if l.log == nil {
		return 0
	}
	files, err := l.store.logFiles()
	if err != nil {
		return 0
	}
	for _, f := range files {
		if f.number < l.log.Number {
			continue
		}
		dir := l.store.dir
		if f.archived {
			dir = filepath.Join(dir, archiveDir)
		}
		if info, err := os.Stat(filepath.Join(dir, f.name())); err == nil {
			sum += info.Size()
		}
	}
	return max(0, sum-l.log.At)
}
