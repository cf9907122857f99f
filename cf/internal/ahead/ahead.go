// Package ahead reads ahead in long scans: several goroutines fill blocks of the chunks
// into which a scan is cut.
package ahead

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/smolwc/smolwc/cf"
)

const (
	// From this fill on a scan counts as long; the blocks before it are small.
	fillsBefore = 4
	// CellsBefore is from how many scanned cells on a scan counts as long, even if few
	// cells are wanted and fill no blocks; a seek counts as cellsPerSeek cells.
	CellsBefore  = 1 << 12
	cellsPerSeek = 8
	// maxHelpers is the largest number of goroutines that help one scan.
	maxHelpers = 3
	// chunksPerHelper is the number of chunks for each possible helper, besides the
	// caller's own chunk, that may be filled or wait for the caller. It bounds the
	// memory that a slow caller costs, and the wasted work of a scan that ends early.
	chunksPerHelper = 3
)

// IsLong reports whether a scan counts as long.
func IsLong(fills int, cost cf.Cost) bool {
	return fills >= fillsBefore || cost.CellsScanned+cellsPerSeek*cost.Seeks >= CellsBefore
}

// A Filler fills the blocks of a chunk. One goroutine at a time uses it.
type Filler interface {
	// Fill fills up to n blocks. It also ends early after some ten thousand unwanted
	// cells, or with the context.
	Fill(ctx context.Context, n int) Filled
	// Free ends the filler, and the count of its bytes besides blocks.
	Free()
}

// A Filled is the result of a fill.
type Filled struct {
	Blocks []*cf.Block // the list and each block may be empty
	End    bool
	Err    error   // an error that came after the blocks
	Cost   cf.Cost // of the whole chunk so far; of [Reader.Next], of the whole scan
}

// A Source is an engine's side of one scan.
type Source interface {
	Sizes
	// Open makes the filler of a chunk, which has these ranges of rows.
	Open(rows []cf.Range) (Filler, error)
}

// A Crew is the helpers of all scans of a store.
type Crew struct {
	// The most helpers of one scan, and of all scans together. 0 leaves it to the number of
	// processors: no more goroutines work then than there are processors.
	One, All int

	working atomic.Int32
}

// Working is the number of helpers at work.
func (c *Crew) Working() int { return int(c.working.Load()) }

// Helps reports whether a scan may have a helper.
func (c *Crew) Helps() bool { return c.most() > 0 }

// most is the largest number of helpers of a scan.
func (c *Crew) most() int {
	if c.One > 0 {
		return c.One
	}
	return min(runtime.GOMAXPROCS(0)-1, maxHelpers)
}

// join adds a helper, if there are not too many.
func (c *Crew) join() bool {
	allowed := c.All
	if allowed == 0 {
		allowed = runtime.GOMAXPROCS(0) - 1
	}
	if int(c.working.Add(1)) > allowed {
		c.working.Add(-1)
		return false
	}
	return true
}

// A Reader is a long scan on which several goroutines work. Helpers fill the blocks of
// chunks ahead of the caller. The caller consumes the blocks of one chunk after another,
// and fills blocks itself instead of waiting. So there are never more working goroutines
// than cores, unless the crew is larger. With one core, or with many scans at a time, the
// caller works alone.
type Reader struct {
	source Source
	crew   *Crew
	room   *Room

	mu     sync.Mutex
	cuts   *Chunks  // nil when there are no more chunks to cut
	queue  []*chunk // cut but not consumed, in the order of the scan
	before cf.Cost  // of the consumed chunks
	closed bool
	wake   chan struct{} // signals the caller that a helper filled blocks

	life    context.Context // of the helpers; it ends with Stop
	end     context.CancelFunc
	helpers int // number of working helpers
	done    sync.WaitGroup
}

// A chunk is a part of a scan.
type chunk struct {
	filler Filler
	blocks []*cf.Block // filled but not consumed
	filled int         // number of blocks filled so far
	busy   bool        // a goroutine fills it, or will at once
	end    bool
	err    error
	cost   cf.Cost
}

