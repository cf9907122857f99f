// Package heat samples which rows of a server's tables are read and written, and keeps the
// samples of ten minutes each for two weeks, in bounded memory.
//
// Reads and writes of a table are two series. A series divides its accesses into windows
// of equal length and takes one access of each window, at random, so that no order of
// accesses can hide a row. When there are many samples it drops one of each pair and
// doubles the windows. Between two samples an access costs one addition.
package heat

import (
	"context"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Slot is the time whose samples are kept together. Slots begin at multiples of it.
const Slot = 10 * time.Minute

// Kept is how long samples are kept, unless there are too many: see maxKept.
const Kept = 14 * 24 * time.Hour

// The bounds of memory. Beyond maxLive every series drops half of its samples; beyond
// maxKept the oldest slot of all tables goes.
const (
	mostSamples = 2048     // of a series in the slot that is not over
	mostBytes   = 1 << 20  // of them
	mostPoints  = 128      // of a series in a slot that is over
	maxLive     = 16 << 20 // bytes of samples of all series
	maxKept     = 16 << 20 // bytes of points of all series
	sampleBytes = 32       // that a sample takes besides its key
	slotBytes   = 96       // that a slot takes besides its keys
)

// Options replace the clock and the random numbers, for tests.
type Options struct {
	Clock func() time.Time     // nil: the clock of the machine
	CPU   func() time.Duration // processor time used by the process; nil: as the system counts it
	Seed  uint64               // of the random choices
}

// A Heat is the samples of all tables. Nil is one without samples. It is safe for
// concurrent use.
type Heat struct {
	clock  func() time.Time
	cpu    func() time.Duration
	tables sync.Map // of *Table, by names in the database

	mu     sync.Mutex // guards the fields below, and all series except their counts
	random *rand.Rand
	slot   int64 // the one that is not over
	began  time.Time
	usedAt time.Duration     // of the processors, when the slot began
	busy   map[int64]float64 // the part of all processors that slots used, from 0 to 1
	live   int               // bytes of samples
	kept   int               // bytes of points
}

// New makes a heat without samples.
func New(o Options) *Heat {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.CPU == nil {
		o.CPU = processTime
	}
	h := &Heat{clock: o.Clock, cpu: o.CPU, random: rand.New(rand.NewPCG(o.Seed, o.Seed)), busy: map[int64]float64{}}
	h.began = h.clock()
	h.slot, h.usedAt = slotOf(h.began), h.cpu()
	return h
}

func slotOf(t time.Time) int64 { return t.UnixNano() / int64(Slot) }

func startOf(slot int64) time.Time { return time.Unix(0, slot*int64(Slot)).UTC() }

// Run ends slots on time until the context ends. Without it a slot ends with the next
// sample or question.
func (h *Heat) Run(ctx context.Context) {
	for h != nil {
		now := h.clock()
		next := time.NewTimer(startOf(slotOf(now) + 1).Sub(now))
		select {
		case <-ctx.Done():
			next.Stop()
			return
		case <-next.C:
		}
		h.mu.Lock()
		h.turn(h.clock())
		h.mu.Unlock()
	}
}

// A Table is the samples of a table. Nil takes no samples.
type Table struct {
	heat          *Heat
	reads, writes series
}

// Table is the samples of the table of a name, which exists.
func (h *Heat) Table(name string) *Table {
	if h == nil {
		return nil
	}
	if known, ok := h.tables.Load(name); ok {
		return known.(*Table)
	}
	made := &Table{heat: h}
	made.reads.restart()
	made.writes.restart()
	known, _ := h.tables.LoadOrStore(strings.Clone(name), made)
	return known.(*Table)
}

// Forget drops the samples of a table.
func (h *Heat) Forget(name string) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.forget(name)
}

// ForgetAll drops the samples of all tables.
func (h *Heat) ForgetAll() {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tables.Range(func(name, _ any) bool {
		h.forget(name)
		return true
	})
}

// forget drops the samples of a table; h.mu is held.
func (h *Heat) forget(name any) {
	gone, ok := h.tables.LoadAndDelete(name)
	if !ok {
		return
	}
	for _, s := range gone.(*Table).series() {
		h.live -= s.bytes
		for i := range s.past {
			h.kept -= s.past[i].size()
		}
		s.past, s.keys, s.bytes = nil, nil, 0
		s.next.Store(never) // a call may still use it
	}
}

func (t *Table) series() [2]*series { return [2]*series{&t.reads, &t.writes} }

