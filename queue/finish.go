package queue

import (
	"cmp"
	"time"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/rowmap"
)

// complete removes a leased item, or keeps it with its result for a time.
func (w *work) complete(h hold, result []byte) error {
	i, k := h.item, w.q.keys
	if err := w.release(h); err != nil {
		return err
	}
	if i.keep == 0 {
		return w.forget(i, h.lease.moved)
	}
	until := w.now + i.keep
	return cmp.Or(
		w.unclaim(i),
		w.Set(k.result(i.zone, i.id), encode(result)),
		w.Set(k.state(i.zone, i.id), state{at: Done, time: w.now, tries: h.lease.tries}.encode()),
		w.Set(k.row(expiryRow, until, itemRow, i.zone, i.id[:]), encode()),
	)
}

// forget removes the rows of an item that is in no order.
func (w *work) forget(i *item, moved bool) error {
	k := w.q.keys
	if err := w.unclaim(i); err != nil {
		return err
	}
	if moved {
		if err := w.Delete(k.state(i.zone, i.id)); err != nil {
			return err
		}
	}
	return w.Delete(k.item(i.zone, i.id))
}

// giveBack makes a leased item wait again.
func (w *work) giveBack(h hold, delay time.Duration, why string) error {
	if delay < 0 {
		return rowmap.Fault(query.KindInvalidArgument, "the delay is %v; it must not be negative", delay)
	}
	if err := w.release(h); err != nil {
		return err
	}
	return w.again(h.item, h.lease.tries, w.now+micros(delay), why)
}

// putBack makes a leased item wait again where it was, and forgets the attempt.
func (w *work) putBack(h hold) error {
	if err := w.release(h); err != nil {
		return err
	}
	s, found, err := w.state(h.item.zone, h.item.id)
	if err != nil {
		return err
	}
	if !found {
		s.time = h.item.vests
	}
	h.lease.attempts--
	return w.again(h.item, h.lease.tries, s.time, s.why)
}

// again makes an item that is in no order wait for a worker.
func (w *work) again(i *item, t tries, vests int64, why string) error {
	z, err := w.zone(i.zone)
	if err != nil {
		return err
	}
	if vests, err = w.enter(z, i.priority, vests); err != nil {
		return err
	}
	s := state{at: Ready, time: vests, tries: t, why: why}
	if err := w.Set(w.q.keys.state(i.zone, i.id), s.encode()); err != nil {
		return err
	}
	return w.ready(i, vests, waiting{i.kind, t, true})
}

// bury makes a leased item a dead letter.
func (w *work) bury(h hold, why string) error {
	i, k := h.item, w.q.keys
	if err := w.release(h); err != nil {
		return err
	}
	s := state{at: Dead, time: w.now, tries: h.lease.tries, why: why}
	return cmp.Or(
		w.unclaim(i),
		w.Set(k.dead(i.zone, w.now, i.id), waiting{i.kind, h.lease.tries, true}.encode()),
		w.Set(k.state(i.zone, i.id), s.encode()),
	)
}

// release gives back the holdings of a leased item: the lease and the key.
func (w *work) release(h hold) error {
	i := h.item
	if err := w.Delete(w.q.keys.lease(i.zone, h.expires, i.id)); err != nil {
		return err
	}
	if err := w.releaseKey(i); err != nil {
		return err
	}
	if h.lease.tell {
		if _, err := w.zone(i.zone); err != nil {
			return err
		}
		return w.point(i.zone, w.now)
	}
	return nil
}

// keyHolders is how many items with the key of an item are leased.
func (w *work) keyHolders(i *item) (int64, error) {
	key := w.q.keys.row(keyRow, i.zone, i.key)
	value, found, err := w.Get(key)
	if err != nil || !found {
		return 0, err
	}
	d := decode(key, value)
	n := d.count()
	return n, d.end()
}

func (w *work) setKeyHolders(i *item, n int64) error {
	key := w.q.keys.row(keyRow, i.zone, i.key)
	if n <= 0 {
		return w.Delete(key)
	}
	return w.Set(key, encode(n))
}

// acquire takes the key of an item, if there is one and it is free.
func (v *visit) acquire(i *item) (bool, error) {
	if i.key == "" {
		return true, nil
	}
	n, err := v.keyHolders(i)
	if err != nil {
		return false, err
	}
	if n >= int64(v.z.perKey()) {
		// The end of a holder must see that the item waits: so it conflicts.
		return false, v.setKeyHolders(i, n)
	}
	return true, v.setKeyHolders(i, n+1)
}

// releaseKey gives the key of an item back, and lets items that waited for it wait for a
// worker.
func (w *work) releaseKey(i *item) error {
	if i.key == "" {
		return nil
	}
	n, err := w.keyHolders(i)
	if err != nil {
		return err
	}
	if err := w.setKeyHolders(i, n-1); err != nil {
		return err
	}
	z, err := w.zone(i.zone)
	if err != nil {
		return err
	}
	if free := z.perKey() - int(n-1); free > 0 {
		return w.unblock(z, w.q.keys.all(blockedRow, z.name, i.key), free)
	}
	return nil
}

// unblock moves the first items of rows of blocked ones to those that wait for a worker.
func (w *work) unblock(z *zone, rows read.RowSet, n int) error {
	k := w.q.keys
	entries, err := collect(w.PeekAll(rows, n))
	if err != nil {
		return err
	}
	for _, e := range entries {
		at := k.place(e.Key, blockedRow, 5)
		_, _, _, vests, id := at.str(), at.str(), at.int(), at.int(), at.id()
		i, found, err := w.item(z.name, id)
		if err := cmp.Or(err, at.err, missing(found, e.Key)); err != nil {
			return err
		}
		r, err := decodeWaiting(e.Key, e.Value)
		if err != nil {
			return err
		}
		if err := cmp.Or(w.Delete(e.Key), w.move(z, i, vests, r)); err != nil {
			return err
		}
	}
	return nil
}

// move lets an item that was blocked wait for a worker, at its old place unless that is
// before the zone's bounds.
func (w *work) move(z *zone, i *item, vests int64, r waiting) error {
	to, err := w.enter(z, i.priority, vests)
	if err != nil {
		return err
	}
	if to == vests {
		return w.ready(i, vests, r)
	}
	s, _, err := w.state(i.zone, i.id)
	if err != nil {
		return err
	}
	return w.again(i, r.tries, to, s.why)
}
