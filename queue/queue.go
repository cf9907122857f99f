// Package queue implements durable queues beside the data, in one database: an item is
// enqueued in the transaction that writes the rows which it is about, so there is
// neither an item without its rows nor rows without their item.
//
// A queue consists of zones, one for each tenant for instance. Workers serve the zones
// in turn: a zone with a million items does not hold up a zone with one. The design
// follows QuiCK (Apple, SIGMOD 2021): a queue of items in each zone, and above them one
// queue of pointers to the zones that have items.
//
// An item becomes visible at its vesting time. A worker takes it with a lease, which
// hides it until the lease expires; the worker completes the item, or returns it with a
// delay. If the worker dies, the item is visible again when the lease expires. So an
// item runs at least once. Effects that are in the transaction of [Job.Complete] happen
// exactly once.
//
// Methods that take a [query.Tx] act in the caller's transaction and take effect with
// it. A Queue is safe for concurrent use. Errors are of type [*query.Error]; the error
// variables of this package tell more cases apart than their kinds.
package queue

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/rowmap"
)

// The defaults of [Options].
const (
	DefaultTable  = "queues"
	DefaultFamily = "q"
)

// Options say where a queue is. The zero Options are valid.
type Options struct {
	// Table is the table of the queue; "" is [DefaultTable]. It must exist.
	Table string
	// Family is the family of Table with the queue; "" is [DefaultFamily]. Its type is
	// bytes or undeclared, without a rule.
	Family string
	// Prefix begins all row keys of the queue. Queues of one table need prefixes such
	// that no prefix begins with another, for instance prefixes of directories. It is
	// at most [MaxPrefix] bytes long.
	Prefix string
}

// A Queue is a queue of a database.
type Queue struct {
	db    *query.DB
	at    rowmap.Map
	keys  keys
	clock *clock

	wake    signals // tells workers of this process of visible items in a zone
	running running // jobs of workers of this process
	taken   taken
	scans   atomic.Int64 // for pointers that are due
	start   atomic.Int64 // a time before which no pointer is due

	counters counters
}

// New is the queue that the options name. Nothing is read or written.
func New(db *query.DB, o Options) *Queue {
	q := &Queue{
		db:       db,
		at:       rowmap.Map{Table: cmp.Or(o.Table, DefaultTable), Family: cmp.Or(o.Family, DefaultFamily)},
		keys:     keys(o.Prefix),
		clock:    newClock(db),
		counters: newCounters(),
		taken:    taken{after: tidyAfter},
	}
	return q
}

// Limits of names and payloads. The longest row key of a queue contains two names, and
// each byte of a name can take two.
const (
	MaxName    = 512     // bytes of the name of a zone, a type, a key or a schedule
	MaxPayload = 1 << 20 // bytes of a payload or a result
	MaxPrefix  = 1024    // bytes of [Options.Prefix]
)

// A work is one call's view of the queue, in its transaction.
type work struct {
	rowmap.View
	q   *Queue
	now int64 // microseconds since 1970

	zones   map[string]*zone // read in this call
	touched string           // the zone whose pointer this call wrote
	loose   bool             // the commit does not depend on what the call reads
}

// Get is the value of a key. The commit depends on it unless the call is loose.
func (w *work) Get(key string) (value string, found bool, err error) {
	if w.loose {
		return w.Peek(key)
	}
	return w.View.Get(key)
}

func (q *Queue) work(ctx context.Context, tx *query.Tx) (*work, error) {
	if q == nil || q.db == nil {
		return nil, errNil
	}
	if ctx == nil {
		return nil, rowmap.Fault(query.KindInvalidArgument, "the context is nil")
	}
	if len(q.keys) > MaxPrefix {
		return nil, rowmap.Fault(query.KindInvalidArgument, "the prefix has %d bytes; the limit is %d", len(q.keys), MaxPrefix)
	}
	w := &work{View: rowmap.View{Map: q.at, Ctx: ctx, Tx: tx}, q: q}
	if !q.clock.hasLearned() {
		if err := w.learnTime(); err != nil {
			return nil, err
		}
	}
	w.now = q.clock.now()
	return w, nil
}

// update runs fn in a transaction of its own.
func (q *Queue) update(ctx context.Context, fn func(tx *query.Tx) error) error {
	if q == nil || q.db == nil {
		return errNil
	}
	return q.db.Update(ctx, fn)
}

func checkName(what, name string) error {
	switch {
	case name == "":
		return rowmap.Fault(query.KindInvalidArgument, "the %s is empty", what)
	case len(name) > MaxName:
		return rowmap.Fault(query.KindInvalidArgument, "the %s has %d bytes; the limit is %d", what, len(name), MaxName)
	case !utf8.ValidString(name):
		return rowmap.Fault(query.KindInvalidArgument, "the %s is not UTF-8", what)
	}
	return nil
}

// taken counts the items that were taken from each zone, as a hint: after a number of
// them the zone's bounds are moved past the deleted rows.
type taken struct {
	after int // how many go before the bounds are moved

	mu sync.Mutex
	by map[string]int
}

// Every this many rows that went, the bounds behind which they were are moved.
const tidyAfter = 128

// most is the number of zones for which taken counts.
const most = 10_000

func (t *taken) add(name string, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.by == nil || len(t.by) > most {
		t.by = map[string]int{}
	}
	t.by[name] += n
}

// due reports whether the bounds of a zone are to be moved now.
func (t *taken) due(name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.by[name] < t.after {
		return false
	}
	delete(t.by, name)
	return true
}

func (q *Queue) String() string {
	return fmt.Sprintf("queue in %s:%s", q.at.Table, q.at.Family)
}
