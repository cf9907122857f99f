package queue

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/smolwc/smolwc/query"
)

// A clock gives the time of a queue in microseconds since 1970. It never goes back.
// When the wall clock is set back, the clock goes on from where it was, at its pace, so
// that items that were visible stay visible and leases still expire. The queue keeps
// the time, so this holds over restarts too.
type clock struct {
	wall func() time.Time

	mu      sync.Mutex
	seen    time.Time // the wall clock, with the monotonic clock's reading
	last    int64     // the time then
	kept    int64     // the time that was last written
	learned bool      // the time that is kept was read
}

func newClock(db *query.DB) *clock {
	c := &clock{wall: db.Wall}
	c.seen = c.wall()
	c.last = max(c.seen.UnixMicro(), int64(db.Now()))
	return c
}

func (c *clock) now() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	wall := c.wall()
	passed := max(wall.Sub(c.seen).Microseconds(), 0)
	c.last += passed
	c.seen = c.seen.Add(time.Duration(passed) * time.Microsecond)
	if at := wall.UnixMicro(); at > c.last || wall.Before(c.seen) {
		c.last, c.seen = max(c.last, at), wall
	}
	return c.last
}

// hasLearned reports whether the time that is kept was read.
func (c *clock) hasLearned() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.learned
}

// learn makes the clock no earlier than a time that was kept.
func (c *clock) learn(kept int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last, c.learned = max(c.last, kept), true
}

// keepEvery is how often the time is kept while there are writes. After a restart, the
// clock can be behind by as much, where the wall clock has been set back.
const keepEvery = int64(time.Second / time.Microsecond)

// isToKeep reports whether the time now is to be written.
func (c *clock) isToKeep(now int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now < c.kept+keepEvery {
		return false
	}
	c.kept = now
	return true
}

// learnTime reads the time that was kept. Nothing depends on it.
func (w *work) learnTime() error {
	key := w.q.keys.row(clockRow)
	value, found, err := w.Peek(key)
	if err != nil {
		return err
	}
	kept := int64(0)
	if found {
		d := decode(key, value)
		kept = d.time()
		if err := d.end(); err != nil {
			return err
		}
	}
	w.q.clock.learn(kept)
	return nil
}

// time is the time of the queue, outside of a transaction.
func (q *Queue) time(ctx context.Context) (int64, error) {
	if !q.clock.hasLearned() {
		if err := q.update(ctx, func(tx *query.Tx) error {
			_, err := q.work(ctx, tx)
			return err
		}); err != nil {
			return 0, err
		}
	}
	return q.clock.now(), nil
}

// keepTime writes the time now and then.
func (w *work) keepTime() error {
	if !w.q.clock.isToKeep(w.now) {
		return nil
	}
	return w.Set(w.q.keys.row(clockRow), encode(w.now))
}

func timeOf(us int64) time.Time { return time.UnixMicro(us) }

// longest is the longest duration in whole microseconds.
const longest = math.MaxInt64 / int64(time.Microsecond)

// micros is a duration in microseconds, rounded up.
func micros(d time.Duration) int64 {
	us := d.Microseconds()
	if d%time.Microsecond > 0 && us < longest {
		us++
	}
	return us
}

// lastTime is the last time at which an item may become visible, at the end of the
// year 9999.
var lastTime = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro() - 1
