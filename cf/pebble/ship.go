package pebble

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	engine "github.com/cockroachdb/pebble/v2"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/internal/kept"
)

var (
	_ cf.Shipper = (*Store)(nil)
	_ cf.Dater   = (*Store)(nil)
)

// DateLog implements [cf.Dater].
func (s *Store) DateLog(clock func() time.Time) { s.log.clock.Store(&clock) }

// Ship implements [cf.Shipper]. Families are entries of the database, and cells that have
// expired are deleted by commits of the janitor: so the log has all of that already.
func (s *Store) Ship(history string, bytes int64) error {
	s.log.keeping.Lock()
	defer s.log.keeping.Unlock()
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.writable(); err != nil {
		return err
	}
	if s.Home() == "" {
		return fmt.Errorf("a database in memory has no files for standbys: %w", cf.ErrUnavailable)
	}
	if history == "" {
		return s.kept.End()
	}
	k := kept.Shipping{History: history, Bytes: bytes}
	if was := s.kept.Shipping(); was != nil && was.History == history {
		if k.At, k.Trimmed = was.At, was.Trimmed; *was == k {
			return nil
		}
		return s.kept.Ship(k)
	}
	if err := s.keepLogs(); err != nil {
		return err
	}
	return s.still(context.Background(), func() (err error) {
		if !s.following.is.Load() {
			if _, err := s.put(s.mark(), true); err != nil {
				return err
			}
		}
		k.At = cf.Position(s.acked.Load())
		return s.kept.Ship(k)
	})
}

// still runs fn while no commit is under way.
func (s *Store) still(ctx context.Context, fn func() error) error {
	return s.do(ctx, func() error {
		defer s.hold()()
		if err := ctx.Err(); err != nil {
			return err
		}
		return fn()
	})
}

// beginWriting takes a shared lock of writing. It does not wait for a disk that takes no
// writes.
func (s *Store) beginWriting(ctx context.Context) error {
	if !s.writing.TryRLock() {
		locked := make(chan struct{})
		s.calls.all.Go(func() {
			s.writing.RLock()
			close(locked)
		})
		if err := s.await(ctx, locked); err != nil {
			s.calls.all.Go(func() {
				<-locked
				s.writing.RUnlock()
			})
			return err
		}
	}
	if err := s.fenced(); err != nil {
		s.writing.RUnlock()
		return err
	}
	return nil
}

// hold waits for the end of the commits that are under way, and keeps others from beginning.
func (s *Store) hold() (release func()) {
	s.shaping.Lock()
	s.writing.Lock()
	return sync.OnceFunc(func() {
		s.writing.Unlock()
		s.shaping.Unlock()
	})
}

// Ships implements [cf.Shipper].
func (s *Store) Ships() string { return s.kept.Ships() }

// Pin implements [cf.Shipper].
func (s *Store) Pin(at cf.Position) (release func()) { return s.kept.Pin(at) }

// News implements [cf.Shipper].
func (s *Store) News() <-chan struct{} { return s.kept.News() }

// LoadDir implements [cf.Shipper].
func (s *Store) LoadDir(id string) (string, error) { return s.kept.LoadDir(id) }

// Home implements [cf.Shipper].
func (s *Store) Home() string {
	if s.options.InMemory || s.options.FS != nil {
		return ""
	}
	return s.dir
}

// Latest implements [cf.Shipper].
func (s *Store) Latest() cf.Position {
	if s.options.ReadOnly {
		s.located.Do(func() { _ = s.locate(context.Background()) }) // otherwise Log says why
	}
	return cf.Position(s.acked.Load())
}

// Seen is the position that a standby has to have for what is read now: the next one while
// the log lacks the note about a load that is visible.
func (s *Store) Seen() cf.Position {
	if s.unnoted.Load() {
		return s.Latest() + 1
	}
	return s.Latest()
}

