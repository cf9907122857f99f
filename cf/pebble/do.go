package pebble

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/smolwc/smolwc/cf"
)

// do runs a call of Pebble that may wait for the disk. It returns before the end of the call
// when the store is lost, when the disk takes no writes, or some time after the end of its
// context. The call stays behind then.
func (s *Store) do(ctx context.Context, call func() error) error {
	trouble, ended := s.fs.trouble(), ctx.Done()
	done := answers.Get().(chan error)
	s.calls.begin(s.life, func() { done <- call() })
	var late <-chan time.Time
	for {
		select {
		case err := <-done:
			answers.Put(done)
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

// answers are the channels of calls that have ended.
var answers = sync.Pool{New: func() any { return make(chan error, 1) }}

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
