//go:build cgo && linux && !norocksdb

package rocks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/linxGnu/grocksdb"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/internal/wal"
)

var _ cf.Shipper = (*Store)(nil)

// A shipping is the content of a file in the directory archive. As long as the file
// exists, the log is kept for standbys. A copy of the database does not have the file.
type shipping struct {
	History string `json:"history"`
	Bytes   int64  `json:"bytes"` // of logs that are kept at least
}

const (
	shippingFile = "standbys.json" // in the directory archive
	loadsDir     = "loads"         // there, a directory for each load
)

// The log says what RocksDB does without its log: that families were created and dropped,
// and that the files of a load became part of the database. It says so by deletes of
// entries of the catalog that never exist. docs/format.md describes them.
const (
	shipPrefix    = "standby/"
	createdPrefix = shipPrefix + "created/" // then the family's number, a slash and its name
	droppedPrefix = shipPrefix + "dropped/" // then the family's name
	loadedPrefix  = shipPrefix + "loaded/"  // then the load's id
	expiryPrefix  = shipPrefix + "expiry/"  // then the family's name; an entry that exists
)

// readShipping continues to keep the log for standbys after an open.
func (s *Store) readShipping() error {
	text, err := os.ReadFile(filepath.Join(s.dir, archiveDir, shippingFile))
	if errors.Is(err, fs.ErrNotExist) {
		if err := s.removeShipped(); err != nil {
			s.logger.Warn("what was kept for standbys cannot be removed", "err", err)
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w: %w", cf.ErrUnavailable, err)
	}
	k := new(shipping)
	if err := json.Unmarshal(text, k); err != nil || k.History == "" {
		return fmt.Errorf("%w: %s", cf.ErrCorrupt, filepath.Join(s.dir, archiveDir, shippingFile))
	}
	s.changes.shipping.Store(k)
	return s.removeUndated()
}

// Ship implements cf.Shipper.
func (s *Store) Ship(history string, bytes int64) error {
	was := s.Ships()
	if err := s.ship(history, bytes); err != nil || history == "" || history == was {
		return err
	}
	return s.noteExpiries(context.Background())
}

// noteExpiries corrects what the catalog says of the families that may drop something.
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
		return s.endShipping()
	}
	k := &shipping{history, bytes}
	if was := s.changes.shipping.Load(); was != nil && *was == *k {
		return nil
	}
	if err := s.keepLogs(); err != nil {
		return err
	}
	text, err := json.Marshal(k)
	if err != nil {
		return err
	}
	archive := filepath.Join(s.dir, archiveDir)
	if err := writeFile(filepath.Join(archive, shippingFile), text); err != nil {
		return fmt.Errorf("%w: %w", cf.ErrUnavailable, err)
	}
	s.changes.shipping.Store(k)
	return nil
}

// endShipping ends what Ship began. The file must not come back after a loss of power: the
// log has no notes for standbys from now on.
func (s *Store) endShipping() error {
	archive := filepath.Join(s.dir, archiveDir)
	err := os.Remove(filepath.Join(archive, shippingFile))
	if err == nil {
		err = syncDir(archive)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", cf.ErrUnavailable, err)
	}
	s.changes.shipping.Store(nil)
	if err := s.removeShipped(); err != nil {
		return fmt.Errorf("%w: %w", cf.ErrUnavailable, err)
	}
	return nil
}

// removeShipped removes what is beside the file, once that is gone: a process may be killed
// before it has removed everything, and before it has renamed the file that it wrote.
func (s *Store) removeShipped() error {
	archive := filepath.Join(s.dir, archiveDir)
	err := os.Remove(filepath.Join(archive, shippingFile+".tmp"))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, os.RemoveAll(filepath.Join(archive, loadsDir)))
}

// writeFile writes a synced file whole or not at all.
func writeFile(path string, text []byte) error {
	f, err := os.OpenFile(path+".tmp", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(path+".tmp", path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(path+".tmp"))
	}
	return syncDir(filepath.Dir(path))
}