// DroppedBefore implements [cf.Shipper]. What goes without a delete is not there: the janitor's
// deletes are in the log.
func (s *Store) DroppedBefore(string) int64 { return 0 }

// Dropped implements [cf.DropTeller]. A family goes in the commit that says so.
func (s *Store) Dropped() []string { return nil }

// LogSnapshot implements [cf.Shipper].
func (s *Store) LogSnapshot(ctx context.Context) (at *cf.LogSnapshot, err error) {
	if err := s.ingesting.Lock(ctx); err != nil {
		return nil, err
	}
	defer s.ingesting.Unlock()
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.usable(); err != nil {
		return nil, err
	}
	if err := s.loaded(ctx); err != nil {
		return nil, err
	}
	err = s.still(ctx, func() error {
		snap := &snapshot{store: s, families: *s.families.Load(), snap: s.db.NewSnapshot()}
		s.open.add(snap)
		at = &cf.LogSnapshot{Snapshot: snap, At: cf.Position(s.acked.Load()), Families: s.Families()}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return at, nil
}

// loaded is an error if cells of a load are visible whose note the standby does not have yet.
// The caller keeps the store open.
func (s *Store) loaded(ctx context.Context) error {
	all, err := s.tokens(ctx)
	if err == nil && len(all) > 0 {
		err = fmt.Errorf("%w: a load becomes visible; try again", cf.ErrUnavailable)
	}
	return err
}

// SyncLog implements [cf.Shipper].
func (s *Store) SyncLog(ctx context.Context) (cf.Position, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.usable(); err != nil {
		return 0, err
	}
	at := cf.Position(s.acked.Load())
	if !s.fs.async.Load() || at <= cf.Position(s.log.synced.Load()) {
		return at, nil
	}
	if err := s.do(ctx, s.fs.syncLog); err != nil {
		return 0, err
	}
	s.log.synced.Store(uint64(at))
	return at, nil
}

// Fence implements [cf.Shipper].
func (s *Store) Fence(why error) {
	s.fence.Store(&why)
	defer s.hold()() // the writes that are under way have ended
}

// fenced is why the store takes no writes, nil if it does.
func (s *Store) fenced() error {
	if why := s.fence.Load(); why != nil {
		return *why
	}
	return nil
}

// A recordLog implements [cf.Log].
type recordLog struct {
	reading
	asked cf.Position
}

// Log implements [cf.Shipper].
func (s *Store) Log(after cf.Position) (cf.Log, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.usable(); err != nil {
		return nil, err
	}
	s.Latest() // of a reader
	l := &recordLog{reading{store: s, at: after}, after}
	return l, l.reaches()
}

// Next implements [cf.Log].
func (l *recordLog) Next(ctx context.Context) (*cf.LogRecord, error) {
	r, err := l.read(ctx)
	if r == nil || err != nil {
		return nil, err
	}
	if r.first <= l.at {
		return nil, fmt.Errorf("%w: no record ends at position %d", cf.ErrDiverged, l.asked)
	}
	// Numbers are missing before this record after a kill or a load. A position among them
	// is as good as that of the record before.
	next := r.shipped(max(l.ends, l.at))
	if l.store.log.clock.Load() != nil {
		if next.Time, err = r.timeOf(); err != nil {
			return nil, err
		}
	}
	l.took(r)
	return next, nil
}

// Behind implements [cf.Log].
func (l *recordLog) Behind() (sum int64) {
	if l.log == nil {
		return 0
	}
	numbers, err := l.store.logNumbers()
	if err != nil {
		return 0
	}
	for _, n := range numbers {
		if n < l.log.Number {
			continue
		}
		name := logName(n)
		info, err := l.store.fs.FS.Stat(l.store.fs.PathJoin(l.store.dir, name))
		if notExist(err) {
			info, err = l.store.fs.disk.Stat(l.store.fs.PathJoin(l.store.fs.archive(), name))
		}
		if err == nil {
			sum += info.Size()
		}
	}
	return max(0, sum-l.log.At)
}

// Close implements [cf.Log].
func (l *recordLog) Close() { l.log = nil }

// A load has a token among its files, an entry that becomes visible with the cells. The
// commit that removes the token is the note about the load in the log: nothing comes between
// the two. A token that an open finds is of a process that was killed there.
type load struct {
	id    string
	Files []string `json:"files"` // their names
}

func tokenKey(id string) []byte {
	return append(append(appendID(nil, spaceSystem), entryLoad), id...)
}

// tokens are the loads that are visible, and have no note. The caller keeps the store open.
func (s *Store) tokens(ctx context.Context) (all []load, err error) {
	start := tokenKey("")
	it, err := s.db.NewIterWithContext(ctx, &engine.IterOptions{LowerBound: start, UpperBound: append(appendID(nil, spaceSystem), entryLoad+1)})
	if err != nil {
		return nil, wrap(err)
	}
	for ok := it.First(); ok; ok = it.Next() {
		l, err := loadOf(string(it.Key()[len(start):]), it.Value())
		if err != nil {
			_ = it.Close() // it was only read
			return nil, err
		}
		all = append(all, l)
	}
	return all, wrap(it.Close())
}

func loadOf(id string, text []byte) (load, error) {
	l := load{id: id}
	if err := json.Unmarshal(text, &l); err != nil {
		return l, fmt.Errorf("%w: load %s: %w", cf.ErrCorrupt, id, err)
	}
	for _, name := range l.Files {
		if name != filepath.Base(name) || !isTable(name) {
			return l, fmt.Errorf("%w: load %s has a file %q", cf.ErrCorrupt, id, name)
		}
	}
	return l, nil
}

// note is the note about a load.
func (s *Store) note(l load) (*engine.Batch, error) {
	text, err := json.Marshal(l)
	if err != nil {
		return nil, err
	}
	b := s.newBatch(0)
	_ = b.LogData(append([]byte{logLoad}, text...), nil)
	_ = b.Delete(tokenKey(l.id), nil)
	return b, nil
}

// noteLoads writes the notes of loads that a crash has left without one.
func (s *Store) noteLoads(ctx context.Context) error {
	all, err := s.tokens(ctx)
	for _, l := range all {
		b, err := s.note(l)
		if err != nil {
			return err
		}
		if _, err := s.apply(ctx, b, true, nil); err != nil {
			return err
		}
	}
	return err
}

// takeFiles makes the files of a load part of the database, and notes that if there is a load
// to note. check looks at the families. None is dropped meanwhile.
func (s *Store) takeFiles(ctx context.Context, files []string, l *load, check func() error, taken func()) error {
	if l == nil {
		s.writing.RLock()
		defer s.writing.RUnlock()
		err := check()
		if err == nil {
			err = wrap(s.db.Ingest(ctx, files))
		}
		if err == nil {
			taken()
		}
		return err
	}
	defer s.hold()()
	if err := check(); err != nil {
		return err
	}
	if err := s.kept.DateLoad(l.id, s.acked.Load()+1); err != nil {
		return err
	}
	s.unnoted.Store(true)
	defer s.unnoted.Store(false)
	if err := s.db.Ingest(ctx, files); err != nil {
		return wrap(err)
	}
	taken()
	note, err := s.note(*l)
	if err == nil {
		_, err = s.put(note, false)
	}
	return err
}

// settle makes the position of a copy that is made now the store's: numbers may have been lost.
// The caller holds all commits.
func (s *Store) settle() error {
	if s.following.is.Load() {
		return s.align()
	}
	_, err := s.put(s.mark(), false)
	return err
}

// shiftValue is the entry that has the shift.
func shiftValue(shift int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(shift)) }

// names are the names of files.
func names(paths []string) (all []string) {
	for _, path := range paths {
		all = append(all, filepath.Base(path))
	}
	slices.Sort(all)
	return all
}
