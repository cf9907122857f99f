package pebble

import (
	"cmp"
	"context"
	"fmt"
	"sync"
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
	done := make(chan error, 1)
	s.calls.Go(func() { done <- call() })
	var late <-chan time.Time
	for {
		select {
		case err := <-done:
			return cmp.Or(s.lost(), err)
		case <-s.fs.lost:
			return s.lost()
		case <-late:
			s.behind.add(&s.calls, done)
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
		select {
		case <-none:
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
}
