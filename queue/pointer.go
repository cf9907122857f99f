package queue

import "time"

// A pointer says when a zone is to be visited. There is one for each zone that may have
// items. All transactions that take items from the zone, or remove waiting items, write
// it: so no two of them commit at the same time.
type pointer struct {
	due   int64 // 0: the zone is not to be visited
	empty bool  // the zone was empty when the pointer was last put off
}

const (
	// slack is how much later than an item a pointer may be due before an enqueue
	// brings it forward.
	slack = int64(250 * time.Millisecond / time.Microsecond)
	// linger is when a zone is visited again that had fewer items than were asked for.
	// Meanwhile enqueues do not write its pointer.
	linger = int64(100 * time.Millisecond / time.Microsecond)
	// second is when a zone is visited again after it reached its limit of leased
	// items. The end of such a job brings the pointer forward.
	second = int64(time.Second / time.Microsecond)
	// inactive is how long a zone without items keeps its rows.
	inactive = int64(30 * time.Second / time.Microsecond)
)

func (p pointer) encode() string { return encode(p.due, p.empty) }

func decodePointer(key, value string) (pointer, error) {
	d := decode(key, value)
	p := pointer{d.time(), d.bool()}
	return p, d.end()
}

// pointer reads a pointer. The commit depends on it.
func (w *work) pointer(zone string) (pointer, bool, error) {
	key := w.q.keys.row(pointerRow, zone)
	value, found, err := w.Get(key)
	if err != nil || !found {
		return pointer{}, false, err
	}
	p, err := decodePointer(key, value)
	return p, err == nil, err
}

// point makes the zone's pointer due at a time, unless it is due before.
func (w *work) point(zone string, at int64) error {
	key := w.q.keys.row(pointerRow, zone)
	value, found, err := w.Peek(key)
	if err != nil {
		return err
	}
	if found {
		// Nothing depends on the pointer that was seen here: a transaction that puts it
		// off for long also writes the zone, which the caller read.
		if p, err := decodePointer(key, value); err != nil || p.due != 0 && p.due <= at+slack {
			w.tell(zone, at)
			return err
		}
	}
	p, _, err := w.pointer(zone)
	if err != nil {
		return err
	}
	w.tell(zone, at)
	return w.setPointer(zone, p, pointer{due: at})
}

// tell wakes the workers of this process, after the commit, if there is work in the
// zone now.
func (w *work) tell(zone string, at int64) {
	if at <= w.now {
		w.Tx.OnCommit(func() { w.q.wake.send(zone) })
	}
}

// setPointer writes a pointer that was read, and its place in the order.
func (w *work) setPointer(zone string, from, to pointer) error {
	k := w.q.keys
	if to.due != 0 {
		b, err := w.bounds()
		if err != nil {
			return err
		}
		to.due = max(to.due, b.floor)
	}
	if from.due != to.due && from.due != 0 {
		if err := w.Delete(k.row(dueRow, from.due, zone)); err != nil {
			return err
		}
		w.q.taken.add("", 1)
	}
	if from.due != to.due && to.due != 0 {
		if err := w.Set(k.row(dueRow, to.due, zone), encode()); err != nil {
			return err
		}
	}
	return w.Set(k.row(pointerRow, zone), to.encode())
}

// removePointer removes a pointer that was read.
func (w *work) removePointer(zone string, p pointer) error {
	k := w.q.keys
	if p.due == 0 {
		return w.Delete(k.row(pointerRow, zone))
	}
	return w.Delete(k.row(pointerRow, zone), k.row(dueRow, p.due, zone))
}

// bounds are the bounds of the pointers, as a zone's are of its items.
type bounds struct {
	start int64 // no pointer is due before it
	floor int64 // no pointer is made due before it
}

// bounds reads the bounds. The commit depends on them.
func (w *work) bounds() (b bounds, err error) {
	key := w.q.keys.row(dueRow)
	value, found, err := w.Get(key)
	if err != nil || !found {
		return b, err
	}
	d := decode(key, value)
	b = bounds{d.time(), d.time()}
	return b, d.end()
}

// tidyDue moves the start past the due rows that are gone, and the floor to the present.
func (w *work) tidyDue() error {
	b, err := w.bounds()
	if err != nil {
		return err
	}
	if b.start, err = w.firstTime(b.start, b.floor, dueRow, 2); err != nil {
		return err
	}
	return w.Set(w.q.keys.row(dueRow), encode(b.start, max(b.floor, w.now)))
}
