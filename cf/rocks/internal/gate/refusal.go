package gate

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// A Refusal is the time in which the engine refuses writes. It does so after a flush
// or the log has failed, on a full disk above all, until it has recovered by itself
// or, of a lasting fault, until it is opened anew.
type Refusal struct {
	Logger *slog.Logger

	on atomic.Bool

	mu    sync.Mutex
	err   error // by which it refused the last write
	since time.Time
}

// Refused notes that the engine has refused a write, and logs it when the write
// before was not.
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

// Taken notes that the engine has taken a write. It costs one load while it does.
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

// Cause is why the engine refused the last write, nil when it took it.
func (r *Refusal) Cause() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// On reports whether the engine refused the last write.
func (r *Refusal) On() bool { return r.on.Load() }
