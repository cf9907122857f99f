//go:build cgo && linux && !norocksdb

package scan

import (
	"context"
	"runtime"
	"slices"
	"sync"

	"github.com/smolwc/smolwc/cf"
)

const (
	// From this fill on a scan counts as long; the blocks before it are small.
	fillsBeforeAhead = 4
	// From this many scanned cells on a scan counts as long, even if few cells are
	// wanted and fill no blocks; a seek counts as cellsPerSeek cells.
	cellsBeforeAhead = 1 << 12
	cellsPerSeek     = 8
	// maxHelpers is the largest number of goroutines that help one scan.
	maxHelpers = 3
	// chunksPerHelper is the number of chunks for each possible helper, besides the
	// caller's own chunk, that may be filled or wait for the caller. It bounds the
	// memory that a slow caller costs, and the wasted work of a scan that ends early.
	chunksPerHelper = 3
	// A list of more rows than longList begins with coldRanges of them or so. If these had
	// to be read from files, up to coldHelpers goroutines read the others, because most of
	// them wait for the disk, but no more than allColdHelpers for all scans together.
	longList       = 2 * coldRanges
	coldHelpers    = 7
	allColdHelpers = 28
	// A row of such a list is smaller than this.
	coldRowBytes = 16 << 10
	// chunkFetch is the number of bytes of a file that a chunk reads at a time. By
	// default the engine begins each chunk with 8 KiB and grows to 256 KiB.
	chunkFetch = 512 << 10
)

// A readAhead is a long scan on which several goroutines work. The rest of the scan is
// cut into chunks. Helpers fill the blocks of chunks ahead of the caller. The caller
// consumes the blocks of one chunk after another, and fills blocks itself instead of
// waiting. So there are never more working goroutines than cores, except for lists of rows
// that are read from the disk. With one core, or with many scans at a time, the caller
// works alone.
type readAhead struct {
	view *View
	spec cf.Scan
	room *room
	size blockSizer // for later chunks

	mu     sync.Mutex
	cuts   *chunker // nil when there are no more chunks to cut
	queue  []*chunk // cut but not consumed, in the order of the scan
	before cf.Cost  // of the consumed chunks
	closed bool
	wake   chan struct{} // signals the caller that a helper filled blocks

	divided bool // there are chunks besides the first
	list    bool // the scan is a list of rows, already begun
	cold    bool // they are read from files

	helpers int // number of working helpers
	done    sync.WaitGroup
}

// A chunk is a part of a scan.
type chunk struct {
	filler *filler
	blocks []*cf.Block // filled but not consumed
	filled int         // number of blocks filled so far
	busy   bool        // a goroutine fills it, or will at once
	end    bool
	err    error
	cost   cf.Cost
}

// startReadAhead makes a readAhead. It takes over the cursor's filler.
func startReadAhead(s *View, spec cf.Scan, first *filler) *readAhead {
	r := &readAhead{view: s, spec: spec, room: first.room, size: first.size, wake: make(chan struct{}, 1)}
	r.list = first.begun && len(spec.Rows) > longList && areRows(spec.Rows)
	r.cold = r.list && first.cold()
	first.early = false
	r.queue = []*chunk{{filler: first}}
	r.cutFirst(first)
	return r
}

// cutFirst divides the scan, and leaves the first chunk to the first filler, which is
// at its beginning. A scan with a limit on its rows stays whole.
func (r *readAhead) cutFirst(first *filler) {
	if r.spec.Limit != 0 || r.most() == 0 {
		return
	}
	at := ""
	switch {
	case r.list: // the iterator may be at no row
		at = first.nextRow()
	case first.begun:
		var ok bool
		at, ok = first.row()
		if r.spec.Reverse && first.returned.Rows > 0 { // after the last cell of a row, the iterator is at the row before
			at = min(at, first.at)
		}
		if !ok {
			return
		}
	}
	if first.begun && r.spec.Reverse && at == "" { // no row comes after the row of the empty key
		return
	}
	cuts := newChunker(r.view, first.family, r.spec, at, r.cold)
	if rows := cuts.next(); len(cuts.pending) > 0 && first.cut(rows, r.spec.Reverse) {
		r.cuts, r.divided = cuts, true
	}
}

// most is the largest number of helpers.
func (r *readAhead) most() int {
	if r.cold {
		return coldHelpers
	}
	return min(runtime.GOMAXPROCS(0)-1, maxHelpers)
}

// paysToDivide reports whether it pays to divide a begun list of this many ranges.
func (f *filler) paysToDivide(ranges int) bool {
	return ranges > 2*chunkRanges || ranges > longList && f.cold() && areRows(f.rows)
}

// cold reports whether the rows so far were read from files, one in four of them at least,
// and are small: many of them will wait in memory.
func (f *filler) cold() bool {
	n := f.returned.Rows
	return n > 0 && 4*f.reads > n && f.returned.Bytes < n*coldRowBytes
}

func areRows(ranges []cf.Range) bool {
	return !slices.ContainsFunc(ranges, func(r cf.Range) bool { _, ok := r.Single(); return !ok })
}

// next is the next blocks. It must not be called after the end or an error.
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
			_ = r.room.take(-head.filler.fetch-head.filler.large, true) // a negative count never fails
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

// ahead claims a chunk to fill: a new one, or the caller's own chunk when there are no
// further chunks. It returns nil when enough chunks are being filled, or when there is
// no spare memory.
func (r *readAhead) ahead() *chunk {
	if len(r.queue) > r.most()*chunksPerHelper || !r.room.spare() {
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

// cut cuts off the next chunk. It returns nil at the end.
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
	if r.cold || r.room.take(fetch, false) != nil {
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

// fill fills up to n blocks of a claimed chunk. r.mu is unlocked meanwhile.
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

// help starts a helper if there is a free core and a chunk to fill.
func (r *readAhead) help() {
	if r.helpers >= r.most() || r.closed {
		return
	}
	all, allowed := &r.view.Engine.helpers, runtime.GOMAXPROCS(0)-1
	if r.cold {
		all, allowed = &r.view.Engine.coldHelpers, allColdHelpers
	}
	if int(all.Add(1)) > allowed {
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

// stop ends the helpers, waits for them and frees the fillers. A call of C cannot be
// interrupted, but it is short.
func (r *readAhead) stop() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.done.Wait()
	for _, c := range r.queue {
		c.filler.free()
	}
}
