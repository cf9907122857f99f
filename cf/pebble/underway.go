package pebble

import (
	"context"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/smolwc/smolwc/cf"
)

// Pebble shows a write before it is in the log. A reader that saw such a write, and a kill
// that takes it away, would make an impossible history. So a read waits for all writes
// under way when it saw the store; a read of single rows waits only for writes to rows that
// share a bit with them.
type underway struct {
	n      atomic.Int64
	mu     sync.Mutex
	writes map[*flight]struct{}
}

// A flight is a write under way.
type flight struct {
	rows uint64        // a bit for each row
	done chan struct{} // closed at its end; nil while nobody waits
}

const allRows = ^uint64(0)

var rowSeed = maphash.MakeSeed()

func rowBit(row string) uint64 { return 1 << (maphash.String(rowSeed, row) % 64) }

// bitsOf are the bits of rows.
func bitsOf(rows []cf.RowID) (bits uint64) {
	if len(rows) == 0 || len(rows) > 64 {
		return allRows
	}
	for _, r := range rows {
		bits |= rowBit(r.Row)
	}
	return bits
}

// bitsIn are the bits of the rows in ranges.
func bitsIn(ranges []cf.Range) (bits uint64) {
	if len(ranges) > 64 {
		return allRows
	}
	for _, r := range ranges {
		row, ok := r.Single()
		if !ok {
			return allRows
		}
		bits |= rowBit(row)
	}
	return bits
}

// begin notes a write, whose end is called when it is in the log.
func (u *underway) begin(rows uint64) *flight {
	f := &flight{rows: rows}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.writes == nil {
		u.writes = map[*flight]struct{}{}
	}
	u.writes[f] = struct{}{}
	u.n.Add(1)
	return f
}

func (u *underway) end(f *flight) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.writes, f)
	u.n.Add(-1)
	if f.done != nil {
		close(f.done)
	}
}

// wait waits for the writes of some rows that are under way now, but not for a disk that
// takes no writes or does not answer: then reads go on.
func (u *underway) wait(ctx context.Context, rows uint64, fs *system) error {
	if u.n.Load() == 0 {
		return nil
	}
	var waits []chan struct{}
	u.mu.Lock()
	for f := range u.writes {
		if f.rows&rows != 0 {
			if f.done == nil {
				f.done = make(chan struct{})
			}
			waits = append(waits, f.done)
		}
	}
	u.mu.Unlock()
	if len(waits) == 0 {
		return nil
	}
	trouble, late := fs.trouble(), time.NewTimer(patience)
	defer late.Stop()
	for _, done := range waits {
		select {
		case <-done:
		case <-fs.lost: // the next call says so
			return nil
		case <-trouble:
			return nil
		case <-late.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