// Read counts a read of a row.
func (t *Table) Read(key string) {
	if t != nil {
		t.heat.count(&t.reads, key)
	}
}

// Write counts a write of a row.
func (t *Table) Write(key string) {
	if t != nil {
		t.heat.count(&t.writes, key)
	}
}

func (h *Heat) count(s *series, key string) {
	if n := s.seen.Add(1); n >= s.next.Load() {
		h.sample(s, key)
	}
}

// A series is the reads or the writes of a table.
type series struct {
	seen atomic.Uint64 // accesses
	next atomic.Uint64 // the number of the access that becomes a sample

	base   uint64   // accesses before the slot
	stride uint64   // accesses of a window
	keys   []string // the samples of the slot, in the order of their windows
	bytes  int
	past   []points // of the slots that are over, the oldest first
}

// never is the number of an access that does not come.
const never = 1 << 63

func (s *series) restart() {
	s.base, s.stride, s.keys, s.bytes = s.seen.Load(), 1, nil, 0
	s.next.Store(s.base + 1)
}

// sample takes the access that was counted last.
func (h *Heat) sample(s *series, key string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if now := h.clock(); slotOf(now) > h.slot {
		s.seen.Add(^uint64(0)) // it belongs to the new slot
		h.turn(now)
		s.seen.Add(1)
	}
	n := s.seen.Load()
	if n < s.next.Load() || s.next.Load() == never { // another access of the window came first
		return
	}
	size := sampleBytes + len(key)
	if h.live+size > maxLive {
		h.each(func(s *series) { h.thin(s) })
	}
	s.keys = append(s.keys, strings.Clone(key))
	s.bytes += size
	h.live += size
	if len(s.keys) == mostSamples || s.bytes > mostBytes {
		h.thin(s)
	}
	window := (n - 1 - s.base) / s.stride
	s.next.Store(s.base + (window+1)*s.stride + 1 + h.random.Uint64N(s.stride))
}

func (h *Heat) each(f func(*series)) {
	h.tables.Range(func(_, t any) bool {
		for _, s := range t.(*Table).series() {
			f(s)
		}
		return true
	})
}

// thin keeps one of each pair of samples, and makes windows twice as long.
func (h *Heat) thin(s *series) {
	if len(s.keys) == 0 {
		return
	}
	h.live -= s.bytes
	kept := s.keys[:0]
	s.bytes = 0
	for i := 0; i < len(s.keys); i += 2 {
		if j := i + int(h.random.Uint64N(2)); j < len(s.keys) {
			kept = append(kept, s.keys[j])
			s.bytes += sampleBytes + len(s.keys[j])
		}
	}
	clear(s.keys[len(kept):])
	s.keys = kept
	s.stride *= 2
	h.live += s.bytes
}

// turn ends the slot if a time is after it; h.mu is held.
func (h *Heat) turn(now time.Time) {
	slot := slotOf(now)
	if slot <= h.slot { // a clock that was set back waits
		return
	}
	h.busy[h.slot] = h.used(now)
	h.each(func(s *series) {
		if p := s.packed(h.slot); p.total > 0 {
			s.past = append(s.past, p)
			h.kept += p.size()
		}
		h.live -= s.bytes
		if s.next.Load() != never {
			s.restart()
		}
	})
	h.slot, h.began, h.usedAt = slot, now, h.cpu()
	h.expire(slot - int64(Kept/Slot))
	for h.kept > maxKept {
		h.expire(h.oldest() + 1)
	}
}

// used returns the fraction of all processors used in the slot until now.
func (h *Heat) used(now time.Time) float64 {
	all := float64(now.Sub(h.began)) * float64(runtime.GOMAXPROCS(0))
	if all <= 0 {
		return 0
	}
	return min(1, max(0, float64(h.cpu()-h.usedAt)/all))
}

// oldest returns the oldest slot with points.
func (h *Heat) oldest() int64 {
	slot := h.slot
	h.each(func(s *series) {
		if len(s.past) > 0 {
			slot = min(slot, s.past[0].slot)
		}
	})
	return slot
}

// expire drops the slots before a slot.
func (h *Heat) expire(before int64) {
	h.each(func(s *series) {
		for len(s.past) > 0 && s.past[0].slot < before {
			h.kept -= s.past[0].size()
			s.past[0] = points{}
			s.past = s.past[1:]
		}
	})
	for slot := range h.busy {
		if slot < before {
			delete(h.busy, slot)
		}
	}
}
