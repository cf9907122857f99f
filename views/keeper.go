package views

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/internal/lock"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/server/internal/catalog"
	"github.com/smolwc/smolwc/sql"
)

// A keeper keeps the materialized views of one table. The open database holds it, so all
// Views of the database share it, and what it has to do outlives each of them. One
// goroutine at a time has its turn.
type keeper struct {
	table string // the source table's name in the database
	turn  lock.RW

	// The rest belongs to the goroutine that has the turn.
	views    *Views           // with which this turn works
	version  uint64           // of the schema for which the live views were looked up
	live     map[string]*live // by the full names of the views
	queue    []string         // keys of rows to compute
	queues   int              // how many queues were given up
	computed int64            // how many keys have left the queue
	atOnce   time.Duration    // from which a transaction takes no more rows
	lost     int              // rows for which a query failed, since the last log

	behind atomic.Int64 // since when there are rows to compute, in microseconds; 0: no row is waiting
}

// A live view is a view whose rows are kept.
type live struct {
	def      *Materialized
	query    *sql.Materialized
	families map[string][]time.Duration // the ages at which cells of a family may be dropped
	ready    bool                       // the whole table has been read
	fault    error                      // why the view has no rows
	dueFrom  cells.Timestamp            // nothing is due before
}

// due is the first time at which retention may drop a cell of a row that was read.
func (l *live) due(row *query.Row) (first cells.Timestamp) {
	if len(l.families) == 0 {
		return 0
	}
	for c := range row.Cells() {
		for _, age := range l.families[c.Family] {
			at := c.Timestamp + cells.Timestamp(age.Microseconds()) + 1
			if at > c.Timestamp && (first == 0 || at < first) {
				first = at
			}
		}
	}
	return first
}

// keepers are the keepers of an open database, for one choice of the instance whose tables
// have plain names. A database holds them under that instance.
type keepers struct {
	mu      sync.Mutex
	byTable map[string]*keeper // by the names that source tables have in the database
}

func keepersOf(c *catalog.Catalog) *keepers {
	return c.DB.Held(c.Own, func() any { return &keepers{byTable: map[string]*keeper{}} }).(*keepers)
}

// keeper is the keeper of a table.
func (v *Views) keeper(table string) *keeper {
	v.keepers.mu.Lock()
	defer v.keepers.mu.Unlock()
	k := v.keepers.byTable[table]
	if k == nil {
		k = &keeper{table: table, turn: lock.NewRW(), live: map[string]*live{}}
		v.keepers.byTable[table] = k
	}
	return k
}

// take waits for the turn, for work with the definitions of v. It ends with k.turn.Unlock.
func (k *keeper) take(ctx context.Context, v *Views) error {
	err := k.turn.Lock(ctx)
	if err == nil {
		k.views = v
	}
	return err
}

// The bounds of a keeper's work.
const (
	rowsAtOnce = 128     // rows of a table in one transaction
	mostQueued = 1 << 16 // keys in the queue from which it takes no more
	turnBudget = 100 * time.Millisecond
)

// A goal is what a reader waits for: all rows that were marked before it came.
type goal struct {
	view  string // the full name of the view that is read; "" without a reader
	known bool   // they are all in the queue
	until int64  // how many rows are computed then
	queue int    // the number of the queue
}

// catchUp works for a reader until its goal is reached. It gives up its turn now and then.
func (k *keeper) catchUp(ctx context.Context, v *Views, view string) error {
	g := goal{view: view}
	for {
		if done, err := k.takeTurn(ctx, v, turnBudget, &g); done || err != nil {
			return err
		}
	}
}

// takeTurn works towards a goal for a time, and reports whether it is reached.
func (k *keeper) takeTurn(ctx context.Context, v *Views, budget time.Duration, g *goal) (done bool, err error) {
	if err := k.take(ctx, v); err != nil {
		return false, err
	}
	defer k.turn.Unlock()
	k.atOnce = budget
	began := time.Now()
	spent := func() bool { return time.Since(began) >= budget }
	for lost := false; ; {
		err = k.work(ctx, g, spent)
		gone := query.KindOf(err) == query.KindNotFound || errors.Is(err, errOther) // a table was dropped, or made anew by another process
		if !errors.Is(err, errChanged) && (lost || !gone) {
			done = k.reached(g)
			if err == nil && done && g.view != "" {
				err = k.fault(g.view)
			}
			return done, err
		}
		lost = lost || gone
		if err := k.lookUp(ctx); err != nil {
			return false, err
		}
	}
}

// fault is why a view has no rows.
func (k *keeper) fault(view string) error {
	if l := k.live[view]; l != nil {
		return l.fault
	}
	return NotFound(view)
}

// errChanged says that the schema has changed since the live views were looked up.
var errChanged = errors.New("the schema has changed")