// Ships implements cf.Shipper.
func (s *Store) Ships() string {
	if k := s.changes.shipping.Load(); k != nil {
		return k.History
	}
	return ""
}

// Pin implements cf.Shipper.
func (s *Store) Pin(at cf.Position) (release func()) {
	s.changes.mu.Lock()
	defer s.changes.mu.Unlock()
	if s.changes.pins == nil {
		s.changes.pins = map[cf.Position]int{}
	}
	s.changes.pins[at]++
	released := false
	return func() {
		s.changes.mu.Lock()
		defer s.changes.mu.Unlock()
		if !released {
			released = true
			if s.changes.pins[at]--; s.changes.pins[at] == 0 {
				delete(s.changes.pins, at)
			}
		}
	}
}

// lowestPin is the first position that a pin keeps the log after.
func (l *changeLog) lowestPin() (low cf.Position, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for at := range l.pins {
		if !ok || at < low {
			low, ok = at, true
		}
	}
	return low, ok
}

// A shipped is how much is kept for standbys, while logs are trimmed from the oldest on.
type shipped struct {
	store *Store
	*shipping
	later int64      // bytes of the archived logs after the one that is looked at, and of loads
	loads []keptLoad // those that come later
}

// needs reports whether standbys need the next archived log.
func (k *shipped) needs(f logFile, bytes int64) (bool, error) {
	if k.shipping == nil {
		return false, nil
	}
	next, ok, err := k.store.firstAfter(f.number)
	if err != nil {
		return false, err
	}
	k.later -= bytes
	for ok && len(k.loads) > 0 && k.loads[0].at < next {
		k.later -= k.loads[0].bytes
		k.loads = k.loads[1:]
	}
	if k.later < k.Bytes || !ok { // the last record is the one by which a standby is recognized
		return true, nil
	}
	pin, pinned := k.store.changes.lowestPin()
	return pinned && next > uint64(pin)+1, nil
}

// shipped begins to trim.
func (s *Store) shipped() (*shipped, error) {
	k := &shipped{store: s, shipping: s.changes.shipping.Load()}
	if k.shipping == nil {
		return k, nil
	}
	var err error
	if k.loads, err = s.keptLoads(); err != nil {
		return nil, err
	}
	k.later = s.keptBytes()
	return k, nil
}

// A keptLoad is the kept files of a load.
type keptLoad struct {
	path  string
	at    uint64 // the sequence number from which on the log must be there
	bytes int64
}

// keptLoads are the loads that are kept for standbys, in the order of the log.
func (s *Store) keptLoads() (all []keptLoad, err error) {
	if s.options.InMemory {
		return nil, nil
	}
	dir := filepath.Join(s.dir, archiveDir, loadsDir)
	names, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", cf.ErrUnavailable, err)
	}
	for _, e := range names { // they are sorted
		text, _, _ := strings.Cut(e.Name(), "-")
		at, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			continue
		}
		l := keptLoad{path: filepath.Join(dir, e.Name()), at: at}
		files, _ := os.ReadDir(l.path)
		for _, file := range files {
			l.bytes += sizeOf(filepath.Join(l.path, file.Name()))
		}
		all = append(all, l)
	}
	return all, nil
}

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

// trimLoads removes the files of loads before the first log.
func (s *Store) trimLoads() error {
	loads, err := s.keptLoads()
	if err != nil || len(loads) == 0 {
		return err
	}
	first, ok, err := s.firstAfter(0)
	if err != nil || !ok {
		return err
	}
	for _, l := range loads {
		if l.at >= first {
			break
		}
		if err := os.RemoveAll(l.path); err != nil {
			return fmt.Errorf("%w: %w", cf.ErrUnavailable, err)
		}
	}
	return nil
}

// undated is the sequence number of the kept files of a load that has no place in the log yet.
const undated = math.MaxUint64

// removeUndated removes what a crash has left of loads that did not come to the log.
func (s *Store) removeUndated() error {
	loads, err := s.keptLoads()
	for _, l := range loads {
		if l.at == undated {
			err = errors.Join(err, os.RemoveAll(l.path))
		}
	}
	return err
}

