package queue

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/rowmap"
)

// MaxDequeue is how many items Dequeue takes at most.
const MaxDequeue = 1000

// maxBytes bounds the payloads of a visit: it takes no more items after as many bytes.
const maxBytes = 16 << 20

// batch is how many items are read together.
const batch = 32

// Dequeue takes up to n visible items of a zone, each with a lease that expires after
// the duration. The jobs are valid once the transaction commits. Items whose lease
// expired come first. Items that were taken as often as they may be become dead
// letters. The zone's configuration holds: fewer than n jobs, or no job, does not mean
// that the zone is empty.
//
// Calls for the same zone at the same time conflict; calls for different zones, and
// Enqueue, seldom do.
func (q *Queue) Dequeue(ctx context.Context, tx *query.Tx, zone string, n int, lease time.Duration) ([]*Job, error) {
	const op = "dequeue from zone"
	w, err := q.work(ctx, tx)
	if err := cmp.Or(err, checkName("zone", zone), checkDequeue(n, lease)); err != nil {
		return nil, fail(op, zone, err)
	}
	jobs, err := w.visit(zone, n, micros(lease))
	if err != nil {
		return nil, fail(op, zone, err)
	}
	return jobs, nil
}

func checkDequeue(n int, lease time.Duration) error {
	switch {
	case n < 1 || n > MaxDequeue:
		return rowmap.Fault(query.KindInvalidArgument, "%d items are asked for; the number must be from 1 to %d", n, MaxDequeue)
	case lease <= 0:
		return rowmap.Fault(query.KindInvalidArgument, "the lease is %v; it must be positive", lease)
	}
	return nil
}

// A visit is one call of Dequeue.
type visit struct {
	*work
	z     *zone
	p     pointer
	n     int   // items to take, at most
	lease int64 // microseconds
	jobs  []*Job
	limit bool // n comes from the zone's limit

	looked int  // items
	bytes  int  // of the payloads of jobs
	more   bool // visible items may have been left
}

func (w *work) visit(zone string, n int, lease int64) ([]*Job, error) {
	p, found, err := w.pointer(zone)
	if err != nil || !found {
		return nil, err
	}
	z, err := w.zone(zone)
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(w.keepTime(), w.tidy(z)); err != nil {
		return nil, err
	}
	v := &visit{work: w, z: z, p: p, n: n, lease: lease}
	if err := v.run(); err != nil {
		return nil, err
	}
	w.q.taken.add(zone, len(v.jobs))
	return v.jobs, nil
}

func (v *visit) run() error {
	if v.z.config.Paused {
		return v.rest(0)
	}
	if err := v.countLeases(); err != nil {
		return err
	}
	if err := v.takeExpired(); err != nil {
		return err
	}
	for _, p := range v.z.priorities() {
		if err := v.takeReady(p); err != nil {
			return err
		}
	}
	return v.settle()
}

func (v *visit) room() int { return v.n - len(v.jobs) }

// look reports whether further items may be looked at: a visit looks at some ten times
// as many as it may take, since items may have to wait for their keys, and leaves the
// others to the next one.
func (v *visit) look() bool {
	v.more = v.looked > 10*v.n || v.bytes > maxBytes
	return !v.more
}

// countLeases lowers the number of items to take to the rest of the zone's limit.
func (v *visit) countLeases() error {
	limit := v.z.config.Limit
	if limit == 0 {
		return nil
	}
	entries, err := collect(v.PeekAll(v.q.keys.after(v.now+1, leaseRow, v.z.name), limit))
	if left := limit - len(entries); left < v.n {
		v.n, v.limit = max(left, 0), true
	}
	return err
}

