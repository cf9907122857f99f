package main

import (
	"context"
	"runtime/metrics"
	"time"

	"github.com/smolwc/smolwc/query"
)

// serveMemory is the memory setting of a server without a configuration file:
// such a server often runs on a developer's machine.
const serveMemory = 128 << 20

// A server is idle when it allocates less than idleBytes in a second. Memory is
// given back then, if it allocated busyBytes since the last time; and again a
// while later, when flushes and compactions have ended too.
const (
	idleBytes = 1 << 20
	busyBytes = 8 << 20
	idleAgain = 10 // seconds
)

// releaseIdle gives memory back whenever the server has become idle, until the
// context ends.
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
			query.ReleaseMemory()
		}
	}
}

// An idleWatch finds out when memory is to be given back.
type idleWatch struct {
	last, released uint64 // bytes allocated so far: a second ago, when memory was given back
	idle           int    // how many seconds it has been idle
	busy           bool   // since memory was given back
}

// tick is called every second with how many bytes have been allocated so far. It
// reports whether memory is to be given back now.
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

// allocated is the number of bytes that Go has allocated so far.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
