package pebble

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	engine "github.com/cockroachdb/pebble/v2"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/internal/ahead"
	"github.com/smolwc/smolwc/cf/internal/inuse"
	"github.com/smolwc/smolwc/cf/internal/kept"
	"github.com/smolwc/smolwc/cf/isolation"
	"github.com/smolwc/smolwc/internal/lock"
)

// A Store is an open database.
type Store struct {
	db       *engine.DB
	options  Options
	settings *engine.Options
	fs       *system
	dir      string

	families atomic.Pointer[families]
	locks    isolation.Locks
	history  isolation.Log
	acked    atomic.Uint64 // the position of the newest commit

	// A shared lock keeps the store open. Only Close takes it exclusively.
	mu     lock.Wide
	closed bool

	// A commit holds writing from the look-up of its families to its end, so that none of
	// them is dropped meanwhile.
	writing sync.RWMutex
	shaping sync.Mutex // families are created and dropped one at a time
	next    uint32     // number of a family

	counted  atomic.Value // map[uint64]tableCounts, by the number of the file
	replayed struct {     // logs that a reader has in memtables, since it writes no files
		mu   sync.Mutex
		logs []uint64 // whose entries are not counted yet
	}
	failures  atomic.Int64 // of the background
	rewriting atomic.Int64 // calls of Compact
	damaged   atomic.Bool  // the last compaction met damage
	merging   sync.Map     // context.CancelCauseFunc of their parts
	read      atomic.Int64 // bytes of keys and values

	life  context.Context // ends with EndWaits
	end   context.CancelFunc
	clean janitor
	sums  sums

	calls  workers // of Pebble
	behind behind
	under  underway
	stuck  stuck
	pins   *pinned // of a reader

	ingesting lock.RW    // held by the commit of a load, and by copies of the files
	loading   sync.Mutex // of the directory of loads
	loads     atomic.Int64
	open      openSet
	crew      ahead.Crew // that reads ahead in long scans
	log       changeLog
	kept      kept.Kept             // for standbys
	following following             // of a standby
	shift     atomic.Int64          // of positions; see [record]
	fence     atomic.Pointer[error] // set when another server was promoted
	unnoted   atomic.Bool           // a load is visible, and not noted in the log yet
	located   sync.Once             // the position of a reader
	gate      *gate
}

func (s *Store) newFamily(name string, id uint32) *family {
	f := &family{name: name, id: id, prefix: appendID(nil, id), read: &s.read}
	f.expiry.Store(new(cf.Expiry))
	f.tuning.Store(new(cf.Tuning))
	return f
}

// lost is the error of a store that is lost, nil if it is not.
func (s *Store) lost() error {
	select {
	case <-s.fs.lost:
		return fmt.Errorf("%w: %w; the database must be opened again: %w", cf.ErrUnknownOutcome, cf.ErrUnavailable, s.fs.why)
	default:
		return nil
	}
}

// usable is the reason that the store takes no call, nil if it does. The caller holds mu.
func (s *Store) usable() error {
	if s.closed {
		return cf.ErrClosed
	}
	if s.lost() != nil {
		return fmt.Errorf("%w: the database must be opened again: %w", cf.ErrUnavailable, s.fs.why)
	}
	return nil
}

func (s *Store) writable() error {
	if err := s.usable(); err != nil {
		return err
	}
	if s.options.ReadOnly {
		return cf.ErrReadOnly
	}
	if err := s.fenced(); err != nil {
		return err
	}
	if s.fs.waits.Load() > 0 {
		return fmt.Errorf("%w: nothing was written: %w", cf.ErrUnavailable, s.fs.reason())
	}
	return nil
}

// fenced is why the store takes no writes, nil if it does.
func (s *Store) fenced() error {
	if why := s.fence.Load(); why != nil {
		return *why
	}
	return nil
}

// Limits implements [cf.Store].
func (s *Store) Limits() cf.Limits {
	return cf.Limits{RowKey: 4096, Qualifier: 16384, Value: 100 << 20, Batch: 1 << 30}
}

// newBatch is a batch of about a size that begins with the shift of its position, and its time.
func (s *Store) newBatch(size int) *engine.Batch {
	b := s.db.NewBatch(engine.WithInitialSizeBytes(size))
	if shift := s.shift.Load(); shift != 0 {
		_ = b.LogData(shiftNote(shift), nil)
	}
	if clock := s.log.clock.Load(); clock != nil {
		_ = b.LogData(timeNote((*clock)().UnixMicro()), nil)
	}
	return b
}

// mark returns a batch that changes nothing and takes a position.
func (s *Store) mark() *engine.Batch {
	b := s.newBatch(0)
	_ = b.Set(append(appendID(nil, spaceSystem), entryPosition), nil, nil)
	return b
}

// EndWaits implements [cf.Store].
func (s *Store) EndWaits() {
	s.end()
	s.gate.end()
}

// lookup is a family of an open store, for work that EndWaits ends.
func (s *Store) lookup(ctx context.Context, name string) (*family, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := s.writable(); err != nil {
		return nil, err
	}
	if s.life.Err() != nil {
		return nil, cf.ErrClosed
	}
	return (*s.families.Load()).get(name)
}

// until is a context that ends with EndWaits too; the cause is ErrClosed then.
func (s *Store) until(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(s.life, func() { cancel(cf.ErrClosed) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// A changeLog reads commits from Pebble's log. A record of the log is one batch, with its
// notes as log data: Pebble does not join batches, and the number of a batch in the log
// is its position. So the log needs no frames.
type changeLog struct {
	keeping sync.Mutex // one change of the kept files at a time

	mu   sync.Mutex
	from cf.Position // the log contains the commits after it

	synced atomic.Uint64                    // the position up to which the log is on the disk, at least
	clock  atomic.Pointer[func() time.Time] // nil: the log does not say when records were written

	firsts map[uint64]uint64 // by the number of a log: the position of its first change, which never changes
}

// Pebble cannot filter compactions, so a janitor deletes expired cells. It reads only
// blocks that contain some. Its deletes are commits without notes, which no change stream
// shows; without standbys they are not synced, since the next open would find the same
// cells, and have no position. They are written in small batches and at a bounded rate, and
// hold no locks of rows: a cell that may be dropped may be dropped at any time.
type janitor struct {
	running sync.WaitGroup
	deleted atomic.Int64 // cells
	written atomic.Int64 // bytes of the log for them
}

// An openSet holds the snapshots and cursors in use.
type openSet struct {
	snapshots inuse.Set[*snapshot]
	cursors   inuse.Set[*cursor]
}

// close ends everything, before the database is closed. Nothing is added meanwhile.
func (o *openSet) close() {
	for _, c := range o.cursors.All() {
		c.end()
	}
	for _, s := range o.snapshots.All() {
		s.Close()
	}
}

// logger takes Pebble's messages. Pebble calls Fatalf when it cannot go on, and expects that
// the process ends. Here the store is lost, and the goroutine stays.
type logger struct{ s *Store }

func (l logger) Infof(string, ...any) {}

func (l logger) Errorf(format string, args ...any) {
	if l.s.options.Logger != nil {
		l.s.options.Logger.Error(fmt.Sprintf(format, args...))
	}
}

func (l logger) Fatalf(format string, args ...any) {
	l.s.fs.block(fmt.Errorf(format, args...))
}
