// Package inuse lists the open snapshots and cursors of a store, so that closing the store
// can end them.
package inuse

import (
	"maps"
	"slices"
	"sync"
)

// A Set is of snapshots, or of cursors. The zero Set is empty. Goroutines may share it.
type Set[T comparable] struct {
	mu  sync.Mutex
	all map[T]struct{}
}

// Add adds one.
func (s *Set[T]) Add(one T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[T]struct{}{}
	}
	s.all[one] = struct{}{}
}

// Remove takes one out; it may be called several times.
func (s *Set[T]) Remove(one T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, one)
}

// Len is how many there are.
func (s *Set[T]) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all)
}

// All are those that there are now.
func (s *Set[T]) All() []T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.all))
}
