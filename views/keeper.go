package views

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// A goal ends a reader's wait: all rows that were marked before it came.
type goal struct {
	view  string // the full name of the view that is read; "" without a reader
	known bool   // they are all in the queue
	until int64  // how many rows are computed then
	queue int    // the number of the queue

	building bool // a view's table was not yet read to its end
}

// catchUp works for a reader until its goal is reached. It gives up its turn now and then. For
// a reader of incomplete views it takes one turn while a view is built.
func (k *keeper) catchUp(ctx context.Context, view string, incomplete bool) error {
	g := goal{view: view}
	for {
		if done, err := k.takeTurn(ctx, turnBudget, &g); done || err != nil || incomplete && g.building {
			return err
		}
	}
}

// takeTurn works towards a goal for a time, and reports whether it is reached.
func (k *keeper) takeTurn(ctx context.Context, budget time.Duration, g *goal) (done bool, err error) {
	if err := k.turn.Lock(ctx); err != nil {
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
				err = k.faultOf(g.view)
			}
			return done, err
		}
		lost = lost || gone
		if err := k.lookUp(ctx); err != nil {
			return false, err
		}
	}
}

// faultOf returns why a view is empty.
func (k *keeper) faultOf(view string) error {
	if l := k.live[view]; l != nil {
		return l.fault
	}
	return NotFound(view)
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
	g.building = false
	for _, l := range k.live {
		g.building = g.building || l.fault == nil && !l.ready
	}
	if g.building {
		return false
	}
	return k.idle() || g.known && g.queue == k.queues && k.computed >= g.until
}

// idle reports whether there are no views with rows to keep.
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
	db := k.db
	now := db.Now()
	queued := false
	defer func() {
		if !queued { // give all of them back
			k.forget()
		}
	}()
	keys, all := db.Plumbing().TakeMarked(k.table)
	if !all {
		if keys, all, err = k.marks(ctx, keys); err != nil {
			return false, err
		}
		if !all {
			db.Plumbing().ForgetMarked(k.table)
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

// marks adds the keys that the marks in the database have.
func (k *keeper) marks(ctx context.Context, keys []string) ([]string, bool, error) {
	n := 0
	for row, err := range k.db.Table(schema.MarksOf(k.table)).ReadRows(ctx, read.KeysOnly(), read.Limit(mostQueued)) {
		if err != nil {
			return nil, false, err
		}
		keys = append(keys, row.Key())
		n++
	}
	return keys, n < mostQueued, nil
}

// dueRows returns the keys of the rows that a view must compute again by now.
func (k *keeper) dueRows(ctx context.Context, l *live, now cells.Timestamp) (keys []string, all bool, err error) {
	rows := read.Range(duePrefix(l.dueFrom), duePrefix(now+1))
	n := 0
	for row, err := range k.db.Table(stateOf(l.def.stored)).ReadRows(ctx, rows, read.Family(dueFamily), read.Limit(mostQueued)) {
		if err != nil {
			return nil, false, err
		}
		n++
		for c := range row.Cells() {
			keys = append(keys, row.Key()[8:]+c.Qualifier)
		}
	}
	if all = n < mostQueued; all {
		l.dueFrom = now + 1 // the others are in the queue
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
