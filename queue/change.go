package queue

import (
	"cmp"
	"context"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/rowmap"
)

// Cancel removes an item, whatever its state. If a worker of this process runs it, the
// context of its job ends with the cause [ErrCanceled] after the commit; other workers
// learn it when they extend the lease. If there is no such item, the error is
// [ErrNotFound].
func (q *Queue) Cancel(ctx context.Context, tx *query.Tx, zone string, id ID) error {
	const op = "cancel item"
	return q.change(ctx, tx, op, zone, id, (*work).cancel)
}

// Replay makes a dead letter wait for a worker again, with all its attempts. If
// another item holds its unique key, the error is [ErrDuplicate].
func (q *Queue) Replay(ctx context.Context, tx *query.Tx, zone string, id ID) error {
	const op = "replay item"
	return q.change(ctx, tx, op, zone, id, (*work).replay)
}

// Hurry makes a ready item visible now, for instance one that waits to be taken again.
func (q *Queue) Hurry(ctx context.Context, tx *query.Tx, zone string, id ID) error {
	const op = "hurry item"
	return q.change(ctx, tx, op, zone, id, (*work).hurry)
}

// change runs fn for an item, with its place.
func (q *Queue) change(ctx context.Context, tx *query.Tx, op, zone string, id ID, fn func(*work, *item, state, string) error) error {
	w, err := q.work(ctx, tx)
	if err == nil {
		err = checkName("zone", zone)
	}
	if err == nil {
		err = w.change(zone, id, fn)
	}
	return fail(op, id.String(), err)
}

func (w *work) change(zone string, id ID, fn func(*work, *item, state, string) error) error {
	i, found, err := w.item(zone, id)
	if err == nil && !found {
		err = ErrNotFound
	}
	if err != nil {
		return err
	}
	s, key, err := w.locate(i)
	if err != nil {
		return err
	}
	return fn(w, i, s, key)
}

func (w *work) cancel(i *item, s state, key string) error {
	k := w.q.keys
	if err := w.leave(i, s, key); err != nil {
		return err
	}
	if s.at == Done {
		return cmp.Or(w.Delete(k.result(i.zone, i.id)), w.forget(i, true))
	}
	return w.forget(i, true)
}

// leave removes an item from where it is.
func (w *work) leave(i *item, s state, key string) error {
	switch s.at {
	case Ready:
		return cmp.Or(w.Delete(key), w.touchPointer(i.zone), w.passKey(i))
	case Leased:
		w.Tx.OnCommit(func() { w.q.running.cancel(i.id) })
		return w.leaveLease(i, s, key)
	case Done:
		return nil
	}
	return w.Delete(key)
}

func (w *work) leaveLease(i *item, s state, key string) error {
	value, found, err := w.Get(key) // the commit depends on it
	if err != nil || !found {
		return err
	}
	l, err := decodeLease(key, value)
	if err != nil {
		return err
	}
	return w.release(hold{i, l, s.time})
}

// passKey lets the next item that waits for the key of a ready item wait for a worker
// instead of it. Nobody holds a free key, so no holder's end would do that.
func (w *work) passKey(i *item) error {
	if i.key == "" {
		return nil
	}
	z, err := w.zone(i.zone)
	if err != nil {
		return err
	}
	n, err := w.keyHolders(i)
	if err != nil || n >= int64(z.perKey()) {
		return err
	}
	// The end of a holder does the same: so they conflict.
	return cmp.Or(w.setKeyHolders(i, n), w.unblock(z, w.q.keys.all(blockedRow, z.name, i.key), 1))
}

// touchPointer makes visits of the zone conflict: one may be taking the item.
func (w *work) touchPointer(zone string) error {
	if w.touched == zone {
		return nil
	}
	p, found, err := w.pointer(zone)
	if err != nil || !found {
		return err
	}
	w.touched = zone
	return w.setPointer(zone, p, p)
}

func (w *work) replay(i *item, s state, key string) error {
	if s.at != Dead {
		return rowmap.Fault(query.KindFailedPrecondition, "the item is %v, not dead", s.at)
	}
	if i.uniqueFor == 0 {
		if _, err := w.claim(i); err != nil {
			return err
		}
	}
	return cmp.Or(w.Delete(key), w.again(i, tries{taken: s.taken}, w.now, s.why))
}

func (w *work) hurry(i *item, s state, key string) error {
	if s.at != Ready {
		return rowmap.Fault(query.KindFailedPrecondition, "the item is %v, not ready", s.at)
	}
	if s.time <= w.now {
		return nil
	}
	return cmp.Or(w.Delete(key), w.touchPointer(i.zone), w.again(i, s.tries, w.now, s.why))
}

// MaxDrain is how many items Drain removes at most in one transaction.
const MaxDrain = 1000

// Drain cancels ready and blocked items of a zone, the next ones first, whether they
// are visible or not, and reports how many: at most [MaxDrain]. Call it in further
// transactions until that is 0. Leased items and dead letters stay.
func (q *Queue) Drain(ctx context.Context, tx *query.Tx, zone string) (int, error) {
	const op = "drain zone"
	w, err := q.work(ctx, tx)
	if err == nil {
		err = checkName("zone", zone)
	}
	if err != nil {
		return 0, fail(op, zone, err)
	}
	n, err := w.drain(zone)
	return n, fail(op, zone, err)
}

func (w *work) drain(zone string) (n int, err error) {
	z, err := w.zone(zone)
	if err != nil || !z.exists {
		return 0, err
	}
	if err := w.tidy(z); err != nil {
		return 0, err
	}
	k := w.q.keys
	var all []listing
	for _, p := range z.priorities() {
		all = append(all, listing{k.after(z.ready[p], readyRow, zone, p), readyRow})
	}
	all = append(all, listing{k.all(blockedRow, zone), blockedRow})
	for more := true; more; { // a cancelled item passes its key on: an item moves to where others were
		before := n
		for _, l := range all {
			some, err := w.drainRows(zone, l, MaxDrain-n)
			if err != nil {
				return 0, err
			}
			n += some
		}
		more = n > before && n < MaxDrain
	}
	w.q.taken.add(zone, n)
	return n, nil
}

// drainRows cancels the items of rows, at most n.
func (w *work) drainRows(zone string, l listing, n int) (int, error) {
	if n == 0 {
		return 0, nil
	}
	entries, err := collect(w.PeekAll(l.rows, n))
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		id, err := w.q.keys.idOf(e.Key, l.kind)
		if err != nil {
			return 0, err
		}
		if err := w.change(zone, id, (*work).cancel); err != nil {
			return 0, err
		}
	}
	return len(entries), nil
}
