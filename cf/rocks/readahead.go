package rocks

import (
	"context"
	"sync"
)

const (
	// blocksBeforeAhead is how many blocks a scan returns before it counts
	// as long: the first ones are small.
	blocksBeforeAhead = 3
	// blocksAhead is how many blocks wait for the caller at most. It is what
	// a slow caller costs in memory, and a scan that is left early in work.
	blocksAhead = 2
)

// A readAhead fills blocks on a goroutine of its own while the cursor's caller
// consumes those before.
type readAhead struct {
	blocks chan filled
	quit   chan struct{}
	done   sync.WaitGroup
}

func startReadAhead(f *filler) *readAhead {
	ballast()
	r := &readAhead{blocks: make(chan filled, blocksAhead), quit: make(chan struct{})}
	r.done.Go(func() {
		for {
			b := f.fill()
			select {
			case r.blocks <- b:
			case <-r.quit:
				return
			}
			if b.end || b.err != nil {
				return
			}
		}
	})
	return r
}

// next is the next block. After one that is the end or an error it must not be
// called.
func (r *readAhead) next(ctx context.Context) (filled, error) {
	select {
	case b := <-r.blocks:
		return b, nil
	case <-ctx.Done():
		return filled{}, ctx.Err()
	}
}

// stop ends the goroutine and waits for it: a call of C cannot be interrupted,
// but is short.
func (r *readAhead) stop() {
	close(r.quit)
	r.done.Wait()
}
