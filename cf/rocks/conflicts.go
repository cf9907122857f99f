//go:build cgo

package rocks

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/smolwc/smolwc/cf"
)

// A commitLog remembers which rows were changed while transactions are open, so
// that a transaction can tell at its commit whether anything that it read has
// changed since it began. While none is open it remembers nothing.
//
// A writer commits to the engine first and adds to the log then, both while it
// holds the locks of its rows. A transaction counts itself as open first and
// takes its snapshot then. So a commit that a snapshot misses is in the log, at
// or after the place where the transaction began.
type commitLog struct {
	open atomic.Int64 // transactions; read without mu by writers

	mu      sync.Mutex
	first   uint64 // position of commits[0]
	commits []commitRecord
	starts  map[uint64]int // positions at which open transactions began
}

// A commitRecord is what one commit changed.
type commitRecord struct {
	rows     []cf.RowID
	families []string // in which a range of rows of any space was changed, too
	rowRange cf.Range
}

// begin counts a transaction as open and returns the position of the next commit.
func (l *commitLog) begin() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open.Add(1)
	if l.starts == nil {
		l.starts = map[uint64]int{}
	}
	at := l.first + uint64(len(l.commits))
	l.starts[at]++
	return at
}

// end forgets a transaction that began at start, and what only it needed.
func (l *commitLog) end(start uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open.Add(-1)
	if l.starts[start]--; l.starts[start] == 0 {
		delete(l.starts, start)
	}
	oldest := l.first + uint64(len(l.commits))
	for at := range l.starts {
		oldest = min(oldest, at)
	}
	drop := oldest - l.first
	clear(l.commits[:drop])
	l.commits = l.commits[drop:]
	l.first = oldest
}

func (l *commitLog) add(c commitRecord) {
	if l.open.Load() == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.commits = append(l.commits, c)
}

// addRows notes a commit of these rows, which may be changed afterwards.
func (l *commitLog) addRows(rows []cf.RowID) {
	if l.open.Load() == 0 || len(rows) == 0 {
		return
	}
	l.add(commitRecord{rows: append([]cf.RowID(nil), rows...)})
}

// addRange notes a commit that changed a range of rows in families.
func (l *commitLog) addRange(families []string, rows cf.Range) {
	l.add(commitRecord{families: families, rowRange: rows})
}

// changed reports whether a commit since start changed something of a read set.
func (l *commitLog) changed(start uint64, r *readSet) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := start - l.first; i < uint64(len(l.commits)); i++ {
		if r.touchedBy(&l.commits[i]) {
			return true
		}
	}
	return false
}

// A readSet is what a transaction has read: rows, and ranges of rows; and the
// families in which it has read or written.
type readSet struct {
	rows     map[cf.RowID]struct{}
	ranges   map[string][]cf.Range // by space
	families map[string]struct{}
}

func (r *readSet) addFamily(name string) {
	if r.families == nil {
		r.families = map[string]struct{}{}
	}
	r.families[name] = struct{}{}
}

func (r *readSet) add(space string, rows cf.Range) {
	if r.rows == nil {
		r.rows, r.ranges = map[cf.RowID]struct{}{}, map[string][]cf.Range{}
	}
	if key, ok := rows.Single(); ok {
		r.rows[cf.RowID{Space: space, Row: key}] = struct{}{}
		return
	}
	r.ranges[space] = append(r.ranges[space], rows)
}

func (r *readSet) touchedBy(c *commitRecord) bool {
	for _, id := range c.rows {
		if _, ok := r.rows[id]; ok {
			return true
		}
		for _, in := range r.ranges[id.Space] {
			if contains(in, id.Row) {
				return true
			}
		}
	}
	in := func(family string) bool { _, ok := r.families[family]; return ok }
	return slices.ContainsFunc(c.families, in) && r.overlaps(c.rowRange)
}

func (r *readSet) overlaps(rows cf.Range) bool {
	for id := range r.rows {
		if contains(rows, id.Row) {
			return true
		}
	}
	for _, ranges := range r.ranges {
		for _, in := range ranges {
			if (rows.End == "" || in.Start < rows.End) && (in.End == "" || rows.Start < in.End) {
				return true
			}
		}
	}
	return false
}

func contains(r cf.Range, row string) bool {
	return row >= r.Start && (r.End == "" || row < r.End)
}
