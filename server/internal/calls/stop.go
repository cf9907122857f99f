package calls

import (
	"context"
	"log/slog"
	"time"

	"google.golang.org/grpc"
)

// The end of a stop: calls that have not ended are cancelled, and have this long to end.
const lastCalls = 2 * time.Second

// Stop stops a gRPC server. Calls under way have most of the grace period to end. Then the
// log tells that they are cut off, and a moment later cancel is called for those that are
// left. Stop returns when the grace period is over, or two seconds later if it is short,
// whatever the calls do; ended is false if some have not ended.
func Stop(g *grpc.Server, grace time.Duration, log *slog.Logger, cancel func()) (ended bool) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		g.GracefulStop()
	}()
	last := min(lastCalls, grace/5)
	if within(grace-last, done) {
		return true
	}
	log.Warn("canceling calls that have not ended", "after", grace-last)
	go g.Stop()               // it waits for gRPC's mutex, which the graceful stop can hold while it waits for a handler
	if within(last/4, done) { // its clients can tell its end from a call that somebody cancelled
		return true
	}
	cancel()
	return within(max(last, lastCalls)-last/4, done)
}

// Await returns an error if calls that were cancelled do not end.
func Await(ended <-chan struct{}, left error) error {
	if within(lastCalls, ended) {
		return nil
	}
	return left
}

func within(d time.Duration, done <-chan struct{}) bool {
	end := time.NewTimer(d)
	defer end.Stop()
	select {
	case <-done:
		return true
	case <-end.C:
		return false
	}
}

// CancelAll ends the contexts of the calls under way, and of those that begin later.
func (r *Registry) CancelAll() {
	r.stopped.Store(true)
	for i := range r.shards {
		s := &r.shards[i]
		s.mu.Lock()
		for _, c := range s.calls {
			c.running.end(context.Canceled)
		}
		s.mu.Unlock()
	}
}
