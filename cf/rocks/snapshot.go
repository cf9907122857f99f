//go:build cgo && linux && !norocksdb

package rocks

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/linxGnu/grocksdb"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/internal/inuse"
	"github.com/smolwc/smolwc/cf/rocks/internal/native"
	"github.com/smolwc/smolwc/cf/rocks/internal/scan"
)

// A snapshot implements cf.Snapshot. Its families are the store's at the time of the
// snapshot.
type snapshot struct {
	scan.View
	store    *Store
	families families
	set      uint64     // of the families
	locked   []cf.RowID // the rows of an update, if they are few

	mu     sync.RWMutex // held shared while the snapshot must not close
	closed bool
}

// Read implements cf.Store.
func (s *Store) Read(ctx context.Context, spec *cf.Scan, a *cf.Answer) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	defer s.mu.Share().RUnlock()
	if s.closed {
		return cf.ErrClosed
	}
	if s.broken != nil {
		return s.broken
	}
	fam, err := s.families.Load().get(spec.Family)
	if err != nil {
		return err
	}
	return s.scans.Read(ctx, &fam.Family, spec, a)
}

// Snapshot implements cf.Store.
func (s *Store) Snapshot(ctx context.Context) (cf.Snapshot, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	snap, err := s.snapshot(nil)
	if err != nil {
		return nil, err
	}
	return snap, nil
}

// LogSnapshot implements cf.Shipper. The engine does not tell the position of a snapshot, so no
// commit is under way while it is taken.
func (s *Store) LogSnapshot(ctx context.Context) (*cf.LogSnapshot, error) {
	if err := s.ingesting.Lock(ctx); err != nil {
		return nil, err
	}
	defer s.ingesting.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	snap, err := s.snapshotHeld(nil)
	if err != nil {
		return nil, err
	}
	return &cf.LogSnapshot{Snapshot: snap, At: cf.Position(s.db.GetLatestSequenceNumber()), Families: s.Families()}, nil
}

// fewLocked is the largest number of rows of an update that begins without a snapshot
// of the engine. Each scan searches these rows for the row that it reads.
const fewLocked = 32

// snapshot makes a snapshot. For an update, locked are the rows that it locked.
func (s *Store) snapshot(locked []cf.RowID) (*snapshot, error) {
	defer s.mu.Share().RUnlock()
	return s.snapshotHeld(locked)
}

// snapshotHeld is snapshot for a caller that holds s.mu.
func (s *Store) snapshotHeld(locked []cf.RowID) (*snapshot, error) {
	if s.closed {
		return nil, cf.ErrClosed
	}
	if s.broken != nil {
		return nil, s.broken
	}
	snap := &snapshot{View: scan.View{Engine: s.scans}, store: s, families: *s.families.Load(), set: s.dropped.use()}
	if n := len(locked); n > 0 && n <= fewLocked {
		snap.locked = locked // the engine's snapshot is taken when the update first reads another row; most updates never do
	} else {
		snap.At()
	}
	snap.Users.Store(1)
	s.open.snapshots.Add(snap)
	return snap, nil
}

// locks reports whether a scan reads one of the locked rows and nothing else: no commit
// changes that row while the snapshot is in use.
func (s *snapshot) locks(spec *cf.Scan) bool {
	if len(s.locked) == 0 || len(spec.Rows) != 1 {
		return false
	}
	row, ok := spec.Rows[0].Single()
	return ok && slices.ContainsFunc(s.locked, func(id cf.RowID) bool { return id.Row == row })
}

// Close implements cf.Snapshot.
func (s *snapshot) Close() {
	s.release()
	s.store.open.snapshots.Remove(s) // last, so that Store.Close waits until it is released
}

func (s *snapshot) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		s.unuse()
	}
}

// unuse ends a use of the snapshot.
func (s *snapshot) unuse() {
	if s.Leave() {
		s.store.dropped.unuse(s.set)
	}
}

// read runs f with options to read at the snapshot.
func (s *snapshot) read(f func(*grocksdb.ReadOptions) error) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return cf.ErrClosed
	}
	opts := grocksdb.NewDefaultReadOptions()
	defer opts.Destroy()
	opts.SetSnapshot(s.At())
	return f(opts)
}

// Meta implements cf.Snapshot.
func (s *snapshot) Meta(_ context.Context, key string) (value []byte, err error) {
	err = s.read(func(opts *grocksdb.ReadOptions) error {
		value, err = s.store.db.GetBytes(opts, []byte(key))
		return native.Wrap(err)
	})
	return value, err
}

// MetaPrefix implements cf.Snapshot.
func (s *snapshot) MetaPrefix(_ context.Context, prefix string) (map[string][]byte, error) {
	found := map[string][]byte{}
	err := s.read(func(opts *grocksdb.ReadOptions) error {
		it := s.store.db.NewIterator(opts)
		defer it.Close()
		for it.Seek([]byte(prefix)); it.Valid(); it.Next() {
			key := string(it.Key().Data()) // an iterator's slices must not be freed
			if !strings.HasPrefix(key, prefix) {
				break
			}
			found[key] = append([]byte(nil), it.Value().Data()...)
		}
		if err := it.Err(); err != nil {
			return fmt.Errorf("catalog: %w", native.Wrap(err))
		}
		return nil
	})
	return found, err
}

// Scan implements cf.Snapshot.
func (s *snapshot) Scan(ctx context.Context, spec cf.Scan) (cf.Cursor, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	fam, err := s.families.get(spec.Family)
	if err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return nil, cf.ErrClosed
	}
	if s.locks(&spec) {
		return s.scanLocked(ctx, fam, &spec)
	}
	c := &cursor{snapshot: s}
	if err := c.Begin(ctx, &s.View, &fam.Family, spec); err != nil {
		return nil, err
	}
	s.store.open.cursors.Add(c)
	return c, nil
}

// scanLocked opens a cursor over a locked row. If the row fits into one block,
// scanLocked reads it. The caller holds s.mu.
func (s *snapshot) scanLocked(ctx context.Context, fam *family, spec *cf.Scan) (cf.Cursor, error) {
	done, rest, err := s.BeginNewest(ctx, &fam.Family, spec)
	if done != nil || err != nil {
		return done, err
	}
	c := &cursor{snapshot: s}
	rest(&c.Cursor)
	s.store.open.cursors.Add(c)
	return c, nil
}

// A cursor is a scan of a snapshot, which stays in use until the cursor is closed.
type cursor struct {
	scan.Cursor
	snapshot *snapshot
	ending   sync.Mutex // held until the snapshot is left, so that Store.Close waits for that
}

// Close implements cf.Cursor.
func (c *cursor) Close() {
	c.release()
	c.snapshot.store.open.cursors.Remove(c)
}

func (c *cursor) release() {
	c.ending.Lock()
	defer c.ending.Unlock()
	if c.Stop() {
		c.snapshot.unuse()
	}
}

// An openSet holds the snapshots and cursors in use.
type openSet struct {
	snapshots inuse.Set[*snapshot]
	cursors   inuse.Set[*cursor]
}

// close ends everything, before the database is closed.
func (o *openSet) close() {
	for _, s := range o.snapshots.All() {
		s.release() // waits for a Scan that opens its cursor
	}
	for _, c := range o.cursors.All() { // no cursor is added from now on
		c.release()
	}
}

// Open returns the numbers of snapshots and cursors in use.
func (s *Store) Open() (snapshots, cursors int) {
	return s.open.snapshots.Len(), s.open.cursors.Len()
}
