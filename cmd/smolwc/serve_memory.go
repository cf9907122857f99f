package main

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/smolwc/smolwc/query"
)

// serveMemory is the memory setting of a server without a configuration file: it
// often stands beside what is developed on the same machine.
const serveMemory = 128 << 20

// gcPercent is how much garbage there may be beside what is in use, unless $GOGC
// says so. A long scan or a large write has the store set memory aside that counts
// as in use, so that collections stay rare; docs/performance.md has the figures.
const gcPercent = 50

func collectEarly() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}

// A server is idle when it allocates less than idleBytes in a second. Memory is
// given back then, if there were busyBytes since the last time; and again a while
// later, when flushes and compactions have ended too.
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
	var last, released uint64
	idle, busy := 0, true
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := allocated()
		if idle++; now-last >= idleBytes {
			idle = 0
		}
		last = now
		busy = busy || now-released >= busyBytes
		if busy && idle == 1 || idle == idleAgain {
			query.ReleaseMemory()
			busy, released = false, now
		}
	}
}

// allocated is how many bytes Go has allocated so far.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
