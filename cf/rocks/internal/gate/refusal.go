package gate

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// A Refusal notes whether the engine refuses writes. The engine does so after a flush
// or a write of the log fails, mostly on a full disk, until it recovers by itself.
// After a lasting fault it refuses writes until the database is opened again.
type Refusal struct {
	Logger *slog.Logger

	on atomic.Bool

	mu    sync.Mutex
	err   error // of the last write
	since time.Time
}

// Refused notes that the engine refused a write. It logs the first refusal.
func (r *Refusal) Refused(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = err
	if r.on.Load() {
		return
	}
	r.on.Store(true)
	r.since = time.Now()
	r.Logger.Error("writes are refused", "err", err)
}

// Taken notes that the engine took a write. It costs one atomic load unless the write
// before was refused.
func (r *Refusal) Taken() {
	if !r.on.Load() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.on.Load() {
		r.on.Store(false)
		r.err = nil
		r.Logger.Info("writes are taken again", "duration", time.Since(r.since).Round(time.Millisecond))
	}
}

// Cause is the error of the last write, nil if the engine took it.
func (r *Refusal) Cause() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// On reports whether the engine refused the last write.
func (r *Refusal) On() bool { return r.on.Load() }
