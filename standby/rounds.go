package standby

import (
	"context"
	"sync"
	"time"
)

// Rounds join writes that wait for a standby. While some are on their way, others wait; when
// the last of them has returned, these go on together. So one sync on each side, one message
// and one acknowledgement serve them all. Otherwise they follow each other in small groups.
type rounds struct {
	most time.Duration // that a write waits for others

	mu   sync.Mutex
	out  int           // writes on their way
	next chan struct{} // closed when out becomes 0; nil while no write waits
}

// mostGathering bounds how long a write waits for those before it. The standby may be far
// away; and a write on its way may wait for a lock that another one holds which waits here.
const mostGathering = 2 * time.Millisecond

// enter begins a write.
func (r *rounds) enter(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.out > 0 {
		if r.next == nil {
			r.next = make(chan struct{})
		}
		next := r.next
		r.mu.Unlock()
		limit := time.NewTimer(r.most)
		select {
		case <-next:
		case <-limit.C:
		case <-ctx.Done():
		}
		limit.Stop()
		r.mu.Lock()
	}
	r.out++
}

// leave ends a write.
func (r *rounds) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.out--; r.out == 0 && r.next != nil {
		close(r.next)
		r.next = nil
	}
}
