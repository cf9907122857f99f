// Package clock gives a database its timestamps.
package clock

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/internal/catalog"
	"github.com/smolwc/smolwc/query/internal/fault"
)

// A Clock gives timestamps to writes without one: the wall clock in microseconds, made
// strictly increasing for the life of the database. So two writes never get the same
// timestamp, and if the wall clock is set back, new cells are still newer than existing
// ones.
//
// To keep this order after a crash, the catalog holds a future time, where the clock
// starts again: after a crash at most clockLead ahead of the wall clock, after a clean
// close exactly where it ended. A database with standbys starts again as after a crash.
type Clock struct {
	Wall func() time.Time // the wall clock
	// GoesBack lets the timestamps follow a wall clock that is set back.
	GoesBack bool
	Store    cf.Store // with the catalog; nil: nothing is kept
	// Shared is the clock of a store that several processes write, in microseconds. It
	// is nil where the wall clock is enough.
	Shared   func(context.Context) (int64, error)
	begin    int64 // the value of last at the start
	last     atomic.Int64
	reserved atomic.Int64
	mu       sync.Mutex // one reservation at a time
	looking  sync.Mutex // guards seen, in a clock that goes back
	seen     cells.Timestamp
}

// clockLead is how far ahead a reservation reaches, in microseconds: while there are
// writes, it costs one write of the catalog a second.
const clockLead = 1_000_000

// clockEnd is the last timestamp that the clock gives, in the year 148,108. Callers'
// timestamps may be larger; the clock's are also in the catalog, in the log of changes
// and in tokens, where this limit holds in every format.
const clockEnd = catalog.LastOfFormat1

// Start sets the last timestamp that an earlier run may have given out.
func (c *Clock) Start(last int64) {
	c.begin = last
	c.last.Store(last)
}

// Begin is the timestamp of Start.
func (c *Clock) Begin() cells.Timestamp { return cells.Timestamp(c.begin) }

// Follow moves the clock to a timestamp that another process, or the store, may have
// given out.
func (c *Clock) Follow(last int64) {
	for at := c.last.Load(); at < last; at = c.last.Load() {
		if c.last.CompareAndSwap(at, last) {
			return
		}
	}
}

// Read is the last timestamp that may have been given out, by the catalog's
// entry.
func Read(entry []byte) (int64, error) {
	limit, err := strconv.ParseInt(string(entry), 10, 64)
	if err != nil || limit < 0 {
		return 0, fault.Errorf(fault.Corruption, "catalog entry %s is %q, not a timestamp", catalog.KeyClock, entry)
	}
	return limit - 1, nil
}

// Now is the wall clock within the range of timestamps, for retention. Only the machine's
// clock says whether a cell is too old: see decision 6.
func (c *Clock) Now() cells.Timestamp {
	return min(max(cells.TimestampOf(c.Wall()), 0), clockEnd)
}

// Next is the timestamp of one more write. It is called within the write, which
// runs again after a StallError. Elsewhere WhenWritable does that.
func (c *Clock) Next(ctx context.Context) (cells.Timestamp, error) {
	for {
		now, err := c.read(ctx)
		if err != nil {
			return 0, err
		}
		last := c.last.Load()
		ts := max(now, last+1)
		if ts > int64(clockEnd) {
			return 0, fault.Errorf(fault.FailedPrecondition, "the database's clock has reached its last timestamp, %d", clockEnd)
		}
		if ts >= c.reserved.Load() {
			if err := c.reserve(ctx, ts); err != nil {
				return 0, err
			}
		}
		if c.last.CompareAndSwap(last, ts) {
			return cells.Timestamp(ts), nil
		}
	}
}

// NextOf is Next for new cells of a batch, in the row that it named last: a store that
// several processes write gives the timestamps of a row itself.
func (c *Clock) NextOf(ctx context.Context, b *cf.Batch) (cells.Timestamp, error) {
	if ts, ok := b.Stamp(); ok {
		c.Follow(ts)
		return cells.Timestamp(ts), nil
	}
	return c.Next(ctx)
}

// NextIn is Next for new cells of a row, in a transaction.
func (c *Clock) NextIn(ctx context.Context, txn cf.Txn, row cf.RowID) (ts cells.Timestamp, err error) {
	if store, ok := txn.(cf.Stamper); ok {
		stamp, err := store.Stamp(ctx, row)
		c.Follow(stamp)
		return cells.Timestamp(stamp), err
	}
	err = c.WhenWritable(ctx, func() (err error) { ts, err = c.Next(ctx); return err })
	return ts, err
}

func (c *Clock) read(ctx context.Context) (int64, error) {
	if c.Shared != nil {
		return c.Shared(ctx)
	}
	return int64(c.look()), nil
}

// look is Now. It moves a clock that goes back.
func (c *Clock) look() cells.Timestamp {
	if !c.GoesBack {
		return c.Now()
	}
	c.looking.Lock() // without it, a later look of another goroutine would be a step back
	defer c.looking.Unlock()
	now := c.Now()
	if now < c.seen {
		c.last.Store(int64(now) - 1)
	}
	c.seen = now
	return now
}

func (c *Clock) reserve(ctx context.Context, ts int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ts < c.reserved.Load() {
		return nil
	}
	if err := c.save(ctx, ts+clockLead); err != nil {
		return err
	}
	c.reserved.Store(ts + clockLead)
	return nil
}

// save records that timestamps below limit may have been given out. It does not
// wait while the store refuses writes.
func (c *Clock) save(ctx context.Context, limit int64) error {
	if c.Store == nil {
		return nil
	}
	return c.Store.PutMeta(ctx, catalog.KeyClock, strconv.AppendInt(nil, limit, 10))
}

// WhenWritable runs f, which takes timestamps outside of a write, and runs it
// again when the store refused a reservation and accepts writes again.
func (c *Clock) WhenWritable(ctx context.Context, f func() error) error {
	err := f()
	if _, stalled := errors.AsType[*cf.StallError](err); !stalled {
		return err
	}
	_, err = c.Store.Write(ctx, nil, func(*cf.Batch) error { return f() })
	return err
}

// Close records the last timestamp exactly. When the store refuses writes, it
// leaves the reservation, as after a crash. So it does when the log is kept for standbys:
// they are gone by now, and one that is promoted would not have this record.
func (c *Clock) Close() error {
	if c.reserved.Load() == 0 && c.last.Load() == c.begin {
		return nil // no timestamp was given out, and no watermark
	}
	if store, ok := c.Store.(interface{ Ships() string }); ok && store.Ships() != "" {
		return nil
	}
	err := c.save(context.Background(), c.last.Load()+1)
	if _, stalled := errors.AsType[*cf.StallError](err); stalled {
		return nil
	}
	return err
}

// Latest is the time, or the last timestamp that was given out if that is later.
func (c *Clock) Latest() cells.Timestamp {
	return max(c.look(), cells.Timestamp(c.last.Load()))
}

// Pass is a timestamp that no write bears and that all later writes exceed: the wall
// clock's, or the next one if that is later. It moves the clock there.
func (c *Clock) Pass() cells.Timestamp {
	for {
		last := c.last.Load()
		now := int64(c.look())
		if now <= last+1 {
			return cells.Timestamp(last + 1)
		}
		if c.last.CompareAndSwap(last, now-1) {
			return cells.Timestamp(now)
		}
	}
}
