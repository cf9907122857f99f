package calls

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/smolwc/smolwc/api/activity"
	"github.com/smolwc/smolwc/server/internal/access"
)

// mostSlow is how many calls of an hour are remembered.
const mostSlow = 50

// An ended is a finished call, and the token that it was made with.
type ended struct {
	activity.Call
	token *access.Token
}

// slowest are the slowest calls of this hour and of the hour before, so that nobody needs to
// choose a threshold.
type slowest struct {
	floor atomic.Int64 // faster calls are not wanted, while
	hour  atomic.Int64 // this is the hour

	mu         sync.Mutex
	this, last []ended // the slowest first
}

func hourOf(t time.Time) int64 { return t.UnixNano() / int64(time.Hour) }

// wants reports whether a call may be among the slowest.
func (s *slowest) wants(began time.Time, took time.Duration) bool {
	return int64(took) > s.floor.Load() || hourOf(began.Add(took)) > s.hour.Load()
}

func (s *slowest) add(e ended) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn(e.Began.Add(e.Took))
	at, _ := slices.BinarySearchFunc(s.this, e, func(a, b ended) int { return cmp.Compare(b.Took, a.Took) })
	s.this = slices.Insert(s.this, at, e)
	if len(s.this) > mostSlow {
		s.this = s.this[:mostSlow]
	}
	if len(s.this) == mostSlow {
		s.floor.Store(int64(s.this[mostSlow-1].Took))
	}
}

// turn begins another hour if a time is after this one; s.mu is held.
func (s *slowest) turn(now time.Time) {
	hour := hourOf(now)
	switch since := hour - s.hour.Load(); {
	case since <= 0:
		return
	case since == 1:
		s.last = s.this
	default:
		s.last = nil
	}
	s.this = nil
	s.floor.Store(0)
	s.hour.Store(hour)
}

func (s *slowest) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.this, s.last = nil, nil
	s.floor.Store(0)
}

func (s *slowest) list(now time.Time) []ended {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn(now)
	all := slices.Concat(s.this, s.last)
	slices.SortStableFunc(all, func(a, b ended) int { return cmp.Compare(b.Took, a.Took) })
	return all[:min(len(all), mostSlow)]
}
