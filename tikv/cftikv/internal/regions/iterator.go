// Package regions reads the sorted keys of TiKV at a timestamp, region by region.
package regions

import (
	"bytes"
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/ordered"
	"github.com/tikv/client-go/v2/kv"
	"github.com/tikv/client-go/v2/tikv"
)

// sizes is numbers of keys.
type sizes struct {
	first, most int // in a batch, which is one request: a read of a few keys costs little
	ahead       int // to be passed, one after the other, before anything is read ahead
}

var defaultSizes = sizes{first: 16, most: 4096, ahead: 200}

const growth = 4

// Latest as a timestamp stands for the newest versions of the keys. It takes no request to
// PD. TiKV gives one request what its region holds at that moment, without the keys of
// transactions that have not committed; several requests are of several moments.
const Latest = math.MaxUint64

// ErrMore: an iterator of one batch needs another one.
var ErrMore = errors.New("there is more than one batch")

// Options says what an [Iterator] reads, and how. The iterator keeps the slices.
type Options struct {
	// At is the timestamp of the snapshot.
	At uint64
	// Prefix begins each raw key in the bounds, and is not empty. The iterator strips it
	// from the keys that it returns, and adds it to the keys that it is given.
	Prefix []byte
	// Start, inclusive, and End, exclusive, are bounds of raw keys. Nil means the first
	// key with Prefix, and the end of these keys.
	Start, End []byte
	// Past is a transaction whose locks do not count, 0 for none: it sees the keys as
	// they were before it.
	Past uint64
	// KeysOnly reads no values; Value gives nil.
	KeysOnly bool
	// NoFillCache asks TiKV to keep the blocks that it reads out of its cache.
	NoFillCache bool
	// Ahead is the number of regions that a forward scan reads at the same time, once it
	// passed 200 keys or 2 MiB. Zero means 4; a negative number means that nothing is read
	// ahead. The iterator holds up to two batches for each region, usually of up to 2 MiB.
	Ahead int
	// First is the number of keys in the first batch. Zero means 16.
	First int
	// Once allows one batch: a move that needs another one, or meets a lock, fails with
	// [ErrMore]. The batch is what one region holds at one moment, also if At is [Latest].
	Once bool
	// Patience is the time that one request may wait between attempts, in all, while
	// TiKV or PD does not answer. Zero means 20 s. If TiKV answers that it is busy, only
	// the context or ten minutes end the request.
	Patience time.Duration
}

// An Iterator is a [ordered.Iterator] over the keys of TiKV at a timestamp. It reads
// batches: a move within the batch at hand costs no request. The batches grow while the
// caller uses them. A failed iterator can seek again.
//
// Errors are the context's, as they are, [cf.ErrUnavailable], [cf.ErrCorrupt], [ErrTooOld]
// or [cf.ErrClosed].
type Iterator struct {
	source  *source
	page    page
	at      int // in the page; len(page.pairs) is no key
	visited int // keys of the page that the caller saw
	keys    int // the size of the last batch
	run     int // keys passed since the last jump
	target  []byte
	err     error
	closed  bool
	fetched bool // a batch

	lanes   int
	ahead   *ahead         // its pages follow the page at hand; nil while nothing is read ahead
	running sync.WaitGroup // the goroutines that read ahead
}

var _ ordered.Iterator = (*Iterator)(nil)

// New makes an iterator, which is at no key. The caller closes it.
func New(store *tikv.KVStore, o Options) *Iterator {
	if o.Start == nil {
		o.Start = o.Prefix
	}
	if o.End == nil {
		o.End = kv.PrefixNextKey(o.Prefix)
	}
	if o.Ahead == 0 {
		o.Ahead = 4
	}
	it := &Iterator{source: newSource(store, o), lanes: o.Ahead}
	if o.First > 0 {
		it.source.sizes.first = o.First
	}
	return it
}

// Seek goes to the first key at or after a key.
func (it *Iterator) Seek(ctx context.Context, key []byte) bool {
	it.err = nil
	raw := it.raw(key)
	if it.ahead != nil && bytes.Compare(raw, it.page.hi) >= 0 {
		it.turn(ctx) // the key is probably in the batch that was read ahead
		if it.err != nil {
			return false
		}
	}
	if !it.page.covers(raw) {
		it.resize()
		it.readAfter(ctx, bytes.Clone(raw))
		return it.Valid()
	}
	it.show(it.page.search(raw))
	if !it.Valid() {
		it.turn(ctx)
	}
	return it.Valid()
}