// current reports whether this turn knows the views of a version of the schema.
func (k *keeper) current() bool {
	now := k.views.DB.SchemaVersion()
	return k.version == now && k.views.ReadAt() == now && k.views.known.Load().version == now
}

// lookUp reads the definitions of the views again, and has the live ones opened again.
//
// The process that creates a view first saves its definition, then creates its tables, which
// changes the schema, and only then reads the source. A schema bundle is saved before the marks of
// the table end. So as long as the version is the same, no view that has begun to read is
// unknown here.
func (k *keeper) lookUp(ctx context.Context) error {
	version := k.views.DB.SchemaVersion()
	for _, l := range k.live {
		l.query, l.ready = nil, false
	}
	if err := k.views.Catalog.Reload(ctx); err != nil {
		return err
	}
	if err := k.views.Reload(ctx); err != nil {
		return err
	}
	k.version = version
	return nil
}

// update is a transaction that changes views. It commits only if all views of the table
// are known that need what it does.
func (k *keeper) update(ctx context.Context, fn func(*query.Tx) error) error {
	return k.views.DB.Update(ctx, func(tx *query.Tx) error {
		if err := fn(tx); err != nil {
			return err
		}
		if k.views.DB.SchemaVersion() != k.version { // of the transaction's snapshot, or a later one
			return errChanged
		}
		return nil
	})
}

func (k *keeper) work(ctx context.Context, g *goal, spent func() bool) error {
	if err := k.prepare(ctx, spent); err != nil || k.idle() {
		return err
	}
	for {
		g.known = g.known && g.queue == k.queues
		if !g.known && len(k.queue) < mostQueued {
			all, err := k.enqueue(ctx)
			if err != nil {
				return err
			}
			g.known, g.until, g.queue = all, k.computed+int64(len(k.queue)), k.queues
		}
		if len(k.queue) == 0 {
			break
		}
		n := min(len(k.queue), rowsAtOnce)
		once := slices.Compact(slices.Sorted(slices.Values(k.queue[:n]))) // a row may have been marked again
		left, err := k.compute(ctx, once)
		if err != nil {
			if errors.Is(err, query.ErrReadOnly) { // the process that writes takes these rows over
				k.forget()
			}
			return err
		}
		n -= copy(k.queue[n-len(left):], left)
		k.queue, k.computed = k.queue[n:], k.computed+int64(n)
		if spent() {
			break
		}
	}
	if len(k.queue) == 0 && g.known {
		k.queue = nil
		k.behind.Store(0)
	}
	return nil
}

// reached reports whether the views have what a goal asks for. A view that cannot be kept
// is not waited for.
func (k *keeper) reached(g *goal) bool {
	for _, l := range k.live {
		if l.fault == nil && !l.ready {
			return false
		}
	}
	return k.idle() || g.known && g.queue == k.queues && k.computed >= g.until
}

// idle reports whether no view has rows to keep.
func (k *keeper) idle() bool {
	for _, l := range k.live {
		if l.fault == nil {
			return false
		}
	}
	return true
}

// enqueue adds the marked rows, and those that are due, to the queue. If all is false,
// there may be more.
func (k *keeper) enqueue(ctx context.Context) (all bool, err error) {
	db := k.views.DB
	now := db.Now()
	queued := false
	defer func() {
		if !queued { // give all of them back
			k.forget()
		}
	}()
	keys, all := db.TakeMarked(k.table)
	if !all {
		if keys, all, err = k.marks(ctx, keys); err != nil {
			return false, err
		}
		if !all {
			db.ForgetMarked(k.table)
		}
	}
	for _, l := range k.live {
		if l.fault != nil || len(l.families) == 0 {
			continue
		}
		due, allDue, err := k.dueRows(ctx, l, now)
		keys, all = append(keys, due...), all && allDue
		if err != nil {
			return false, err
		}
	}
	slices.Sort(keys)
	k.queue, queued = append(k.queue, slices.Compact(keys)...), true
	if len(k.queue) > 0 {
		k.behind.CompareAndSwap(0, int64(now))
	}
	return all, nil
}

// forget empties the queue; all that was in it is read again.
func (k *keeper) forget() {
	k.queues++
	k.queue = nil
	k.views.DB.ForgetMarked(k.table)
	for _, l := range k.live {
		l.dueFrom = 0
	}
}

// marks adds the keys that the marks in the database have.
func (k *keeper) marks(ctx context.Context, keys []string) ([]string, bool, error) {
	n := 0
	for row, err := range k.views.DB.Table(schema.MarksOf(k.table)).ReadRows(ctx, read.KeysOnly(), read.Limit(mostQueued)) {
		if err != nil {
			return nil, false, err
		}
		keys = append(keys, row.Key())
		n++
	}
	return keys, n < mostQueued, nil
}

