package pebble

import (
	"context"
	"sync"
)

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
