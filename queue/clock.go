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
// the time, so this holds over restarts too. A lead of up to a second, as after a kill, it
// gives back: it waits for the wall clock.
type clock struct {
	wall    func() time.Time
	started int64 // the database's clock when this one began

	mu      sync.Mutex
	seen    time.Time // the wall clock, with the monotonic clock's reading
	last    int64     // the time then
	kept    int64     // the time that is kept, as far as this clock read and wrote it
	learned bool      // the time that is kept was read
}

func newClock(db *query.DB) *clock {
	c := &clock{wall: db.Plumbing().Wall, started: int64(db.Now())}
	c.seen = c.wall()
	c.last = c.seen.UnixMicro()
	return c
}

func (c *clock) now() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	wall := c.wall()
	passed := max(wall.Sub(c.seen).Microseconds(), 0)
	c.seen = c.seen.Add(time.Duration(passed) * time.Microsecond)
	if at := wall.UnixMicro(); c.last+passed-at > shortLead {
		c.last += passed
	} else {
		c.last, c.seen = max(c.last, at), wall
	}
	if wall.Before(c.seen) {
		c.seen = wall
	}
	return c.last
}

// hasLearned reports whether the time that is kept was read.
func (c *clock) hasLearned() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.learned
}

// learn makes the clock no earlier than the times that were written before it began. They
// are less than keepEvery after the time that was kept, and not after the database's clock;
// where that was behind, the time was kept ahead.
func (c *clock) learn(kept int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = max(c.last, kept, min(c.started, kept+keepEvery))
	c.kept, c.learned = kept, true
}

const (
	// keepEvery is how often the time is kept while there are writes.
	keepEvery = int64(time.Second / time.Microsecond)
	// shortLead is the largest lead over the wall clock that the clock gives back.
	shortLead = keepEvery
)

// toKeep is the time that must be kept with a write at a time; 0 if the kept time will do.
// With a long lead over the wall clock, unlike the clock of the database, it is ahead.
func (c *clock) toKeep(now int64) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case now-c.wall().UnixMicro() > shortLead && now > c.kept:
		return now + keepEvery
	case now >= c.kept+keepEvery:
		return now
	}
	return 0
}

// keep notes that a time is kept.
func (c *clock) keep(at int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept = max(c.kept, at)
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
	at := w.q.clock.toKeep(w.now)
	if at == 0 {
		return nil
	}
	w.Tx.OnCommit(func() { w.q.clock.keep(at) })
	return w.Set(w.q.keys.row(clockRow), encode(at))
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
