//go:build cgo && linux && !norocksdb

package rocks

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/linxGnu/grocksdb"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/internal/kept"
	"github.com/smolwc/smolwc/cf/internal/wal"
	"github.com/smolwc/smolwc/cf/isolation"
	"github.com/smolwc/smolwc/cf/rocks/internal/files"
	"github.com/smolwc/smolwc/cf/rocks/internal/recovery"
	"github.com/smolwc/smolwc/cf/rocks/internal/tablefile"
)

var _ cf.Follower = (*Store)(nil)

// A following describes the record that a store applies next.
type following struct {
	families *families // whose numbers are in ids
	ids      map[uint32]bool
	record   *cf.LogRecord
	read     *inspected // of record
}

// An inspected record was read and not applied yet.
type inspected struct {
	cf.Need
	head     wal.Head
	notes    uint64 // changes that are the note about the load
	creates  []createdFamily
	drops    []string
	expiries map[string]cf.Expiry
	ended    []string // loads whose marker the record removes
	marker   *marker  // of the load that becomes visible
	left     []string // the families without the load's files
}

type createdFamily struct {
	id   uint32
	name string
}

func diverged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", cf.ErrDiverged, fmt.Sprintf(format, args...))
}

// Prepare implements cf.Follower.
func (s *Store) Prepare(ctx context.Context, r *cf.LogRecord) (cf.Need, error) {
	s.following.record = nil
	in, err := s.inspect(r)
	if err != nil {
		return cf.Need{}, err
	}
	if err := s.lowerExpiries(ctx, in.expiries); err != nil {
		return cf.Need{}, err
	}
	s.following.record, s.following.read = r, in
	return in.Need, nil
}

