package query

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/smolwc/smolwc/query/internal/catalog"
	"github.com/smolwc/smolwc/query/internal/edit"
	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/query/write"
)

// deferred are the mutations of batches that wait for another write: see
// [write.Batch.Defer].
type deferred struct {
	some    atomic.Bool // there are entries
	mu      sync.Mutex
	entries []write.Entry
	bytes   int
}

const (
	// mostDeferred is how many bytes wait. More are written by themselves.
	mostDeferred = 1 << 20
	// mostRiding is how many bytes go with one write.
	mostRiding = 64 << 10
)

// add adds mutations, and reports whether too much waits.
func (d *deferred) add(entries []write.Entry) (full bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range entries {
		d.entries = append(d.entries, e)
		d.bytes += sizeOf(&e)
	}
	d.some.Store(len(d.entries) > 0)
	return d.bytes > mostDeferred
}

// take removes the first mutations, of up to mostRiding bytes.
func (d *deferred) take() (taken []write.Entry) {
	if !d.some.Load() {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	n, bytes := 0, 0
	for n < len(d.entries) && bytes+sizeOf(&d.entries[n]) <= mostRiding {
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

// sizeOf is about how many bytes a mutation takes.
func sizeOf(e *write.Entry) int {
	n := len(e.Table) + len(e.Key)
	for _, c := range e.Mutation.Changes() {
		n += len(c.Family) + len(c.Qualifier) + c.Value.Len() + 32
	}
	return n
}

// applyLater checks the mutations of a deferred batch and lets them wait.
func (db *DB) applyLater(ctx context.Context, entries []write.Entry) error {
	err := db.writing(ctx, func(c *catalog.Catalog) error {
		for _, e := range entries {
			w, err := edit.Check(c, e)
			if err != nil {
				return err
			}
			if size := sizeOf(&e); size > mostRiding {
				return fault.Errorf(fault.InvalidArgument, "a deferred mutation of %d bytes is too large; it may have up to %d", size, mostRiding)
			}
			if !mayWait(&w) {
				return fault.Errorf(fault.InvalidArgument, "a deferred batch sets cells at given timestamps, in tables without a change stream; this one does more in table %s", e.Table)
			}
		}
		return nil
	})
	if err == nil && db.deferred.add(entries) {
		err = db.applyDeferred(ctx)
	}
	return err
}

// mayWait reports whether a mutation has the same effect later.
func mayWait(w *edit.RowWrite) bool {
	for _, c := range w.Changes {
		if c.Kind != write.SetChange || c.ServerTime {
			return false
		}
	}
	return !w.Logged()
}

// deferredClose is how long a Close waits for the write of what waits.
const deferredClose = 5 * time.Second

// endDeferred writes what waits when the database is closed.
func (db *DB) endDeferred() {
	ctx, cancel := context.WithTimeout(context.Background(), deferredClose)
	defer cancel()
	if err := db.applyDeferred(ctx); err != nil {
		db.state.Logger.Warn("deferred writes are lost", "error", err)
	}
}

// applyDeferred writes what waits.
func (db *DB) applyDeferred(ctx context.Context) error {
	for {
		riding := db.deferred.take()
		if len(riding) == 0 {
			return nil
		}
		err := db.writing(ctx, func(c *catalog.Catalog) error {
			all := newCommit(db)
			defer all.release()
			all.ride(c, riding)
			return all.do(ctx)
		})
		if err != nil {
			return err
		}
	}
}

// ride adds mutations that have waited. Those of tables and families that are gone
// meanwhile are left out.
func (c *commit) ride(under *catalog.Catalog, waiting []write.Entry) {
	for _, e := range waiting {
		if w, err := edit.Check(under, e); err == nil && mayWait(&w) {
			c.writes = append(c.writes, w)
			c.riders++
		}
	}
}