// keepLoad keeps the files of a load for standbys, as long as the log after a sequence
// number. Files are copied where the file system has no links, so the caller holds no lock
// that writes need.
func (s *Store) keepLoad(m *marker, at uint64) error {
	if s.Ships() == "" {
		return nil
	}
	dir, err := s.LoadDir(m.id) // of an earlier try
	if err != nil {
		dir = s.loadDir(at, m.id)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("%w: %w", cf.ErrUnavailable, err)
	}
	for _, names := range m.Files {
		for _, name := range names {
			if err := linkOrCopy(filepath.Join(m.dir, name), filepath.Join(dir, name)); err != nil {
				return fmt.Errorf("%w: %w", cf.ErrUnavailable, err)
			}
		}
	}
	return nil
}

func (s *Store) loadDir(at uint64, id string) string {
	return filepath.Join(s.dir, archiveDir, loadsDir, fmt.Sprintf("%020d-%s", at, id))
}

// dateLoad notes for a load that is kept undated that it comes now.
func (s *Store) dateLoad(m *marker, at uint64) error {
	dir, err := s.LoadDir(m.id)
	if err != nil {
		return nil // no standby will ask for it
	}
	if to := s.loadDir(at, m.id); to != dir {
		err = os.Rename(dir, to)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", cf.ErrUnavailable, err)
	}
	return nil
}

// forgetLoad removes the kept files of a load that did not become visible.
func (s *Store) forgetLoad(m *marker) {
	if dir, err := s.LoadDir(m.id); err == nil {
		_ = os.RemoveAll(dir) // otherwise trimLoads removes it
	}
}

// linkOrCopy links a file, and copies it where it cannot be linked. The new file is there
// as a whole or not at all.
func linkOrCopy(from, to string) error {
	if err := os.Link(from, to); err == nil || errors.Is(err, fs.ErrExist) {
		return nil
	}
	return copyFile(context.Background(), from, to)
}

// copyFile copies a file to the disk, whole or not at all.
func copyFile(ctx context.Context, from, to string) error {
	r, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // it was only read
	w, err := os.OpenFile(to+".tmp", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	for err == nil {
		if err = ctx.Err(); err == nil {
			_, err = io.CopyN(w, r, 64<<20)
		}
	}
	if err == io.EOF {
		err = nil
	}
	if err = errors.Join(err, w.Sync(), w.Close()); err == nil {
		err = os.Rename(to+".tmp", to)
	}
	if err != nil {
		_ = os.Remove(to + ".tmp") // it may not be there
	}
	return err
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
func (s *Store) LoadDir(id string) (string, error) {
	loads, err := s.keptLoads()
	if err != nil {
		return "", err
	}
	for _, l := range loads {
		if _, of, _ := strings.Cut(filepath.Base(l.path), "-"); of == id {
			return l.path, nil
		}
	}
	return "", fmt.Errorf("the files of load %q are not kept: %w", id, cf.ErrTrimmed)
}

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

// noteCreated says in the log that families exist: all those that it has not named since
// the store was opened, in the order of their numbers. A process that was killed may have
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
		f.told.Store(true) // the first copy for a standby has those from before Ship
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

// noteExpiry writes down what a family may drop before the family drops it. A standby has
// to drop the same before a rule is relaxed: otherwise it would show it again.
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
	if err == nil { // the disk must not lose cells before it has the note that allows it
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

// Seen is the position that a standby has to have for what is read now: the next one while
// the log lacks the note about a load that is visible.
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
func (s *Store) News() <-chan struct{} {
	for {
		if c := s.changes.news.Load(); c != nil {
			return *c
		}
		c := make(chan struct{})
		s.changes.news.CompareAndSwap(nil, &c)
	}
}

// tell wakes those that wait for News.
func (s *Store) tell() {
	if s.changes.news.Load() == nil {
		return
	}
	if c := s.changes.news.Swap(nil); c != nil {
		close(*c)
	}
}

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
	return nil
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
