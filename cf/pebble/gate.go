package pebble

import (
	"context"
	"sync"
	"time"

	"github.com/smolwc/smolwc/cf"
)

// A gate lets writes in while Pebble takes them: within Pebble, a write would wait
// without a context.
type gate struct {
	mu    sync.Mutex
	shut  chan struct{} // closed when writes are let in again; nil if they are
	ended chan struct{} // closed by end
	over  bool
	stats cf.StallStats
}

func newGate() *gate { return &gate{ended: make(chan struct{})} }

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut == nil {
		g.shut = make(chan struct{})
	}
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut != nil {
		close(g.shut)
		g.shut = nil
	}
}

// end ends all waits.
func (g *gate) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.over {
		g.over = true
		close(g.ended)
	}
}

// isShut reports whether writes would have to wait.
func (g *gate) isShut() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.shut != nil
}

// letIn waits until writes are let in. The caller holds no locks.
func (g *gate) letIn(ctx context.Context) error {
	g.mu.Lock()
	shut := g.shut
	if shut != nil {
		g.stats.Count++
		g.stats.Waiting++
	}
	g.mu.Unlock()
	if shut == nil {
		return ctx.Err()
	}
	began := time.Now()
	defer func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.stats.Waiting--
		g.stats.Time += time.Since(began)
	}()
	select {
	case <-shut:
		return g.letIn(ctx)
	case <-g.ended:
		return cf.ErrClosed
	case <-ctx.Done():
		return stalled(ctx.Err())
	}
}

func stalled(err error) error { return &cf.StallError{State: cf.Stopped, Err: err} }

func (g *gate) figures() cf.StallStats {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.stats
	if g.shut != nil {
		s.State = cf.Stopped
	}
	return s
}

// Writes wait when there are this many memtables, or files at the top that are read one by one.
const (
	stopMemory = 4
	stopTop    = 24
)
