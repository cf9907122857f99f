package isolation

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/smolwc/smolwc/cf"
)

// A Log holds the rows that commits changed while transactions are open. A transaction
// asks it at its commit whether anything that it read has changed since it began. While
// no transaction is open the log is empty.
//
// A writer first commits to the engine and then adds to the log, and holds the locks of
// its rows for both. A transaction first counts itself as open and then takes its
// snapshot. So a commit that a snapshot misses is in the log, at or after the place
// where the transaction began.
type Log struct {
	open atomic.Int64 // transactions; read without mu by writers

	mu      sync.Mutex
	first   uint64 // position of commits[0]
	commits []commit
	starts  map[uint64]int // positions at which open transactions began
}

// A commit is what one commit changed.
type commit struct {
	rows     []cf.RowID
	families []string // in which a range of rows, of any space, was changed too
	rowRange cf.Range
}

// Begin counts a transaction as open and returns the position of the next commit.
func (l *Log) Begin() uint64 {
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

// End forgets a transaction that began at start, and the commits that only it needed.
func (l *Log) End(start uint64) {
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

func (l *Log) add(c commit) {
	if l.open.Load() == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.commits = append(l.commits, c)
}

// AddRows notes a commit of these rows. The caller may reuse the slice.
func (l *Log) AddRows(rows []cf.RowID) {
	if l.open.Load() == 0 || len(rows) == 0 {
		return
	}
	l.add(commit{rows: append([]cf.RowID(nil), rows...)})
}

// AddRange notes a commit that changed a range of rows in families.
func (l *Log) AddRange(families []string, rows cf.Range) {
	l.add(commit{families: families, rowRange: rows})
}

// Changed reports whether a commit since start changed something of a read set.
func (l *Log) Changed(start uint64, r *ReadSet) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := start - l.first; i < uint64(len(l.commits)); i++ {
		if r.touchedBy(&l.commits[i]) {
			return true
		}
	}
	return false
}

// A ReadSet is the rows and ranges of rows that a transaction has read, and the
// families in which it has read or written.
type ReadSet struct {
	Rows     map[cf.RowID]struct{}
	Ranges   map[string][]cf.Range // by space
	families map[string]struct{}
}

func (r *ReadSet) AddFamily(name string) {
	if r.families == nil {
		r.families = map[string]struct{}{}
	}
	r.families[name] = struct{}{}
}

func (r *ReadSet) Add(space string, rows cf.Range) {
	if r.Rows == nil {
		r.Rows, r.Ranges = map[cf.RowID]struct{}{}, map[string][]cf.Range{}
	}
	if key, ok := rows.Single(); ok {
		r.Rows[cf.RowID{Space: space, Row: key}] = struct{}{}
		return
	}
	r.Ranges[space] = append(r.Ranges[space], rows)
}

func (r *ReadSet) touchedBy(c *commit) bool {
	for _, id := range c.rows {
		if _, ok := r.Rows[id]; ok {
			return true
		}
		for _, in := range r.Ranges[id.Space] {
			if in.Contains(id.Row) {
				return true
			}
		}
	}
	in := func(family string) bool { _, ok := r.families[family]; return ok }
	return slices.ContainsFunc(c.families, in) && r.overlaps(c.rowRange)
}

func (r *ReadSet) overlaps(rows cf.Range) bool {
	for id := range r.Rows {
		if rows.Contains(id.Row) {
			return true
		}
	}
	for _, ranges := range r.Ranges {
		for _, in := range ranges {
			if (rows.End == "" || in.Start < rows.End) && (in.End == "" || rows.Start < in.End) {
				return true
			}
		}
	}
	return false
}
