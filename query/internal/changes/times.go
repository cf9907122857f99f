package changes

import (
	"context"
	"slices"
	"sync"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/internal/clock"
)

// A Times gives commits of logged rows their timestamps, and knows the commits under way.
// Commits of different rows may enter the log out of the order of their timestamps; each
// notes its position relative to the others, so that a reader knows exactly which commits
// are still to come.
type Times struct {
	mu      sync.Mutex
	open    []cells.Timestamp // of commits under way, ascending
	last    cf.Position       // of a commit that returned
	started cf.Position       // as Start set it
	wake    chan struct{}     // closed when there is something new; nil when nobody waits
	closing bool
}

// Start sets the position of the last commit before any is under way. In a store that is
// behind it may be an earlier one's.
func (t *Times) Start(at cf.Position) { t.last, t.started = at, at }

// begin gives out a timestamp. The caller ends it when the commit returns.
func (t *Times) begin(ctx context.Context, c *clock.Clock) (commitNote, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	// Every commit with a position up to this one took its timestamp before now.
	before := t.last
	at, err := c.Next(ctx)
	if err != nil {
		return commitNote{}, err
	}
	t.open = append(t.open, at)
	return commitNote{At: at, low: t.open[0], before: before}, nil
}

// end ends a commit, at a position if it was made. A timestamp of 0 is ignored.
func (t *Times) end(at cells.Timestamp, position cf.Position) {
	if at == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if i, found := slices.BinarySearch(t.open, at); found {
		t.open = slices.Delete(t.open, i, i+1)
	}
	t.last = max(t.last, position)
	t.notify()
}

// low is a timestamp below which no later commit falls, and all commits with lesser ones
// have been made.
func (t *Times) low(c *clock.Clock) cells.Timestamp {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lowest(c)
}

// Settled is low for the standbys of the database. While a commit takes its timestamp it is
// 0: that may write to the disk, and a word for a standby does not wait for a slow disk.
func (t *Times) Settled(c *clock.Clock) cells.Timestamp {
	if !t.mu.TryLock() {
		return 0
	}
	defer t.mu.Unlock()
	return t.lowest(c)
}

func (t *Times) lowest(c *clock.Clock) cells.Timestamp {
	if len(t.open) > 0 {
		return t.open[0]
	}
	return c.Pass()
}

// news is a channel that is closed when there is something new after the call.
func (t *Times) news() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.wake == nil {
		t.wake = make(chan struct{})
		if t.closing {
			close(t.wake)
		}
	}
	return t.wake
}

// Changed wakes all readers: a change stream is ended.
func (t *Times) Changed() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.notify()
}

func (t *Times) notify() {
	if t.wake != nil && !t.closing {
		close(t.wake)
		t.wake = nil
	}
}

// Close wakes all readers for good.
func (t *Times) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.notify()
	t.closing = true
}

func (t *Times) closed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.closing
}

// Commit makes a commit of logged rows, which calls note last: note takes the commit's
// timestamp and adds the commit's note. The rows' locks are held then, so that the
// timestamps of a row's changes ascend. note may be called again, when the store refused
// the batch.
func (t *Times) Commit(ctx context.Context, c *clock.Clock, commit func(note func(*cf.Batch) error) (cf.Position, error)) error {
	if c.Shared != nil {
		return t.commitShared(commit)
	}
	var note commitNote
	at, err := commit(func(b *cf.Batch) (err error) {
		t.end(note.At, 0) // of an earlier run
		if note, err = t.begin(ctx, c); err == nil {
			note.append(b)
		}
		return err
	})
	t.end(note.At, at)
	return err
}

// commitShared is Commit in a store that several processes write. The position of the
// commit tells its time; the note only ends the batch.
func (t *Times) commitShared(commit func(note func(*cf.Batch) error) (cf.Position, error)) error {
	_, err := commit(func(b *cf.Batch) error {
		commitNote{}.append(b)
		return nil
	})
	t.Changed()
	return err
}