// dueRows are the keys of the rows that a view has to compute again by now.
func (k *keeper) dueRows(ctx context.Context, l *live, now cells.Timestamp) (keys []string, all bool, err error) {
	rows := read.Range(duePrefix(l.dueFrom), duePrefix(now+1))
	n := 0
	for row, err := range k.views.DB.Table(stateOf(l.def.stored)).ReadRows(ctx, rows, read.Family(dueFamily), read.Limit(mostQueued)) {
		if err != nil {
			return nil, false, err
		}
		n++
		for c := range row.Cells() {
			keys = append(keys, row.Key()[8:]+c.Qualifier)
		}
	}
	if all = n < mostQueued; all {
		l.dueFrom = now + 1 // the queue has the others
	}
	return keys, all, nil
}

// compute brings the views up to date with rows of the table, each named once and in their
// order, in one transaction, and deletes the marks of these rows. It returns the keys for which
// there was no time. If others write the rows all the time, it tries fewer rows at once.
func (k *keeper) compute(ctx context.Context, keys []string) (left []string, err error) {
	lost := 0
	err = k.update(ctx, func(tx *query.Tx) error {
		lost = 0
		done := keys
		var changes []*change
		for _, l := range k.live {
			if l.fault != nil {
				continue
			}
			c := &change{tx: tx, of: l, table: k.table, now: map[string]source{}}
			if _, err := c.progress(ctx); err != nil {
				return err
			}
			last, all, err := c.read(ctx, k.atOnce, read.Key(done...))
			if err != nil {
				return err
			}
			if !all {
				n, _ := slices.BinarySearch(done, last)
				done = done[:n+1]
			}
			changes = append(changes, c)
		}
		for _, c := range changes {
			if err := c.replace(ctx, done); err != nil {
				return err
			}
			lost += c.lost
		}
		left = keys[len(done):]
		return k.unmark(ctx, tx, done)
	})
	if kind := query.KindOf(err); len(keys) > 1 && (kind == query.KindConflict || kind == query.KindResourceExhausted) {
		half := len(keys) / 2
		left, err := k.compute(ctx, keys[:half])
		return append(slices.Clone(left), keys[half:]...), err
	}
	k.lose(lost)
	return left, err
}

func (k *keeper) unmark(ctx context.Context, tx *query.Tx, keys []string) error {
	m := write.NewMutation()
	m.DeleteCell("m", "", 0)
	for _, key := range keys {
		if err := tx.Apply(ctx, schema.MarksOf(k.table), key, m); err != nil {
			return err
		}
	}
	return nil
}

// lose logs rows for which the query of a view fails: they are not in the view.
func (k *keeper) lose(rows int) {
	if rows > 0 && k.lost == 0 {
		k.views.logger.Warn("a materialized view leaves out rows for which its query fails", "table", k.table, "rows", rows)
	}
	k.lost += rows
}

// CatchUp waits until a materialized view has all rows that were written before.
func (v *Views) CatchUp(ctx context.Context, m *Materialized) error {
	if err := v.keeper(m.source.Stored).catchUp(ctx, v, v.name(m)); err != nil {
		return v.failed(ctx, m, err)
	}
	return nil
}

// How the keepers work while nobody reads: this often, for this long at once, and only for
// a part of the time unless they fall behind by more than the bound.
const (
	keeperPause  = 250 * time.Millisecond
	keeperBudget = 50 * time.Millisecond
	keeperShare  = 10 // one tenth of the time
	keeperBound  = 30 * time.Second
)

// Keep keeps all materialized views until the context ends.
func (v *Views) Keep(ctx context.Context) {
	if err := v.tidy(ctx); err != nil && ctx.Err() == nil {
		v.logger.Warn("marks without a materialized view cannot be dropped", "err", err)
	}
	pause := keeperPause
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		pause = keeperPause
		tables := map[string]bool{}
		for _, m := range v.Materialized() {
			tables[m.source.Stored] = true
		}
		began := time.Now()
		late := false
		for table := range tables {
			k := v.keeper(table)
			if _, err := k.takeTurn(ctx, v, keeperBudget, &goal{}); err != nil && ctx.Err() == nil {
				v.logger.Warn("materialized views fall behind", "table", table, "err", err)
				pause = max(pause, time.Second)
			}
			late = late || k.lag(v.DB.Now()) > keeperBound
		}
		if !late {
			pause = max(pause, (keeperShare-1)*time.Since(began))
		}
	}
}

// lag is how long ago the first row was written that the views do not have yet.
func (k *keeper) lag(now cells.Timestamp) time.Duration {
	since := k.behind.Load()
	if since == 0 {
		return 0
	}
	return max(now.Time().Sub(cells.Timestamp(since).Time()), 0)
}

// Lags are how far the materialized views are behind their tables, by their full names, as
// far as the keepers of this process have seen.
func (v *Views) Lags() map[string]time.Duration {
	now, lags := v.DB.Now(), map[string]time.Duration{}
	for name, m := range v.Materialized() {
		lags[name] = v.keeper(m.source.Stored).lag(now)
	}
	return lags
}
