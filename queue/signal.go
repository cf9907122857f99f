package queue

import (
	"context"
	"sync"
)

// signals tells the workers of this process which zones have visible items. A zone that
// was named several times is named once.
type signals struct {
	mu    sync.Mutex
	zones map[string]struct{}
	ready chan struct{} // holds a value while there are zones
}

func (s *signals) channel() chan struct{} {
	if s.ready == nil {
		s.ready = make(chan struct{}, 1)
	}
	return s.ready
}

func (s *signals) send(zone string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.zones == nil {
		s.zones = map[string]struct{}{}
	}
	if len(s.zones) < most {
		s.zones[zone] = struct{}{}
	}
	select {
	case s.channel() <- struct{}{}:
	default:
	}
}

// wait is a channel with a value when there are zones.
func (s *signals) wait() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.channel()
}

// take are the zones that were named since the last call.
func (s *signals) take() map[string]struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	zones := s.zones
	s.zones = nil
	return zones
}

// running are the jobs of workers of this process, with their contexts' cancel functions.
type running struct {
	mu   sync.Mutex
	jobs map[*Job]context.CancelCauseFunc // a job that lost its lease can run beside the next
}

func (r *running) add(j *Job, cancel context.CancelCauseFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.jobs == nil {
		r.jobs = map[*Job]context.CancelCauseFunc{}
	}
	r.jobs[j] = cancel
}

func (r *running) remove(j *Job) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.jobs, j)
}

func (r *running) cancel(id ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for j, cancel := range r.jobs {
		if j.ID() == id {
			cancel(ErrCanceled)
		}
	}
}
