package cli

import (
	"context"
	"runtime/metrics"
	"time"

	"github.com/smolwc/smolwc/query/plumbing"
)

// serveMemory is the memory setting of a server without a configuration file: such a
// server often runs on a developer's machine.
const serveMemory = 128 << 20

// A server is idle if it allocates less than idleBytes in a second. It then releases
// memory if it allocated busyBytes since the last release. It releases memory again
// after idleAgain, when flushes and compactions have ended.
const (
	idleBytes = 1 << 20
	busyBytes = 8 << 20
	idleAgain = 10 // seconds
)

// releaseIdle releases memory whenever the server becomes idle, until the context ends.
func releaseIdle(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	w := idleWatch{busy: true}
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if w.tick(allocated()) {
			plumbing.ReleaseMemory()
		}
	}
}

// An idleWatch decides when to release memory.
type idleWatch struct {
	last, released uint64 // bytes allocated up to the last tick, and up to the last release
	idle           int    // number of seconds of idleness
	busy           bool   // since the last release
}

// tick is called every second with the bytes allocated so far. It reports whether to
// release memory now.
func (w *idleWatch) tick(now uint64) bool {
	if w.idle++; now-w.last >= idleBytes {
		w.idle = 0
	}
	w.last = now
	w.busy = w.busy || now-w.released >= busyBytes
	release := w.busy && w.idle == 1 || w.idle == idleAgain
	if release {
		w.busy, w.released = false, now
	}
	return release
}

// allocated returns the number of bytes that Go allocated so far.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