// SeekBefore goes to the last key before a key.
func (it *Iterator) SeekBefore(ctx context.Context, key []byte) bool {
	it.err = nil
	raw := it.raw(key)
	if !it.page.reaches(raw) {
		it.resize()
		it.readBefore(ctx, bytes.Clone(raw))
		return it.Valid()
	}
	if i := it.page.search(raw); i > 0 {
		it.show(i - 1)
	} else {
		it.turnBack(ctx)
	}
	return it.Valid()
}

// Next goes to the next key in ascending order. At no key it does nothing.
func (it *Iterator) Next(ctx context.Context) bool {
	if !it.Valid() {
		return false
	}
	if it.show(it.at + 1); !it.Valid() {
		it.turn(ctx)
	}
	return it.Valid()
}

// Valid reports whether the iterator is at a key.
func (it *Iterator) Valid() bool { return it.at < len(it.page.pairs) }

// Key returns the key that the iterator is at, without the prefix. It is valid, and not
// to be changed, until the next call of another method.
func (it *Iterator) Key() []byte { return it.page.pairs[it.at].Key[len(it.source.Prefix):] }

// Value returns the value of the key, as Key does. It is nil if only keys are read.
func (it *Iterator) Value() []byte { return it.page.pairs[it.at].Value }

// Err returns the error of the last move.
func (it *Iterator) Err() error { return it.err }

// Close ends the reading ahead, and waits for it. It can be called twice.
func (it *Iterator) Close() {
	it.closed = true
	it.forget()
	it.running.Wait()
}

func (it *Iterator) show(i int) {
	it.at = i
	it.visited++
}

// raw returns the raw key within the bounds for a key. It is valid until the next call.
func (it *Iterator) raw(key []byte) []byte {
	it.target = append(append(it.target[:0], it.source.Prefix...), key...)
	return it.source.inBounds(it.target)
}

// turn goes to the first key after the page.
func (it *Iterator) turn(ctx context.Context) {
	if bytes.Compare(it.page.hi, it.source.End) >= 0 {
		it.at = len(it.page.pairs)
		return
	}
	it.grow()
	it.run += len(it.page.pairs)
	if it.ahead == nil && it.lanes > 0 && it.source.isLong(it.run) {
		it.ahead = readAhead(ctx, it.source, it.page.hi, it.lanes, &it.running)
	}
	if it.ahead == nil {
		it.readAfter(ctx, it.page.hi)
		return
	}
	it.load(it.source.nonEmpty(it.page.hi, func([]byte) (page, error) { return it.ahead.next(ctx) }))
}

// turnBack goes to the last key before the page.
func (it *Iterator) turnBack(ctx context.Context) {
	if bytes.Compare(it.page.lo, it.source.Start) <= 0 {
		it.at = len(it.page.pairs)
		return
	}
	it.grow()
	it.readBefore(ctx, it.page.lo)
}

func (it *Iterator) readAfter(ctx context.Context, raw []byte) {
	it.stop()
	it.load(it.source.nonEmpty(raw, func(from []byte) (page, error) {
		return it.fetch(ctx, request{from: from, to: it.source.End, keys: it.keys})
	}))
}

func (it *Iterator) readBefore(ctx context.Context, raw []byte) {
	it.stop()
	it.load(it.source.nonEmptyBefore(raw, func(to []byte) (page, error) {
		return it.fetch(ctx, request{from: it.source.Start, to: to, keys: it.keys, reverse: true})
	}))
	if n := len(it.page.pairs); n > 0 {
		it.at = n - 1
	}
}

func (it *Iterator) fetch(ctx context.Context, r request) (page, error) {
	switch {
	case it.closed:
		return page{}, cf.ErrClosed
	case it.source.Once && it.fetched:
		return page{}, ErrMore
	}
	it.fetched = true
	return it.source.fetch(ctx, r)
}

// load makes a page the one at hand.
func (it *Iterator) load(p page, err error) {
	if err != nil {
		it.forget()
		it.err = err
		return
	}
	it.page, it.at, it.visited = p, 0, 1
}

// forget leaves the iterator at no key, with nothing read.
func (it *Iterator) forget() {
	it.stop()
	it.page, it.at, it.visited, it.keys, it.run = page{}, 0, 0, 0, 0
}

// stop ends the reading ahead, and does not wait.
func (it *Iterator) stop() {
	if it.ahead != nil {
		it.ahead.cancel()
		it.ahead = nil
	}
}

func (it *Iterator) grow() {
	it.keys = min(max(it.keys*growth, it.source.sizes.first), it.source.sizes.most)
}

// resize chooses the size of a batch elsewhere: larger if the caller used at least half of
// the batch at hand, smaller if not.
func (it *Iterator) resize() {
	it.run = 0
	if 2*it.visited >= len(it.page.pairs) {
		it.grow()
	} else {
		it.keys = max(it.keys/growth, it.source.sizes.first)
	}
}
