package pebble

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// patience is how long a call waits for a disk that takes no writes, and a call whose
// context is done for a slow disk.
const patience = time.Second

// Workers are the goroutines of calls. They are used again: to grow the stack of a new one is
// a sixth of the work of a small write.
type workers struct {
	all  sync.WaitGroup
	next chan func() // to an idle worker
	idle atomic.Int64
}

// begin makes a worker run a call. Idle ones leave at the end of life.
func (w *workers) begin(life context.Context, call func()) {
	select {
	case w.next <- call:
		return
	default:
	}
	w.all.Go(func() {
		for call != nil {
			call()
			call = nil
			if w.idle.Add(1) <= mostIdle {
				select {
				case call = <-w.next:
				case <-life.Done():
				}
			}
			w.idle.Add(-1)
		}
	})
}

// mostIdle is how many workers stay for the next calls.
const mostIdle = 64

// A behind counts the calls whose callers have gone. Their writes may not be seen yet,
// and the locks of their rows are free: a call that reads in order to write waits for their end.
type behind struct {
	mu    sync.Mutex
	calls int
	none  chan struct{} // closed when there are no calls any longer; nil without calls
}

func (b *behind) add(all *sync.WaitGroup, done <-chan error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.calls++; b.none == nil {
		b.none = make(chan struct{})
	}
	all.Go(func() {
		<-done
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.calls--; b.calls == 0 {
			close(b.none)
			b.none = nil
		}
	})
}
