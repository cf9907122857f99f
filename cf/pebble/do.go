package pebble

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/smolwc/smolwc/cf"
)

// patience is how long a call waits for a disk that takes no writes, and a call whose context
// has ended for a disk that is slow.
const patience = time.Second

// do runs a call of Pebble that may wait for the disk. It returns before the end of the call
// when the store is lost, when the disk takes no writes, or some time after the end of its
// context. The call stays behind then.
func (s *Store) do(ctx context.Context, call func() error) error {
	trouble, ended := s.fs.trouble(), ctx.Done()
	done := ends.Get().(chan error)
	s.calls.begin(s.life, func() { done <- call() })
	var late <-chan time.Time
	for {
		select {
		case err := <-done:
			ends.Put(done)
			return cmp.Or(s.lost(), err)
		case <-s.fs.lost:
			return s.lost()
		case <-late:
			s.behind.add(&s.calls.all, done)
			return fmt.Errorf("%w: %w: %w", cf.ErrUnknownOutcome, cf.ErrUnavailable, cmp.Or(context.Cause(ctx), s.fs.reason()))
		case <-trouble:
		case <-ended:
		}
		trouble, ended = nil, nil
		timer := time.NewTimer(patience)
		defer timer.Stop()
		late = timer.C
	}
}

// ends are the channels of calls that have ended.
var ends = sync.Pool{New: func() any { return make(chan error, 1) }}

// Workers are the goroutines of calls. They are used again: to grow the stack of a new one is
// a sixth of the work of a small write.
type workers struct {
	all  sync.WaitGroup
	next chan func() // to an idle worker
	idle atomic.Int64
}

// mostIdle is how many workers stay for the next calls.
const mostIdle = 64

// begin has a worker make a call. Idle ones leave at the end of life.
func (w *workers) begin(life context.Context, call func()) {
	select {
	case w.next <- call:
		return
	default:
	}
	w.all.Go(func() {
		for call != nil {
			call()
			call = nil
			if w.idle.Add(1) <= mostIdle {
				select {
				case call = <-w.next:
				case <-life.Done():
				}
			}
			w.idle.Add(-1)
		}
	})
}

// outlast is do for a call that nothing but the loss of the store ends.
func (s *Store) outlast(call func() error) error {
	done := make(chan error, 1)
	go func() { done <- call() }()
	select {
	case err := <-done:
		return cmp.Or(s.lost(), err)
	case <-s.fs.lost:
		return s.lost()
	}
}

// A stuck notes that writes wait for tables that the disk does not take. Then they are
// refused, as those that wait for the log.
type stuck struct {
	mu                sync.Mutex
	stalled           bool
	flush, compaction error // of the last ones
	said              bool
}

func (k *stuck) note(fs *system, change func(*stuck)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	change(k)
	err := cmp.Or(k.flush, k.compaction)
	switch is := k.stalled && err != nil; {
	case is == k.said:
	case is:
		k.said = true
		fs.repeats(err)
	default:
		k.said = false
		fs.repeated()
	}
}

// A behind counts the calls whose callers have gone. What they write may not be seen yet,
// and the locks of their rows are free: a call that reads in order to write waits for their end.
type behind struct {
	mu    sync.Mutex
	calls int
	none  chan struct{} // closed when there are no calls any longer; nil without calls
}

func (b *behind) add(all *sync.WaitGroup, done <-chan error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.calls++; b.none == nil {
		b.none = make(chan struct{})
	}
	all.Go(func() {
		<-done
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.calls--; b.calls == 0 {
			close(b.none)
			b.none = nil
		}
	})
}

// caughtUp waits for the calls that have stayed behind.
func (s *Store) caughtUp(ctx context.Context) error {
	for {
		s.behind.mu.Lock()
		none := s.behind.none
		s.behind.mu.Unlock()
		if none == nil {
			return nil
		}
		if err := s.await(ctx, none); err != nil {
			return err
		}
	}
}

// await waits for a channel before a write, but not for a disk that takes no writes.
func (s *Store) await(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-s.fs.trouble():
		return fmt.Errorf("%w: nothing was written: %w", cf.ErrUnavailable, s.fs.reason())
	case <-s.fs.lost:
		return fmt.Errorf("%w: the database must be opened again: %w", cf.ErrUnavailable, s.fs.why)
	case <-s.life.Done():
		return cf.ErrClosed
	case <-ctx.Done():
		return fmt.Errorf("%w: nothing was written: %w", cf.ErrUnavailable, context.Cause(ctx))
	}
}