// New makes a reader. It takes over the filler of the first chunk; cuts makes the others,
// nil for no others. Helpers go on after the end of the context.
func New(ctx context.Context, source Source, crew *Crew, room *Room, first Filler, cuts *Chunks) *Reader {
	r := &Reader{
		source: source, crew: crew, room: room, cuts: cuts,
		queue: []*chunk{{filler: first}}, wake: make(chan struct{}, 1),
	}
	r.life, r.end = context.WithCancel(context.WithoutCancel(ctx))
	return r
}

// Next returns the next blocks. It must not be called after the end or an error.
func (r *Reader) Next(ctx context.Context) (Filled, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		if len(r.queue) == 0 {
			if c, err := r.cut(); c == nil {
				return Filled{End: err == nil, Err: err, Cost: r.before}, nil
			}
		}
		switch head := r.queue[0]; {
		case len(head.blocks) > 0 || head.err != nil:
			out := Filled{Blocks: head.blocks, Err: head.err, Cost: head.cost}
			head.blocks = nil
			out.Cost.Add(r.before)
			r.help()
			return out, nil
		case head.end:
			r.before.Add(head.cost)
			head.filler.Free()
			r.queue = r.queue[1:]
		case !head.busy:
			head.busy = true
			r.help()
			r.fill(ctx, head, 1)
		default:
			if c := r.ahead(); c != nil {
				r.fill(ctx, c, MaxFill)
			} else if err := r.wait(ctx); err != nil {
				return Filled{}, err
			}
		}
		if err := ctx.Err(); err != nil {
			return Filled{}, err
		}
	}
}

// wait waits for a helper to fill something.
func (r *Reader) wait(ctx context.Context) error {
	r.mu.Unlock()
	defer r.mu.Lock()
	select {
	case <-r.wake:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ahead claims a chunk to fill: a new one, or the caller's own chunk when there are no
// further chunks. It returns nil when enough chunks are being filled, or when there is
// no spare memory.
func (r *Reader) ahead() *chunk {
	if len(r.queue) > r.crew.most()*chunksPerHelper || !r.room.Spare() {
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
	if head.busy || head.end || head.err != nil || len(head.blocks) >= MaxFill {
		return nil
	}
	head.busy = true
	return head
}

// cut cuts off the next chunk. It returns nil at the end.
func (r *Reader) cut() (*chunk, error) {
	if r.cuts == nil {
		return nil, nil
	}
	rows := r.cuts.Next()
	if rows == nil {
		r.cuts = nil
		return nil, nil
	}
	f, err := r.source.Open(rows)
	if err != nil {
		r.cuts = nil
		return nil, err
	}
	c := &chunk{filler: f}
	r.queue = append(r.queue, c)
	return c, nil
}

// fill fills up to n blocks of a claimed chunk. r.mu is unlocked meanwhile.
func (r *Reader) fill(ctx context.Context, c *chunk, n int) {
	r.mu.Unlock()
	out := c.filler.Fill(ctx, n)
	r.mu.Lock()
	c.busy = false
	c.blocks, c.end, c.err, c.cost = append(c.blocks, out.Blocks...), out.End, out.Err, out.Cost
	c.filled += len(out.Blocks)
	if r.cuts != nil && c.end {
		r.cuts.learn(c.filled)
	}
}

// help starts a helper if there is a free core and a chunk to fill.
func (r *Reader) help() {
	if r.helpers >= r.crew.most() || r.closed || !r.crew.join() {
		return
	}
	c := r.ahead()
	if c == nil {
		r.crew.working.Add(-1)
		return
	}
	r.helpers++
	r.done.Go(func() {
		defer r.crew.working.Add(-1)
		r.mu.Lock()
		defer r.mu.Unlock()
		for c != nil && !r.closed {
			r.fill(r.life, c, MaxFill)
			select {
			case r.wake <- struct{}{}:
			default:
			}
			c = r.ahead()
		}
		r.helpers--
	})
}

// Stop ends the helpers, waits for them and frees the fillers.
func (r *Reader) Stop() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.end()
	r.done.Wait()
	for _, c := range r.queue {
		c.filler.Free()
	}
}
