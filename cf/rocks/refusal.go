//go:build cgo

package rocks

import (
	"sync"
	"sync/atomic"
	"time"
)

// A refusal is the time in which the engine refuses writes. It does so after a flush
// or the log has failed, on a full disk above all, until it has recovered by itself
// or, of a lasting fault, until it is opened anew.
type refusal struct {
	on atomic.Bool

	mu    sync.Mutex
	err   error // by which it refused the last write
	since time.Time
}

// refused notes that the engine has refused a write, and logs it when the write
// before was not.
func (s *Store) refused(err error) {
	r := &s.refusal
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = err
	if r.on.Load() {
		return
	}
	r.on.Store(true)
	r.since = time.Now()
	s.logger.Error("writes are refused", "err", err)
}

// taken notes that the engine has taken a write. It costs one load while it does.
func (s *Store) taken() {
	r := &s.refusal
	if !r.on.Load() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.on.Load() {
		r.on.Store(false)
		r.err = nil
		s.logger.Info("writes are taken again", "duration", time.Since(r.since).Round(time.Millisecond))
	}
}

// cause is why the engine refused the last write, nil when it took it.
func (r *refusal) cause() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}
