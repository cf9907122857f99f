//go:build cgo

package scan

import (
	"context"
	"runtime"
	"sync"

	"github.com/smolwc/smolwc/cf"
)

const (
	// fillsBeforeAhead is the fill with which a scan counts as long; the
	// blocks before it are small.
	fillsBeforeAhead = 4
	// cellsBeforeAhead is how many cells a scan that counts as long has looked
	// at, if they are so little wanted that they fill no blocks; a seek is as
	// good as some of them.
	cellsBeforeAhead = 1 << 12
	cellsPerSeek     = 8
	// maxHelpers is how many goroutines help one scan at most.
	maxHelpers = 3
	// chunksPerHelper is how many chunks may be under way or wait for the
	// caller, for each helper there could be, beside the one that the caller
	// is in. They are what a slow caller costs in memory, and a scan that is
	// left early in work.
	chunksPerHelper = 3
	// chunkFetch is how much of a file a chunk reads at a time. The engine, left
	// to itself, begins each chunk with 8 KiB and goes up to 256.
	chunkFetch = 512 << 10
)

// A readAhead is a long scan that several goroutines work on. What is left of it
// is cut into chunks. Helpers fill the blocks of chunks ahead; the caller
// consumes the blocks of one chunk after another, and fills blocks itself where
// he would have to wait. So there are never more goroutines at work than there
// are cores, and with one core, or with many scans at a time, there is only the
// caller.
type readAhead struct {
	view *View
	spec cf.Scan
	room *room
	size blockSizer // of the chunks to come

	mu     sync.Mutex
	cuts   *chunker // nil when there are no more chunks to cut
	queue  []*chunk // those cut and not consumed, in the order of the scan
	before cf.Cost  // of those consumed
	closed bool
	wake   chan struct{} // tells the caller that a helper has filled something

	helpers int // at work
	done    sync.WaitGroup
}

// A chunk is a part of a scan.
type chunk struct {
	filler *filler
	blocks []*cf.Block // filled, not consumed
	filled int         // blocks so far
	busy   bool        // somebody is filling, or about to
	end    bool
	err    error
	cost   cf.Cost
}

// startReadAhead takes over a cursor's filler.
func startReadAhead(s *View, spec cf.Scan, first *filler) *readAhead {
	r := &readAhead{view: s, spec: spec, room: first.room, size: first.size, wake: make(chan struct{}, 1)}
	first.early = false
	r.queue = []*chunk{{filler: first}}
	r.cutFirst(first)
	return r
}

// cutFirst divides the scan that the first filler is at the beginning of, and
// leaves it the first chunk. A scan with a limit on its rows stays whole.
func (r *readAhead) cutFirst(first *filler) {
	if r.spec.Limit != 0 || helpersFor() == 0 {
		return
	}
	at := ""
	if first.begun {
		var ok bool
		at, ok = first.row()
		if r.spec.Reverse && first.returned.Rows > 0 { // behind a row's last cell it stands on the row before
			at = min(at, first.at)
		}
		if !ok || r.spec.Reverse && at == "" { // behind the row of the empty key there is none
			return
		}
	}
	cuts := newChunker(r.view, first.family, r.spec, at)
	if rows := cuts.next(); len(cuts.pending) > 0 && first.cut(rows, r.spec.Reverse) {
		r.cuts = cuts
	}
}

func helpersFor() int { return min(runtime.GOMAXPROCS(0)-1, maxHelpers) }

// next is the next blocks. After those that are the end or come with an error it
// must not be called.
func (r *readAhead) next(ctx context.Context) (filled, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		if len(r.queue) == 0 {
			if c, err := r.cut(); c == nil {
				return filled{end: err == nil, err: err, cost: r.before}, nil
			}
		}
		switch head := r.queue[0]; {
		case len(head.blocks) > 0 || head.err != nil:
			out := filled{blocks: head.blocks, err: head.err, cost: head.cost}
			head.blocks = nil
			out.cost.Add(r.before)
			r.help()
			return out, nil
		case head.end:
			r.before.Add(head.cost)
			head.filler.free()
			_ = r.room.take(-head.filler.fetch-head.filler.large, true) // less is never too much
			r.queue = r.queue[1:]
		case !head.busy:
			head.busy = true
			r.help()
			r.fill(head, 1)
		default:
			if c := r.ahead(); c != nil {
				r.fill(c, maxFill)
			} else if err := r.wait(ctx); err != nil {
				return filled{}, err
			}
		}
		if err := ctx.Err(); err != nil {
			return filled{}, err
		}
	}
}

// wait waits for a helper to fill something.
func (r *readAhead) wait(ctx context.Context) error {
	r.mu.Unlock()
	defer r.mu.Lock()
	select {
	case <-r.wake:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ahead claims a chunk to be filled beside the one that the caller is in, or the
// rest of that one when there are no others. It is nil when enough is under way, or
// when there is no room to spare.
func (r *readAhead) ahead() *chunk {
	if len(r.queue) > helpersFor()*chunksPerHelper || !r.room.spare() {
		return nil
	}
	if c, _ := r.cut(); c != nil {
		c.busy = true
		return c
	}
	if len(r.queue) == 0 {
		return nil
	}
	head := r.queue[0]
	if head.busy || head.end || head.err != nil || len(head.blocks) >= maxFill {
		return nil
	}
	head.busy = true
	return head
}

// cut cuts the next chunk off, nil when there is none.
func (r *readAhead) cut() (*chunk, error) {
	if r.cuts == nil {
		return nil, nil
	}
	spec := r.spec
	if spec.Rows = r.cuts.next(); spec.Rows == nil {
		r.cuts = nil
		return nil, nil
	}
	fetch := chunkFetch
	if r.room.take(fetch, false) != nil {
		fetch = 0
	}
	f, err := newFiller(r.view, r.cuts.family, spec, fetch)
	if err != nil {
		r.cuts = nil
		return nil, err
	}
	f.size, f.room, f.fetch = r.size, r.room, fetch
	c := &chunk{filler: f}
	r.queue = append(r.queue, c)
	return c, nil
}

// fill fills up to n blocks of a chunk that was claimed, unlocked meanwhile.
func (r *readAhead) fill(c *chunk, n int) {
	r.mu.Unlock()
	out := c.filler.fill(n)
	r.mu.Lock()
	c.busy = false
	c.blocks, c.end, c.err, c.cost = append(c.blocks, out.blocks...), out.end, out.err, out.cost
	c.filled += len(out.blocks)
	r.size = c.filler.size
	if r.cuts != nil && c.end {
		r.cuts.learn(c.filled)
	}
}

// help starts a helper if there is a core for it and something to do.
func (r *readAhead) help() {
	if r.helpers >= helpersFor() || r.closed {
		return
	}
	all := &r.view.Engine.helpers
	if int(all.Add(1)) >= runtime.GOMAXPROCS(0) {
		all.Add(-1)
		return
	}
	c := r.ahead()
	if c == nil {
		all.Add(-1)
		return
	}
	r.helpers++
	r.done.Go(func() {
		defer all.Add(-1)
		r.mu.Lock()
		defer r.mu.Unlock()
		for c != nil && !r.closed {
			r.fill(c, maxFill)
			select {
			case r.wake <- struct{}{}:
			default:
			}
			c = r.ahead()
		}
		r.helpers--
	})
}

// stop ends the helpers, waits for them, a call of C cannot be interrupted but is
// short, and frees the fillers.
func (r *readAhead) stop() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.done.Wait()
	for _, c := range r.queue {
		c.filler.free()
	}
}