// takeExpired takes items whose lease expired.
func (v *visit) takeExpired() error {
	k := v.q.keys
	for v.room() > 0 && v.look() {
		entries, err := collect(v.PeekAll(k.between(v.z.leases, v.now, leaseRow, v.z.name), min(v.room(), batch)))
		if err != nil || len(entries) == 0 {
			return err
		}
		v.looked += len(entries)
		for _, e := range entries {
			if err := v.retake(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// retake takes an item whose lease expired, or makes it a dead letter.
func (v *visit) retake(e rowmap.Entry) error {
	k := v.q.keys
	at := k.place(e.Key, leaseRow, 3)
	_, expires, id := at.str(), at.time(), at.id()
	value, found, err := v.Get(e.Key) // the worker may be completing it
	if err := cmp.Or(err, at.err, missing(found, e.Key)); err != nil {
		return err
	}
	l, err := decodeLease(e.Key, value)
	if err != nil {
		return err
	}
	i, found, err := v.item(v.z.name, id)
	if err := cmp.Or(err, missing(found, e.Key)); err != nil {
		return err
	}
	if l.attempts >= i.maxAttempts {
		return v.buryExpired(hold{i, l, expires})
	}
	l.attempts++
	l.taken++
	return cmp.Or(v.Delete(e.Key), v.take(i, l, expires))
}

// buryExpired makes an item a dead letter. That can move the pointer.
func (v *visit) buryExpired(h hold) (err error) {
	if err := v.bury(h, "the lease of the last attempt has expired"); err != nil {
		return err
	}
	v.p, _, err = v.pointer(v.z.name)
	return err
}

// takeReady takes visible items of a priority.
func (v *visit) takeReady(priority int64) error {
	for v.room() > 0 && v.look() {
		rows := v.q.keys.between(v.z.ready[priority], v.now, readyRow, v.z.name, priority)
		entries, err := collect(v.PeekAll(rows, min(v.room(), batch)))
		if err != nil || len(entries) == 0 {
			return err
		}
		v.looked += len(entries)
		if err := v.takeAll(entries); err != nil {
			return err
		}
	}
	return nil
}

// takeAll takes ready items, or makes them wait for their key. Nobody else can have
// taken them: that would have written the pointer.
func (v *visit) takeAll(entries []rowmap.Entry) error {
	k := v.q.keys
	ids := make([]ID, len(entries))
	keys := make([]string, len(entries))
	for n, e := range entries {
		at := k.place(e.Key, readyRow, 4)
		_, _, _, ids[n] = at.str(), at.int(), at.int(), at.id()
		if at.err != nil {
			return at.err
		}
		keys[n] = k.item(v.z.name, ids[n])
	}
	items, err := v.values(keys)
	if err != nil {
		return err
	}
	for n, e := range entries {
		value, found := items[keys[n]]
		if !found {
			return missing(found, e.Key)
		}
		i, err := decodeItem(v.z.name, ids[n], keys[n], value)
		if err == nil {
			err = v.takeOne(i, e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// values are the values of keys.
func (v *visit) values(keys []string) (map[string]string, error) {
	entries, err := collect(v.PeekAll(read.Key(keys...), 0))
	all := make(map[string]string, len(entries))
	for _, e := range entries {
		all[e.Key] = e.Value
	}
	return all, err
}

func (v *visit) takeOne(i *item, e rowmap.Entry) error {
	r, err := decodeWaiting(e.Key, e.Value)
	if err != nil {
		return err
	}
	if err := v.Delete(e.Key); err != nil {
		return err
	}
	if got, err := v.acquire(i); err != nil {
		return err
	} else if !got {
		return v.block(i, e.Key, r)
	}
	l := lease{kind: r.kind, tries: tries{r.attempts + 1, r.taken + 1}, moved: r.moved, tell: i.key != "" || v.z.config.Limit > 0}
	return v.take(i, l, 0)
}

// block makes an item wait for its key.
func (v *visit) block(i *item, key string, r waiting) error {
	at := v.q.keys.place(key, readyRow, 4)
	_, _, vests := at.str(), at.int(), at.int()
	return v.Set(v.q.keys.blocked(i, vests), r.encode())
}

// take gives a lease on an item, which expires after the earlier lease did.
func (v *visit) take(i *item, l lease, earlier int64) error {
	expires := max(v.now, earlier, v.z.floor) + v.lease
	v.bytes += len(i.payload)
	v.jobs = append(v.jobs, newJob(v.q, i, l, expires))
	return v.Set(v.q.keys.lease(i.zone, expires, i.id), l.encode())
}

// settle makes the pointer due when the zone is to be visited again.
func (v *visit) settle() error {
	full := v.limit && v.room() == 0
	switch {
	case full:
		return v.rest(v.now + second)
	case v.more, v.room() == 0:
		return v.rest(v.now)
	case len(v.jobs) > 0:
		return v.rest(v.now + linger)
	}
	due, err := v.next()
	if err != nil {
		return err
	}
	switch {
	case due != 0:
		return v.rest(due)
	case v.p.empty && v.p.due <= v.now && v.z.config == (ZoneConfig{}):
		return v.remove()
	case v.z.config != (ZoneConfig{}):
		return v.rest(0)
	}
	return v.putOff(v.now+inactive, true)
}

func (v *visit) rest(due int64) error { return v.putOff(due, false) }

// putOff makes the pointer due. Enqueues that have seen it due before may rely on that:
// if it is late now, the zone is written, so that they conflict and look again.
func (v *visit) putOff(due int64, empty bool) error {
	if due == 0 || due > v.now+slack {
		v.z.quiet++
		v.z.floor = max(v.z.floor, v.now)
		if err := v.setZone(v.z); err != nil {
			return err
		}
	}
	return v.setPointer(v.z.name, v.p, pointer{due: due, empty: empty})
}

// next is when the first item of the zone can be taken, 0 if there is no item. The
// commit depends on it.
func (v *visit) next() (int64, error) {
	k, first := v.q.keys, int64(0)
	earliest := func(rows read.RowSet, kind, n, time int) error {
		e, found, err := v.First(rows)
		if err != nil || !found {
			return err
		}
		t, err := k.parse(e.Key, kind, n)
		if err != nil {
			return err
		}
		if at, ok := t[time].(int64); ok && (first == 0 || at < first) {
			first = at
		}
		return nil
	}
	if err := earliest(k.after(v.z.leases, leaseRow, v.z.name), leaseRow, 3, 1); err != nil {
		return 0, err
	}
	for _, p := range v.z.priorities() {
		if err := earliest(k.after(v.z.ready[p], readyRow, v.z.name, p), readyRow, 4, 2); err != nil {
			return 0, err
		}
	}
	return first, nil
}

// remove removes the rows of a zone without items and without a configuration.
func (v *visit) remove() error {
	return cmp.Or(
		v.Delete(v.q.keys.row(zoneRow, v.z.name)),
		v.removePointer(v.z.name, v.p),
	)
}

// tidy moves the bounds of a zone past rows that went: up to the first row that there
// is, but not past the floor. All rows before the floor are in this snapshot, since
// every transaction that adds one depends on the zone. Then it raises the floor.
func (w *work) tidy(z *zone) error {
	if w.q.taken.due("") {
		if err := w.tidyDue(); err != nil {
			return err
		}
	}
	if !w.q.taken.due(z.name) {
		return nil
	}
	var err error
	if z.leases, err = w.firstTime(z.leases, z.floor, leaseRow, 3, z.name); err != nil {
		return err
	}
	for _, p := range z.priorities() {
		if z.ready[p], err = w.firstTime(z.ready[p], z.floor, readyRow, 4, z.name, p); err != nil {
			return err
		}
	}
	z.floor = max(z.floor, w.now)
	return w.setZone(z)
}

// firstTime is the time of the first row of a kind, whose next element is a time, and
// which is n elements long, at or after since; but at most most. It looks no further:
// there may be many deleted rows.
func (w *work) firstTime(since, most int64, kind, n int, elems ...any) (int64, error) {
	entries, err := collect(w.PeekAll(w.q.keys.between(since, most, kind, elems...), 1))
	if err != nil || len(entries) == 0 {
		return most, err
	}
	t, err := w.q.keys.parse(entries[0].Key, kind, n)
	if err != nil {
		return 0, err
	}
	at, ok := t[len(elems)].(int64)
	if !ok {
		return 0, rowmap.Fault(query.KindCorruption, "row %x is not one of the queue's", entries[0].Key)
	}
	return min(at, most), nil
}

func collect(entries func(func(rowmap.Entry, error) bool)) ([]rowmap.Entry, error) {
	var all []rowmap.Entry
	for e, err := range entries {
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return slices.Clip(all), nil
}

func missing(found bool, key string) error {
	if !found {
		return rowmap.Fault(query.KindCorruption, "row %x has no item", key)
	}
	return nil
}
