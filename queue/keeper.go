package queue

import (
	"cmp"
	"context"
	"time"
	"unicode/utf8"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/rowmap"
)

// keep does, every now and then until the context ends, what no item asks for: it keeps
// schedules, and removes rows whose time is over.
func (w *worker) keep(ctx context.Context) {
	tick := time.NewTicker(max(w.o.Poll, 10*time.Millisecond))
	defer tick.Stop()
	since := int64(0)
	for {
		if err := w.q.fire(ctx); err != nil && ctx.Err() == nil {
			w.o.Logger.Warn("queue: keeping schedules", "err", err)
		}
		var err error
		if since, err = w.q.expire(ctx, since); err != nil && ctx.Err() == nil {
			w.o.Logger.Warn("queue: removing what has expired", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// expire removes rows whose time is over, from a time on, and gives the time from which
// the next call may begin: no row is added before it, except by a transaction under way
// for longer than the row's time. Such a row is found when a worker begins.
func (q *Queue) expire(ctx context.Context, since int64) (int64, error) {
	const most = 100 // rows in one transaction
	for {
		n, now := 0, int64(0)
		err := q.update(ctx, func(tx *query.Tx) error {
			w, err := q.work(ctx, tx)
			if err != nil {
				return err
			}
			now = w.now
			entries, err := collect(w.PeekAll(w.q.keys.between(since, w.now, expiryRow), most))
			for _, e := range entries {
				if err := w.expire(e); err != nil {
					return err
				}
			}
			n = len(entries)
			return err
		})
		if err != nil {
			return since, err
		}
		if n < most {
			return now, nil
		}
	}
}

// expire removes the row that an expiry row names.
func (w *work) expire(e rowmap.Entry) error {
	at := w.q.keys.place(e.Key, expiryRow, 4)
	due, kind, zone, name := at.time(), at.int(), at.str(), at.bytes()
	if at.err != nil {
		return at.err
	}
	if err := w.Delete(e.Key); err != nil {
		return err
	}
	if kind == uniqueRow && utf8.Valid(name) {
		return w.expireUnique(zone, string(name), due)
	}
	id := ID{}
	if kind != itemRow || copy(id[:], name) != len(name) || len(name) != len(id) {
		return rowmap.Fault(query.KindCorruption, "row %x is not one of the queue's", e.Key)
	}
	i, found, err := w.item(zone, id)
	if err != nil || !found {
		return err
	}
	return cmp.Or(w.Delete(w.q.keys.result(zone, id)), w.forget(i, true))
}

// expireUnique removes a unique key, unless it was taken again for longer.
func (w *work) expireUnique(zone, name string, due int64) error {
	key := w.q.keys.row(uniqueRow, zone, name)
	value, found, err := w.Get(key)
	if err != nil || !found {
		return err
	}
	d := decode(key, value)
	_ = d.id()
	if until := d.time(); d.err != nil || until == 0 || until > due {
		return d.err
	}
	return w.Delete(key)
}
