package edit

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/query/write"
)

// Deferred are the mutations of batches that wait for another write: see
// [write.Batch.Defer]. They are safe for concurrent use.
type Deferred struct {
	some    atomic.Bool // there are entries
	mu      sync.Mutex
	entries []write.Entry
	bytes   int
}

const (
	// mostDeferred is how many bytes wait. More are written by themselves.
	mostDeferred = 1 << 20
	// MostRiding is how many bytes go with one write.
	MostRiding = 64 << 10
)

// Add adds mutations, and reports whether too much waits.
func (d *Deferred) Add(entries []write.Entry) (full bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range entries {
		d.entries = append(d.entries, e)
		d.bytes += sizeOf(&e)
	}
	d.some.Store(len(d.entries) > 0)
	return d.bytes > mostDeferred
}

// Take removes the first mutations, of up to MostRiding bytes.
func (d *Deferred) Take() (taken []write.Entry) {
	if !d.some.Load() {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	n, bytes := 0, 0
	for n < len(d.entries) && bytes+sizeOf(&d.entries[n]) <= MostRiding {
		bytes += sizeOf(&d.entries[n])
		n++
	}
	taken, d.entries = d.entries[:n:n], d.entries[n:]
	d.bytes -= bytes
	if len(d.entries) == 0 {
		d.entries = nil
		d.some.Store(false)
	}
	return taken
}

// Return puts mutations back that Take removed.
func (d *Deferred) Return(taken []write.Entry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.entries = slices.Concat(taken, d.entries)
	for i := range taken {
		d.bytes += sizeOf(&taken[i])
	}
	d.some.Store(len(d.entries) > 0)
}

// sizeOf is about how many bytes a mutation takes.
func sizeOf(e *write.Entry) int { return sizeOfChanges(e.Key, e.Mutation.Changes()) }

// sizeOfChanges is the size of changes of a row, whose key each of them repeats in the
// store.
func sizeOfChanges(key string, changes []write.Change) (n int) {
	for _, c := range changes {
		n += len(key) + len(c.Family) + len(c.Qualifier) + c.Value.Len() + 32
	}
	return n
}

// CheckWait refuses a mutation that cannot wait, because it would not have the same effect
// later, or is too large to go with another write.
func (w *RowWrite) CheckWait() error {
	if size := sizeOfChanges(w.Key, w.Changes); size > MostRiding {
		return fault.Errorf(fault.InvalidArgument, "a deferred mutation of %d bytes is too large; it may have up to %d", size, MostRiding)
	}
	for _, c := range w.Changes {
		if c.Kind != write.SetChange || c.ServerTime {
			return fault.Errorf(fault.InvalidArgument, "a deferred batch only sets cells, at given timestamps")
		}
	}
	if w.Logged() {
		return fault.Errorf(fault.InvalidArgument, "table %s has a change stream, so a change of it cannot be deferred", w.Table.Name)
	}
	return nil
}
