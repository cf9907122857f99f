// Package writequeue joins writes that wait for the engine.
package writequeue

import (
	"context"
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/internal/wal"
)

// A Queue joins writes. While enough writes are in the engine, further writes wait; then
// the first waiting write writes all waiting batches as one batch. The engine would join
// waiting writes too, but a goroutine that waits in it occupies a thread, and many threads
// cost mostly context switches. See bench/NOTEBOOK.md for figures.
type Queue struct {
	most int // writes in the engine at once

	mu      sync.Mutex
	inside  int
	waiting []*queuedWrite
	joined  bool // the last write that entered the engine was of several batches
}

// A queuedWrite waits for its turn, or for another write that writes its batch too.
type queuedWrite struct {
	rep  []byte
	only bool      // it is not joined with others
	turn chan bool // true: it is its turn; false: another write wrote it
	pos  cf.Position
	err  error
}

func New() *Queue {
	// The other half of the processors is for callers, which encode batches meanwhile,
	// and for flushes.
	return &Queue{most: max(1, runtime.GOMAXPROCS(0)/2)}
}

// maxGroup bounds the bytes of joined writes.
const maxGroup = 1 << 20

var (
	queuedWrites = sync.Pool{New: func() any { return &queuedWrite{turn: make(chan bool, 1)} }}
	joinedReps   = sync.Pool{New: func() any { return new([]byte) }}
)

// Write writes a batch, in RocksDB's representation, by itself or joined with others. The end
// of the context ends the wait for other writes; Write still waits for a batch that the
// engine already took.
func (q *Queue) Write(ctx context.Context, rep []byte, put func(rep []byte) (cf.Position, error)) (cf.Position, error) {
	return q.write(ctx, rep, put, false)
}

// WriteAlone is Write for a batch that put itself holds; it is never joined with others.
func (q *Queue) WriteAlone(ctx context.Context, put func() (cf.Position, error)) (cf.Position, error) {
	return q.write(ctx, nil, func([]byte) (cf.Position, error) { return put() }, true)
}

func (q *Queue) write(ctx context.Context, rep []byte, put func(rep []byte) (cf.Position, error), only bool) (cf.Position, error) {
	w := queuedWrites.Get().(*queuedWrite)
	defer queuedWrites.Put(w)
	w.rep, w.only = rep, only
	first := q.enter(w)
	if !first {
		select {
		case first = <-w.turn:
		case <-ctx.Done():
			if q.leave(w) {
				return 0, fmt.Errorf("nothing was written; waiting for the writes before it: %w", ctx.Err())
			}
			first = <-w.turn
		}
	}
	if first {
		q.lead(w, put)
	}
	return w.pos, w.err
}

// enter reports whether it is a write's turn now. Otherwise the write is in the queue.
func (q *Queue) enter(w *queuedWrite) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.inside < q.most {
		q.inside++
		return true
	}
	q.waiting = append(q.waiting, w)
	return false
}

// leave removes a write from the queue. It returns false if the write is no longer in
// the queue.
func (q *Queue) leave(w *queuedWrite) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.waiting, w)
	if i < 0 {
		return false
	}
	q.waiting = slices.Delete(q.waiting, i, i+1)
	return true
}

// lead writes the batch of the first write together with the batches that wait after
// it.
func (q *Queue) lead(first *queuedWrite, put func(rep []byte) (cf.Position, error)) {
	defer q.next()
	if first.only {
		first.pos, first.err = put(nil)
		return
	}
	q.gather()
	group := q.take(len(first.rep))
	rep := first.rep
	if len(group) > 0 {
		joined := joinedReps.Get().(*[]byte)
		defer joinedReps.Put(joined)
		*joined = append((*joined)[:0], rep...)
		for _, w := range group {
			*joined = joinRep(*joined, w.rep)
		}
		rep = *joined
	}
	first.pos, first.err = put(rep)
	for _, w := range group {
		w.pos, w.err = first.pos, first.err
		w.turn <- false
	}
}

// gather lets other goroutines run before a group is taken, as long as that brings writes.
// The callers of the last group have just been told, and may write again: without that they
// would come too late, and two groups of half the size would take turns, with a sync each.
func (q *Queue) gather() {
	before := -1
	for range 10 {
		q.mu.Lock()
		now, joined := len(q.waiting), q.joined
		q.mu.Unlock()
		if !joined || now == before {
			return
		}
		before = now
		runtime.Gosched()
	}
}

// take removes writes from the queue, up to maxGroup bytes together with the given
// number of bytes.
func (q *Queue) take(bytes int) []*queuedWrite {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := 0
	for n < len(q.waiting) && !q.waiting[n].only && bytes+len(q.waiting[n].rep) <= maxGroup {
		bytes += len(q.waiting[n].rep)
		n++
	}
	group := append([]*queuedWrite(nil), q.waiting[:n]...)
	q.joined = n > 0
	q.drop(n)
	return group
}

// next ends a write in the engine and gives the turn to the first waiting write.
func (q *Queue) next() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		q.inside--
		return
	}
	q.waiting[0].turn <- true
	q.drop(1)
}

func (q *Queue) drop(n int) {
	rest := copy(q.waiting, q.waiting[n:])
	clear(q.waiting[rest:])
	q.waiting = q.waiting[:rest]
}

// joinRep appends the records of the batch rep to the batch dst.
func joinRep(dst, rep []byte) []byte {
	binary.LittleEndian.PutUint32(dst[8:], repCount(dst)+repCount(rep))
	return append(dst, rep[wal.RepHeader:]...)
}

// repCount is the number of records of a batch.
func repCount(rep []byte) uint32 { return binary.LittleEndian.Uint32(rep[8:]) }
