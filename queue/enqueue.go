package queue

import (
	"cmp"
	"context"

	"github.com/google/uuid"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/rowmap"
)

// Enqueue adds an item to a zone, which need not exist. The item can be taken once the
// transaction commits. If there is an item with the same unique key, the error is
// [ErrDuplicate], the ID is that item's, and the transaction can go on.
func (q *Queue) Enqueue(ctx context.Context, tx *query.Tx, zone string, i Item) (ID, error) {
	const op = "enqueue in zone"
	id, err := q.enqueue(ctx, tx, zone, i)
	return id, fail(op, zone, err)
}

func (q *Queue) enqueue(ctx context.Context, tx *query.Tx, zone string, i Item) (ID, error) {
	w, err := q.work(ctx, tx)
	if err := cmp.Or(err, checkName("zone", zone), i.check()); err != nil {
		return ID{}, err
	}
	return w.enqueue(zone, i)
}

func (w *work) enqueue(zone string, i Item) (ID, error) {
	z, err := w.zone(zone)
	if err != nil {
		return ID{}, err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return ID{}, rowmap.Fault(query.KindUnavailable, "no random numbers: %w", err)
	}
	it := &item{
		zone: zone, id: ID(id), kind: i.Type, payload: i.Payload, priority: int64(i.Priority),
		enqueued: w.now, key: i.Key, unique: i.Unique, uniqueFor: micros(i.UniqueFor),
		maxAttempts: int64(cmp.Or(i.MaxAttempts, DefaultMaxAttempts)), keep: micros(i.KeepResult),
	}
	if holder, err := w.claim(it); err != nil {
		return holder, err
	}
	fresh, vests := !z.exists, w.now
	if i.At.After(timeOf(vests)) {
		vests = i.At.UnixMicro()
	}
	if err := w.keepTime(); err != nil {
		return ID{}, err
	}
	if it.vests, err = w.enter(z, it.priority, vests+micros(i.Delay)); err != nil {
		return ID{}, err
	}
	if err := w.Set(w.q.keys.item(zone, it.id), it.encode()); err != nil {
		return ID{}, err
	}
	if fresh {
		if err := w.checkKept(it); err != nil {
			return ID{}, err
		}
	}
	return it.id, w.ready(it, it.vests, waiting{kind: it.kind})
}

// checkKept fails if rows of the queue would expire.
func (w *work) checkKept(i *item) error {
	_, found, err := w.Peek(w.q.keys.item(i.zone, i.id))
	if err == nil && !found {
		err = rowmap.Fault(query.KindFailedPrecondition, "items would expire in family %q of table %q; its rule must not have a max_age", w.Family, w.Table)
	}
	return err
}

// ready makes an item visible at a time. The caller entered the zone.
func (w *work) ready(i *item, vests int64, r waiting) error {
	return cmp.Or(
		w.Set(w.q.keys.ready(i, vests), r.encode()),
		w.point(i.zone, vests),
	)
}

// claim takes an item's unique key, or gives the item that holds it.
func (w *work) claim(i *item) (ID, error) {
	if i.unique == "" {
		return ID{}, nil
	}
	k := w.q.keys
	key := k.row(uniqueRow, i.zone, i.unique)
	value, found, err := w.Get(key)
	if err != nil {
		return ID{}, err
	}
	if found {
		d := decode(key, value)
		holder, until := d.id(), d.time()
		if err := d.end(); err != nil {
			return ID{}, err
		}
		if until == 0 || until > w.now {
			return holder, ErrDuplicate
		}
	}
	if i.uniqueFor == 0 {
		return ID{}, w.Set(key, encode(i.id[:], 0))
	}
	until := i.enqueued + i.uniqueFor
	return ID{}, cmp.Or(
		w.Set(key, encode(i.id[:], until)),
		w.Set(k.row(expiryRow, until, uniqueRow, i.zone, []byte(i.unique)), encode()),
	)
}

// unclaim gives the unique key of an item back when the item ends, unless it is taken
// for a time.
func (w *work) unclaim(i *item) error {
	if i.unique == "" || i.uniqueFor > 0 {
		return nil
	}
	key := w.q.keys.row(uniqueRow, i.zone, i.unique)
	value, found, err := w.Get(key)
	if err != nil || !found {
		return err
	}
	d := decode(key, value)
	if d.id() != i.id {
		return d.err
	}
	return w.Delete(key)
}
