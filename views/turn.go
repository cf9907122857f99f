package views

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/internal/lock"
	"github.com/smolwc/smolwc/query"
)

// A keeper keeps the materialized views of one table. One goroutine at a time holds the
// turn.
type keeper struct {
	*registry
	table string // the source table's name in the database
	turn  lock.RW

	// The rest belongs to the goroutine that holds the turn.
	version  uint64           // of the schema for which the live views were looked up
	live     map[string]*live // by the full names of the views
	queue    []string         // keys of rows to compute
	queues   int              // how many queues were given up
	computed int64            // how many keys have left the queue
	atOnce   time.Duration    // from which a transaction takes no more rows
	lost     int              // rows for which a query failed, since the last log

	behind atomic.Int64 // since when there are rows to compute, in microseconds; 0: no row is waiting
}

// The bounds of a keeper's work.
const (
	rowsAtOnce = 128     // rows of a table in one transaction
	mostQueued = 1 << 16 // keys in the queue from which it takes no more
	turnBudget = 100 * time.Millisecond
)

// errChanged says that the schema changed since the live views were looked up.
var errChanged = errors.New("the schema has changed")

// current reports whether this turn knows the views of a version of the schema.
func (k *keeper) current() bool {
	now := k.db.Plumbing().SchemaVersion()
	return k.version == now && k.known.Load().version == now
}

// lookUp reads the definitions of the views again, and reopens the live ones.
//
// The process that creates a view first saves its definition, then creates its tables, which
// changes the schema, and only then reads the source. A schema bundle is saved before the marks of
// the table end. So as long as the version is the same, every view that began to read is known
// here.
func (k *keeper) lookUp(ctx context.Context) error {
	version := k.db.Plumbing().SchemaVersion()
	for _, l := range k.live {
		l.query, l.ready = nil, false
	}
	if err := k.Reload(ctx); err != nil {
		return err
	}
	k.version = version
	return nil
}

// update is a transaction that changes views. It commits only if all views of the table
// are known that need what it does.
func (k *keeper) update(ctx context.Context, fn func(*query.Tx) error) error {
	return k.db.Update(ctx, func(tx *query.Tx) error {
		if err := fn(tx); err != nil {
			return err
		}
		if k.db.Plumbing().SchemaVersion() != k.version { // of the transaction's snapshot, or a later one
			return errChanged
		}
		return nil
	})
}

// forget empties the queue; all that was in it is read again.
func (k *keeper) forget() {
	k.queues++
	k.queue = nil
	k.db.Plumbing().ForgetMarked(k.table)
	for _, l := range k.live {
		l.dueFrom = 0
	}
}

// lose logs rows for which the query of a view fails: they are not in the view.
func (k *keeper) lose(rows int) {
	if rows > 0 && k.lost == 0 {
		k.logger.Load().Warn("a materialized view leaves out rows for which its query fails", "table", k.table, "rows", rows)
	}
	k.lost += rows
}

// lag is how long ago the first row was written that the views do not have yet.
func (k *keeper) lag(now cells.Timestamp) time.Duration {
	since := k.behind.Load()
	if since == 0 {
		return 0
	}
	return max(now.Time().Sub(cells.Timestamp(since).Time()), 0)
}