// inspect reads a record, and checks that it comes next. Only the note about a load may
// come after a gap: the files of the load have the missing sequence numbers.
func (s *Store) inspect(r *cf.LogRecord) (*inspected, error) {
	head, err := wal.ParseHead(r.Data)
	if err != nil {
		return nil, err
	}
	in := &inspected{head: head}
	if head.Count == 0 || cf.Position(head.End()-1) != r.Last {
		return nil, diverged("a record of %d changes ends at position %d", head.Count, r.Last)
	}
	if open := s.families.Load(); open != s.following.families {
		s.following.families, s.following.ids = open, map[uint32]bool{}
		for _, f := range *open {
			s.following.ids[f.id] = true
		}
	}
	err = wal.Each(r.Data, func(kind cf.OpKind, family uint32, op *cf.LoggedOp) error {
		if family == 0 {
			return in.entry(kind, string(op.Key), op.Value)
		}
		if !s.following.ids[family] && !slices.ContainsFunc(in.creates, func(c createdFamily) bool { return c.id == family }) {
			return diverged("record %d writes to family %d, which the standby does not have", head.First, family)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	latest := uint64(s.Latest())
	if in.Load != "" {
		return in, s.inspectLoad(in, r, latest)
	}
	if head.First != latest+1 || uint64(r.After) != latest {
		return nil, diverged("the standby has position %d; the next record begins with %d, after %d", latest, head.First, r.After)
	}
	return in, nil
}

// entry notes a change of the catalog.
func (in *inspected) entry(kind cf.OpKind, key string, value []byte) error {
	if key == clockKey {
		return nil
	}
	in.Catalog = true
	if kind == cf.OpPut {
		if name, ok := strings.CutPrefix(key, expiryPrefix); ok {
			var e cf.Expiry
			if err := json.Unmarshal(value, &e); err != nil {
				return fmt.Errorf("%w: %s: %w", cf.ErrCorrupt, key, err)
			}
			if in.expiries == nil {
				in.expiries = map[string]cf.Expiry{}
			}
			in.expiries[name] = e
		}
		return nil
	}
	if id, ok := strings.CutPrefix(key, recovery.MarkerPrefix); ok {
		in.ended = append(in.ended, id)
	}
	if name, ok := strings.CutPrefix(key, droppedPrefix); ok {
		in.drops = append(in.drops, name)
	}
	if id, ok := strings.CutPrefix(key, loadedPrefix); ok {
		if id != in.Load {
			in.Load, in.notes = id, 0
		}
		in.notes++
	}
	if text, ok := strings.CutPrefix(key, createdPrefix); ok {
		number, name, _ := strings.Cut(text, "/")
		id, err := strconv.ParseUint(number, 10, 32)
		if err != nil {
			return diverged("entry %s has no number", key)
		}
		in.creates = append(in.creates, createdFamily{uint32(id), name})
	}
	return nil
}

// clockKey is the catalog's entry that changes each second. It is not part of the schema.
const clockKey = "smolwc/clock"

// inspectLoad finds the load of a note.
func (s *Store) inspectLoad(in *inspected, r *cf.LogRecord, latest uint64) error {
	if in.notes != in.head.Count { // the other changes would be missing
		return diverged("record %d has the note about load %s, and other changes", in.head.First, in.Load)
	}
	if latest >= in.head.End() || latest < uint64(r.After) {
		return diverged("the standby has position %d; the note about load %s is after %d", latest, in.Load, r.After)
	}
	var err error
	if in.marker, err = s.markerOf(in.Load); err != nil {
		return err
	}
	if in.left, err = s.notIngested(in.marker); err != nil {
		return err
	}
	if len(in.left) == len(in.marker.Files) && latest != uint64(r.After) {
		return diverged("the standby has position %d before load %s", latest, in.Load)
	}
	slices.Sort(in.left)
	in.Dir = in.marker.dir
	for _, family := range in.left {
		in.Files = append(in.Files, in.marker.Files[family]...)
	}
	return nil
}

// markerOf is the marker of a load that the log began.
func (s *Store) markerOf(id string) (*marker, error) {
	all, err := s.markers(context.Background())
	if err != nil {
		return nil, err
	}
	for _, m := range all {
		if m.id == id {
			return m, nil
		}
	}
	return nil, diverged("load %s has ended without having begun", id)
}

// Apply implements cf.Follower.
func (s *Store) Apply(ctx context.Context, r *cf.LogRecord) error {
	if s.following.record != r {
		if _, err := s.Prepare(ctx, r); err != nil {
			return err
		}
	}
	in := s.following.read
	s.following.record = nil
	if in.Load != "" {
		return s.applyLoad(ctx, in)
	}
	if s.creates(in) {
		// The changes before a family's creation must be on the disk first. Otherwise they
		// would be applied again, perhaps to another family of this name.
		if _, err := s.SyncLog(ctx); err != nil {
			return err
		}
	}
	for _, c := range in.creates {
		if err := s.createAt(ctx, c); err != nil {
			return err
		}
	}
	if len(in.drops) > 0 {
		// The catalog without the families must be on the disk before they go.
		if _, err := s.SyncLog(ctx); err != nil {
			return err
		}
		if err := s.dropFamilies(ctx, in.drops); err != nil {
			return err
		}
	}
	if err := s.applyRep(ctx, r, in.head); err != nil {
		return err
	}
	if len(in.expiries) > 0 {
		// The note that allows it must be on the disk before cells go.
		if _, err := s.SyncLog(ctx); err != nil {
			return err
		}
	}
	for name, e := range in.expiries {
		f, ok := (*s.families.Load())[name]
		if !ok {
			continue
		}
		if err := s.setExpiry(name, e); err != nil {
			return err
		}
		f.noted.Store(e.Before)
	}
	for _, id := range in.ended {
		if err := os.RemoveAll(filepath.Join(s.dir, bulkDir, id)); err != nil {
			return fmt.Errorf("%w: %w", cf.ErrUnavailable, err)
		}
	}
	return nil
}

// applyRep writes a record unchanged. RocksDB gives it the next sequence numbers, which
// must be its own.
func (s *Store) applyRep(ctx context.Context, r *cf.LogRecord, head wal.Head) error {
	_, err := s.gate.LetIn(ctx, func() (cf.Position, int, error) {
		pos, err := s.putRecord(r.Data)
		if err == nil && pos != r.Last {
			s.mu.Lock()
			defer s.mu.Unlock()
			err = s.stopped(diverged("record %d was written up to %d and not to %d", head.First, pos, r.Last))
		}
		return pos, len(r.Data), err
	})
	return err
}

func (s *Store) putRecord(record []byte) (cf.Position, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.writable(); err != nil {
		return 0, err
	}
	return s.put(record)
}

// creates reports whether a record makes families that are not there.
func (s *Store) creates(in *inspected) bool {
	there := *s.families.Load()
	return slices.ContainsFunc(in.creates, func(c createdFamily) bool {
		f, ok := there[c.name]
		return !ok || f.id != c.id
	})
}

// createAt makes a family with a number. RocksDB numbers families in the order in which
// they are made, also those that were dropped since. So a family with a lower number, made
// here or by a process that was killed, makes room for the next one.
func (s *Store) createAt(ctx context.Context, c createdFamily) error {
	for {
		f, ok := (*s.families.Load())[c.name]
		switch {
		case ok && f.id == c.id:
			return nil
		case ok && f.id > c.id:
			return diverged("family %s has number %d and not %d", c.name, f.id, c.id)
		case ok:
			if err := s.dropFamilies(ctx, []string{c.name}); err != nil {
				return err
			}
		}
		if err := s.createFamilies(ctx, []string{c.name}); err != nil {
			return err
		}
	}
}

// lowerExpiries drops the cells that the families may drop, before they may drop fewer: those
// that they still have would be shown again.
func (s *Store) lowerExpiries(ctx context.Context, next map[string]cf.Expiry) error {
	for _, name := range slices.Sorted(maps.Keys(next)) {
		f, ok := (*s.families.Load())[name]
		if !ok || next[name].Before >= f.noted.Load() {
			continue
		}
		if err := s.Compact(ctx, name, cf.Range{}); err != nil {
			return err
		}
	}
	return nil
}

// readExpiries reads what standbys know that the families may drop. gone are families that
// are not there. A standby lets the others drop that again.
func (s *Store) readExpiries(ctx context.Context) (gone []string, err error) {
	snap, err := s.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	defer snap.Close()
	entries, err := snap.MetaPrefix(ctx, expiryPrefix)
	if err != nil {
		return nil, err
	}
	for key, text := range entries {
		var e cf.Expiry
		if err := json.Unmarshal(text, &e); err != nil {
			return nil, fmt.Errorf("%w: %s: %w", cf.ErrCorrupt, key, err)
		}
		name := strings.TrimPrefix(key, expiryPrefix)
		f, ok := (*s.families.Load())[name]
		if !ok {
			gone = append(gone, name)
			continue
		}
		f.noted.Store(e.Before)
		if !s.options.Standby {
			continue
		}
		if err := s.setExpiry(name, e); err != nil {
			return nil, err
		}
	}
	return gone, nil
}

// applyLoad makes the files of a load part of the database, and takes all sequence numbers
// up to the end of the note.
func (s *Store) applyLoad(ctx context.Context, in *inspected) error {
	if err := s.ingesting.Lock(ctx); err != nil {
		return err
	}
	defer s.ingesting.Unlock()
	if len(in.left) > 0 { // the engine removes files once it holds them
		if err := s.keepLoad(in.marker, in.head.First); err != nil {
			return err
		}
		// The changes before the load must be on the disk first.
		if _, err := s.SyncLog(ctx); err != nil {
			return err
		}
	}
	_, err := s.gate.LetIn(ctx, func() (cf.Position, int, error) {
		hold := isolation.Hold{All: true}
		if err := s.locks.Lock(ctx, &hold); err != nil {
			return 0, 0, err
		}
		defer s.locks.Unlock(&hold)
		s.mu.Lock() // no snapshot sees the new files of some families only
		defer s.mu.Unlock()
		if err := s.writable(); err != nil {
			return 0, 0, err
		}
		defer s.noteLoaded()
		if err := s.ingestLeft(in); err != nil {
			return 0, 0, err
		}
		n := int64(in.head.End()-1) - int64(s.db.GetLatestSequenceNumber())
		if n == 0 && len(in.left) == 0 {
			return 0, 0, nil // an earlier try wrote the note
		}
		if n <= 0 || n > math.MaxInt32 {
			return 0, 0, s.stopped(diverged("load %s has no room up to position %d", in.Load, in.head.End()-1))
		}
		return 0, 0, s.fill(in.Load, int(n))
	})
	return err
}

// ingestLeft gives the families the files of a load that they do not have. The caller
// holds s.mu exclusively.
func (s *Store) ingestLeft(in *inspected) error {
	m := in.marker
	for i, family := range in.left {
		for _, name := range m.Files[family] {
			if err := tablefile.ClearSequence(filepath.Join(m.dir, name)); err != nil {
				return fmt.Errorf("%w: %w", cf.ErrUnavailable, err)
			}
		}
		if err := s.ingestFamily(family, m); err != nil {
			if i == 0 && len(in.left) == len(m.Files) {
				return err // nothing is visible
			}
			return s.stopped(err)
		}
	}
	in.left = nil // in case the note must be written again
	return nil
}

// noFamily is the number of a family that never exists. Changes of it take positions, and
// nothing else.
const noFamily = math.MaxUint32

// Skip implements cf.Follower.
func (s *Store) Skip(ctx context.Context, to cf.Position) error {
	opts := grocksdb.NewDefaultWriteOptions()
	defer opts.Destroy()
	opts.SetNoSlowdown(true)
	opts.SetIgnoreMissingColumnFamilies(true)
	var rep []byte
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := int64(to) - int64(s.Latest())
		switch {
		case n < 0:
			return diverged("the store has position %d, beyond %d", s.Latest(), to)
		case n == 0:
			_, err := s.readExpiries(ctx) // they may have been written as other entries are
			return err
		case n == 1: // the engine notes this number also where it forgets the log
			rep = append(append(make([]byte, wal.RepHeader), wal.RepDelete), appendString(nil, []byte(skippedKey))...)
		case n-1 < skipAtOnce || rep == nil:
			n = min(n-1, skipAtOnce)
			rep = make([]byte, wal.RepHeader)
			for range n {
				rep = append(binary.AppendUvarint(append(rep, wal.RepFamilyDelete), noFamily), 0)
			}
		default:
			n = skipAtOnce
		}
		binary.LittleEndian.PutUint64(rep, 0)
		binary.LittleEndian.PutUint32(rep[8:], uint32(n))
		_, err := s.gate.LetIn(ctx, func() (cf.Position, int, error) {
			s.mu.RLock()
			defer s.mu.RUnlock()
			if err := s.writable(); err != nil {
				return 0, 0, err
			}
			pos, err := s.tryPut(files.NewWriter(s.engine.logs, s.db, opts), rep, nil)
			return pos, len(rep), err
		})
		if err != nil {
			return err
		}
	}
}

// skipAtOnce changes are written at once.
const skipAtOnce = 1 << 18

// skippedKey is an entry of the catalog that does not exist.
const skippedKey = shipPrefix + "skipped"

// LastRecords implements cf.Follower. Notes about loads are this store's own.
func (s *Store) LastRecords(ctx context.Context) (last []*cf.LogRecord, err error) {
	files, err := s.logFiles()
	if err != nil {
		return nil, err
	}
	logs := kept.Logs{
		Count: len(files),
		First: func(i int) (uint64, bool, error) { return s.firstChange(files[i].number) },
		Open:  s.Log,
		Own: func(r *cf.LogRecord) (own bool, err error) {
			err = wal.Each(r.Data, func(_ cf.OpKind, family uint32, op *cf.LoggedOp) error {
				own = own || family == 0 && strings.HasPrefix(string(op.Key), loadedPrefix)
				return nil
			})
			return own, err
		},
	}
	return logs.Last(ctx)
}

// Ops implements cf.Follower.
func (s *Store) Ops(r *cf.LogRecord, fn func(op *cf.LoggedOp) error) error {
	names := map[uint32]string{}
	for name, f := range *s.families.Load() {
		names[f.id] = name
	}
	names[0] = ""
	return wal.Each(r.Data, func(_ cf.OpKind, family uint32, op *cf.LoggedOp) error {
		name, ok := names[family]
		if !ok {
			name = fmt.Sprint("family ", family)
		}
		op.Family = name
		return fn(op)
	})
}

// Loading implements cf.Follower.
func (s *Store) Loading(ctx context.Context) (bool, error) {
	all, err := s.markers(ctx)
	if err != nil {
		return false, err
	}
	for _, m := range all {
		left, err := s.notIngested(m)
		if err != nil {
			return true, err
		}
		if len(left) == len(m.Files) {
			continue
		}
		if _, noted, err := s.loadInLog(ctx, m); err != nil || !noted {
			return true, err
		}
	}
	return false, nil
}

// loadInLog reports whether the log contains the marker of a load, and the note about it.
// It reads the log back to one of them; a copy may contain a load without its log.
func (s *Store) loadInLog(ctx context.Context, m *marker) (marked, noted bool, err error) {
	files, err := s.logFiles()
	if err != nil {
		return false, false, err
	}
	for _, f := range slices.Backward(files) {
		first, ok, err := s.firstChange(f.number)
		if err != nil {
			return false, false, err
		}
		if !ok {
			continue
		}
		marked, noted, err = s.loadIn(ctx, m, cf.Position(first)-1)
		if marked || noted || err != nil {
			return marked, noted, err
		}
	}
	return false, false, nil
}

// loadIn finds a load in the log after a position.
func (s *Store) loadIn(ctx context.Context, m *marker, after cf.Position) (marked, noted bool, err error) {
	l, err := s.Log(after)
	if err != nil {
		return false, false, err
	}
	defer l.Close()
	for {
		r, err := l.Next(ctx)
		if r == nil || err != nil {
			return marked, noted, err
		}
		err = wal.Each(r.Data, func(kind cf.OpKind, family uint32, op *cf.LoggedOp) error {
			marked = marked || family == 0 && kind == cf.OpPut && string(op.Key) == recovery.MarkerPrefix+m.id
			noted = noted || family == 0 && string(op.Key) == loadedPrefix+m.id
			return nil
		})
		if err != nil {
			return marked, noted, err
		}
	}
}

// completeNote writes the note about a load whose files a standby took, so that the standby
// is at the end of a record that others know.
func (s *Store) completeNote(ctx context.Context, m *marker) error {
	s.noteLoaded() // the last sequence numbers may belong to the files, and be in no log
	if marked, noted, err := s.loadInLog(ctx, m); !marked || noted || err != nil {
		return err
	}
	records, err := s.LastRecords(ctx) // the note comes right after them
	if len(records) == 0 || err != nil {
		return err
	}
	last := records[len(records)-1]
	_, err = s.gate.LetIn(ctx, func() (cf.Position, int, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		n := int64(last.Last) + int64(m.files()) + 1 - int64(s.db.GetLatestSequenceNumber())
		if n <= 0 || n > int64(m.files())+1 {
			return 0, 0, nil // something else is there
		}
		return 0, 0, s.fill(m.id, int(n))
	})
	return err
}

// Promote implements cf.Follower.
func (s *Store) Promote(ctx context.Context, async bool, begin func() error) error {
	if err := s.ingesting.Lock(ctx); err != nil { // nobody sees a part of a load that ends here
		return err
	}
	defer s.ingesting.Unlock()
	if _, err := s.SyncLog(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	s.options.Standby, s.options.Async = false, async
	s.write.SetSync(!async)
	s.engine.logs.Opened(!async)
	s.mu.Unlock()
	if err := begin(); err != nil {
		return err
	}
	if err := s.finishIngestions(ctx); err != nil {
		return err
	}
	s.noteLoaded()
	return nil
}

// TrimLog implements cf.Follower.
func (s *Store) TrimLog() error {
	s.changes.keeping.Lock()
	defer s.changes.keeping.Unlock()
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.writable(); err != nil {
		return err
	}
	archive := filepath.Join(s.dir, archiveDir)
	if _, err := os.Stat(archive); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return s.trimChanges(archive, func(int64) bool { return true })
}
